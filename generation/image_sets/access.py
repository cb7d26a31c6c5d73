"""Who comes in: what is not theirs is not there."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from annotation import policies
from annotation.models import Image, ImageSet
from generation.models import Run


def sets_seen(request: Request) -> QuerySet[ImageSet]:
    """The image sets that the account may see: all, for who makes images; else what their studies show."""
    if policies.may_make_images(request.user):
        return ImageSet.objects.all()
    return ImageSet.objects.filter(task__study__in=policies.studies_led_by(request.user)).distinct()


def seen_set(request: Request, name: str) -> ImageSet:
    """The set `name`, if the account may see how its images were made; Http404 otherwise."""
    found = get_object_or_404(ImageSet, name=name)
    if not policies.may_see_set(request.user, found):
        raise Http404
    return found


def seen_image(request: Request, number: int) -> Image:
    """The image, if the account may see its set; Http404 otherwise."""
    found = get_object_or_404(
        Image.objects.select_related("image_set", "group", "provenance__attribute"), pk=number
    )
    if not policies.may_see_set(request.user, found.image_set):
        raise Http404
    return found


def runs_seen(request: Request) -> QuerySet[Run]:
    """Every run, for who makes images; Http404 for others, for whom there are none."""
    if not policies.may_make_images(request.user):
        raise Http404
    return Run.objects.select_related("image_set", "created_by")


__all__ = ["runs_seen", "seen_image", "seen_set", "sets_seen"]
