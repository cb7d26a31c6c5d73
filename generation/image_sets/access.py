"""The image sets and images that an account may see, on pages and in the API; others give a 404."""

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from annotation import policies
from annotation.models import Image, ImageSet


def visible_image_sets(request: HttpRequest | Request) -> QuerySet[ImageSet]:
    """All image sets for accounts that may generate images, else those of the studies they lead."""
    if policies.may_make_images(request.user):
        return ImageSet.objects.all()
    return ImageSet.objects.filter(task__study__in=policies.studies_led_by(request.user)).distinct()


def get_visible_image_set(request: HttpRequest | Request, name: str) -> ImageSet:
    """The set `name`, if the account may see it; Http404 otherwise."""
    image_set = get_object_or_404(ImageSet, name=name)
    if not policies.may_see_set(request.user, image_set):
        raise Http404
    return image_set


def get_visible_image(request: HttpRequest | Request, number: int) -> Image:
    """The image, if the account may see its set; Http404 otherwise."""
    image = get_object_or_404(
        Image.objects.select_related("image_set", "group", "provenance__attribute"), pk=number
    )
    if not policies.may_see_set(request.user, image.image_set):
        raise Http404
    return image
