"""Which pages and addresses of the API are read from the replica: those of numbers, for whoever has changed
nothing lately."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.cache import DEFAULT_CACHE_ALIAS, cache, caches
from django.core.exceptions import MiddlewareNotUsed
from django.db import InterfaceError, OperationalError, connections
from django.http import Http404, HttpRequest, HttpResponse

from annotation.core import replica
from visage_app.cache.shared_cache import SharedCache

# They read much and write nothing (with ?check they would). Every other page reads the primary.
PAGES = frozenset(
    {
        "overview",
        "overview_live",
        "agreement",
        "identities",
        "identity",
        "attributes",
        "attribute",
        "gallery",
        "compare",
        "quality",
        "quality_csv",
        "figures",
        "figure_page",
        "figure",
    }
)
# The same numbers for programs. What they follow row by row stays on the primary: lists that grow while they
# are read (judgements wait for whoever writes, and those who write are not to be seen on a copy), the states
# of work that they wait for, whatever ETag a change is held against.
API = frozenset(
    {
        "agreement",
        "figure",
        "figure_file",
        "figures",
        "gallery",
        "identities",
        "progress",
        "quality",
        "score_run_scores",
        "scores",
    }
)
# Whoever did something sees it: for so long after the copy can be late, they read the primary.
_COOKIE, _MORE_SECONDS = "changed", 5
_SAFE = {"GET", "HEAD", "OPTIONS"}


class ReplicaMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if replica.ALIAS not in connections:
            raise MiddlewareNotUsed
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if request.method not in _SAFE:
            seconds = settings.DATABASE_REPLICA_LAG_SECONDS + _MORE_SECONDS
            if program := _program(request):
                cache.set(program, True, seconds)
            response.set_cookie(
                _COOKIE,
                "1",
                max_age=seconds,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """The page as the replica has it. None, and Django asks the view as ever, where the replica is not to
        be asked, fails, or does not know yet what is asked for: what it refuses, the primary may have."""
        if not _may_be_late(request) or not replica.monitor.is_usable():
            return None
        try:
            with replica.from_replica():
                response = view(request, *args, **kwargs)
        except Http404:
            return None
        except (OperationalError, InterfaceError) as error:
            replica.monitor.mark_failed(error)
            return None
        return response if response.status_code < HTTPStatus.BAD_REQUEST else None


def _may_be_late(request: HttpRequest) -> bool:
    match = request.resolver_match
    if match is None or request.method not in {"GET", "HEAD"} or _COOKIE in request.COOKIES:
        return False
    if match.namespace == "api":
        return match.url_name in API and _program_may_be_late(request)
    # A page that was told of new numbers takes in its own new content by htmx. These count anew themselves.
    anew = "HX-Request" in request.headers and match.url_name not in {"overview_live", "quality"}
    return match.url_name in PAGES and not match.namespace and not anew and "check" not in request.GET


def _program_may_be_late(request: HttpRequest) -> bool:
    """Unless it asks for what is there now, or changed something lately. A program keeps no cookies: that it
    did so is remembered in the cache, which has to be one for all processes."""
    if "no-cache" in request.headers.get("Cache-Control", ""):
        return False
    program = _program(request)
    return not program or (_remembered_by_all() and not cache.get(program))


def _program(request: HttpRequest) -> str:
    """What stands for a token in the cache; "" for a browser."""
    token = request.headers.get("Authorization", "")
    return f"changed-{hashlib.sha256(token.encode()).hexdigest()}" if token else ""


def _remembered_by_all() -> bool:
    return isinstance(caches[DEFAULT_CACHE_ALIAS], SharedCache)
