"""Pages for those who make images: for others they do not exist."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse

from annotation import policies

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


__all__ = ["for_makers"]
