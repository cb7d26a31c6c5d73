"""What views know of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, QueryDict
from django_htmx.middleware import HtmxDetails

_View = TypeVar("_View", bound=Callable[..., Any])


class LoggedIn(HttpRequest):
    """Of somebody who is logged in, for views behind `login_required`."""

    user: User
    htmx: HtmxDetails


def without_page(request: HttpRequest) -> str:
    """The reader's choices but for the page, as the beginning of a link to another page. To wait until a page
    has checked its numbers (`check`) is chosen once."""
    query: QueryDict = request.GET.copy()
    query.pop("page", None)
    query.pop("check", None)
    return f"{query.urlencode()}&" if query else ""


def takes_files(most_bytes: Callable[[User | AnonymousUser], int]) -> Callable[[_View], _View]:
    """For a page to which files are sent: how many bytes of them are read from an account before anything
    else is looked at (visage_app/storage/body_limits.py). Outermost of a view's decorators."""

    def said(view: _View) -> _View:
        view.most_file_bytes = most_bytes  # type: ignore[attr-defined]
        return view

    return said
