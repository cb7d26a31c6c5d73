"""Which pages and API resources are read from the replica: scores and progress, for clients that have changed
nothing recently."""

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

# Pages that read much and write nothing (except with ?check). Every other page reads the primary.
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
# The same for programs. The primary serves lists that grow while they are read (judgements wait for writers,
# which cannot be seen on a replica), the state of jobs, and resources whose ETag a change is checked against.
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
# After a change, a client reads the primary for this long in addition to the allowed lag, so it sees its
# change.
_COOKIE, _EXTRA_SECONDS = "changed", 5
_SAFE = {"GET", "HEAD", "OPTIONS"}


class ReplicaMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if replica.ALIAS not in connections:
            raise MiddlewareNotUsed
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if request.method not in _SAFE:
            seconds = settings.DATABASE_REPLICA_LAG_SECONDS + _EXTRA_SECONDS
            if key := _cache_key(request):
                cache.set(key, True, seconds)
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
        """The response from the replica. None, so that Django calls the view as usual, if the replica may not
        be used, fails or refuses the request: the primary may already have what it lacks."""
        if not _may_use_replica(request) or not replica.monitor.is_usable():
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


def _may_use_replica(request: HttpRequest) -> bool:
    match = request.resolver_match
    if match is None or request.method not in {"GET", "HEAD"} or _COOKIE in request.COOKIES:
        return False
    if match.namespace == "api":
        return match.url_name in API and _program_may_use_replica(request)
    # htmx reloads a page when its scores have changed. The two excepted views compute their own numbers.
    reloads = "HX-Request" in request.headers and match.url_name not in {"overview_live", "quality"}
    return match.url_name in PAGES and not match.namespace and not reloads and "check" not in request.GET


def _program_may_use_replica(request: HttpRequest) -> bool:
    """False if the program asks for current data or changed something recently. Programs keep no cookies, so
    their changes are recorded in the cache, which must be shared by all processes."""
    if "no-cache" in request.headers.get("Cache-Control", ""):
        return False
    key = _cache_key(request)
    return not key or (_cache_is_shared() and not cache.get(key))


def _cache_key(request: HttpRequest) -> str:
    """The cache key of a token; "" for a browser."""
    token = request.headers.get("Authorization", "")
    return f"changed-{hashlib.sha256(token.encode()).hexdigest()}" if token else ""


def _cache_is_shared() -> bool:
    return isinstance(caches[DEFAULT_CACHE_ALIAS], SharedCache)
