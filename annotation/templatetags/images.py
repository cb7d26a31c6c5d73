"""Addresses of small copies of images."""

from django import template
from django.urls import reverse

from annotation.models import Image

register = template.Library()


@register.simple_tag
def thumbnail(image: Image, side: int) -> str:
    """The address of the copy that is at most `side` pixels wide and high (annotation/images/thumbnails.py).
    It changes with the image's content, since browsers keep the copy without asking again."""
    return f"{reverse('thumbnail_file', args=[image.pk, side])}?{image.sha256[:12]}"
