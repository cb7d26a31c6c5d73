"""Which image sets and images an account may see, on pages and by the API: others do not exist for it."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from annotation import policies
from annotation.models import Image, ImageSet


def visible_image_sets(request: HttpRequest | Request) -> QuerySet[ImageSet]:
    """The image sets that the account may see: all, for who makes images; else what their studies show."""
    if policies.may_make_images(request.user):
        return ImageSet.objects.all()
    return ImageSet.objects.filter(task__study__in=policies.studies_led_by(request.user)).distinct()


def get_visible_image_set(request: HttpRequest | Request, name: str) -> ImageSet:
    """The set `name`, if the account may see how its images were made and judged; Http404 otherwise."""
    found = get_object_or_404(ImageSet, name=name)
    if not policies.may_see_set(request.user, found):
        raise Http404
    return found


def get_visible_image(request: HttpRequest | Request, number: int) -> Image:
    """The image, if the account may see its set; Http404 otherwise."""
    found = get_object_or_404(
        Image.objects.select_related("image_set", "group", "provenance__attribute"), pk=number
    )
    if not policies.may_see_set(request.user, found.image_set):
        raise Http404
    return found


__all__ = ["get_visible_image", "get_visible_image_set", "visible_image_sets"]
