"""Who comes in to the pages of generation: what is not theirs does not exist for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from annotation import policies
from annotation.models import Image, ImageSet

View = Callable[..., HttpResponse]


def for_makers(view: View) -> View:
    """For who makes images only (policies.may_make_images)."""

    @login_required
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not policies.may_make_images(request.user):
            raise Http404
        return view(request, *args, **kwargs)

    return checked


def seen_set(request: HttpRequest, name: str) -> ImageSet:
    """The set `name`, if the user may see how its images were made and judged; Http404 otherwise."""
    image_set = get_object_or_404(ImageSet, name=name)
    if not policies.may_see_set(request.user, image_set):
        raise Http404
    return image_set


def seen_image(request: HttpRequest, pk: int) -> Image:
    """The image, if the user may see its set; Http404 otherwise."""
    image = get_object_or_404(Image.objects.select_related("image_set", "group"), pk=pk)
    if not policies.may_see_set(request.user, image.image_set):
        raise Http404
    return image
