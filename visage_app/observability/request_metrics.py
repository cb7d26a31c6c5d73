"""Request counters over all processes of the web server.

This uses `prometheus_client` and not django-prometheus, which also wraps databases, caches and models, labels
by URL and by any method that a client invents, and adds many series that are not needed here.

Each gunicorn process counts separately, and a scrape reaches one of them. So the server creates a folder
before its processes start (serving/gunicorn_hooks.py). Each process stores its counters there, and the one
that is scraped adds them up. Without the folder (`runserver`, tests) there is one process, which reports its
own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from django.conf import settings
from django.http import HttpRequest
from prometheus_client import CollectorRegistry, Counter, Histogram, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the folder for prometheus_client; set by the server, not by people."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# seconds; from what people notice up to common timeouts of proxies and servers
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_registry = CollectorRegistry()
_requests = Counter(
    "visage_http_requests",
    "Requests answered, by the name of the route.",
    ["route", "method", "status"],
    registry=_registry,
)
_seconds = Histogram(
    "visage_http_request_duration_seconds",
    "Time until the answer began.",
    ["route", "method"],
    buckets=_BUCKETS,
    registry=_registry,
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
        registry.register(_OwnCounts())


class _OwnCounts(Collector):
    """The counts of this process."""

    def collect(self) -> Iterable[Metric]:
        return _registry.collect()
