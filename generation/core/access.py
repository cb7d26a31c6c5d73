"""Restrict pages to users who may generate images; others get a 404."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase

from annotation import policies

View = Callable[..., HttpResponseBase]


def image_makers_only(view: View) -> View:
    """Require policies.may_make_images; Http404 otherwise."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not policies.may_make_images(request.user):
            raise Http404
        return view(request, *args, **kwargs)

    return wrapper
