"""Helpers for requests in views."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, QueryDict
from django_htmx.middleware import HtmxDetails

_View = TypeVar("_View", bound=Callable[..., Any])


class LoggedIn(HttpRequest):
    """A request of a logged-in user, for views that need a login."""

    user: User
    htmx: HtmxDetails


def query_without_page(request: HttpRequest) -> str:
    """The query string without `page`, for links to another page. `check` (wait until the scores are checked)
    is dropped too, since it applies to one request."""
    query: QueryDict = request.GET.copy()
    query.pop("page", None)
    query.pop("check", None)
    return f"{query.urlencode()}&" if query else ""


def accepts_files(max_bytes: Callable[[User | AnonymousUser], int]) -> Callable[[_View], _View]:
    """Decorator for a view that accepts files: `max_bytes` returns how many bytes of them an account may send
    (visage_app/storage/body_limits.py). It must be the outermost decorator."""

    def decorate(view: _View) -> _View:
        view.max_file_bytes = max_bytes  # type: ignore[attr-defined]
        return view

    return decorate
