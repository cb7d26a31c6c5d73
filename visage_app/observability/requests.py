"""The outermost middleware, which gives each request an id, logs it and counts it for /metrics.

Each gunicorn process stores its counters in a folder that the server creates (serving/gunicorn_hooks.py), and
the one that is scraped adds them up. Without the folder (`runserver`, tests) a process reports its own.
django-prometheus is not used: it labels by URL and by any method that a client invents.
"""

import logging
import os
import re
import secrets
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

from visage_app.observability.log_lines import META, request_id, route_of

log = logging.getLogger("visage_app.requests")
HEADER = "X-Request-ID"
_USABLE = re.compile(r"[A-Za-z0-9_-]{8,64}")
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder for prometheus_client; set by the server, not by people."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# seconds; from what people notice up to common timeouts of proxies and servers
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_requests = Counter(
    "visage_http_requests",
    "Requests answered, by the name of the route.",
    ["route", "method", "status"],
    registry=None,
)
_seconds = Histogram(
    "visage_http_request_duration_seconds",
    "Time until the answer began.",
    ["route", "method"],
    buckets=_BUCKETS,
    registry=None,
)


def method_of(request: HttpRequest) -> str:
    """The method, or *other*, since clients must not be able to create labels."""
    return request.method if request.method in _METHODS else "other"


def count(*, route: str, method: str, status: int, seconds: float) -> None:
    """Count a request, if metrics are enabled."""
    if settings.METRICS_TOKEN:
        _requests.labels(route, method, f"{status // 100}xx").inc()
        _seconds.labels(route, method).observe(seconds)


def register(registry: CollectorRegistry) -> None:
    """Add the counts of all processes to a scrape."""
    if FOLDER in os.environ:
        MultiProcessCollector(registry)  # registers itself
    else:
        registry.register(_requests)
        registry.register(_seconds)


class RequestLogMiddleware:
    """All log lines of a request and its response have the request id, so a user can quote it. The line for
    the request has its method and route, but no user, IP address or values."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        current_id = request.META[META] = id_of_request(request)
        token = request_id.set(current_id)
        began = time.perf_counter()
        try:
            response = self._get_response(request)
            seconds = time.perf_counter() - began
            response[HEADER] = current_id
            self._record(request, response.status_code, seconds)
        finally:
            request_id.reset(token)
        return response

    def _record(self, request: HttpRequest, status: int, seconds: float) -> None:
        route, method = route_of(request), method_of(request)
        count(route=route, method=method, status=status, seconds=seconds)
        if log.isEnabledFor(logging.INFO):
            fields = {"route": route, "method": method, "status": status}
            fields["duration_ms"] = round(seconds * 1000, 1)
            log.info("%s %s %s in %s ms", method, route, status, fields["duration_ms"], extra=fields)


def id_of_request(request: HttpRequest) -> str:
    """The request id from our proxy, or a new one: without a proxy, clients could choose it."""
    current_id = request.headers.get(HEADER, "") if settings.BEHIND_PROXY else ""
    return current_id if _USABLE.fullmatch(current_id) else secrets.token_hex(8)
