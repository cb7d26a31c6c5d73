"""Request counters over all processes of the web server.

Each gunicorn process stores its counters in a folder that the server creates (serving/gunicorn_hooks.py), and
the one that is scraped adds them up. Without the folder (`runserver`, tests) a process reports its own.
django-prometheus is not used: it labels by URL and by any method that a client invents.
"""

from __future__ import annotations

import os

from django.conf import settings
from django.http import HttpRequest
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

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
