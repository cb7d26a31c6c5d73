"""Restrict pages about the catalogue to those who set up or lead studies; others get a 404."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse

from annotation import policies

View = Callable[..., HttpResponse]


def catalogue_readers_only(view: View) -> View:
    """Require policies.may_see_catalogue; Http404 otherwise."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not policies.may_see_catalogue(request.user):
            raise Http404
        return view(request, *args, **kwargs)

    return wrapper
