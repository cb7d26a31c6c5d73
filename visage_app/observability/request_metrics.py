"""Counters of requests, over all processes of the web server.

`prometheus_client` alone and not django-prometheus: that one wraps databases, caches and models too, counts
by address and by whatever method a client makes up, and brings many series that nobody here looks at.

Each process of gunicorn counts for itself, and a scrape reaches one of them. So the server makes a folder
before its processes start (serving/gunicorn_hooks.py), in which each keeps its counters, and whoever is
asked adds up what lies there. Without that folder (`runserver`, tests) there is one process, which answers
for itself.
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
"""The environment variable by which prometheus_client finds the folder; set by the server, not by people."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# seconds; the steps that people feel, and those at which proxies and servers give up
_STEPS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_own = CollectorRegistry()
_requests = Counter(
    "visage_http_requests",
    "Requests answered, by the name of the route.",
    ["route", "method", "status"],
    registry=_own,
)
_seconds = Histogram(
    "visage_http_request_duration_seconds",
    "Time until the answer began.",
    ["route", "method"],
    buckets=_STEPS,
    registry=_own,
)


def method_of(request: HttpRequest) -> str:
    """The method, *other* for what no client of ours sends: clients must not make up labels."""
    return request.method if request.method in _METHODS else "other"


def count(*, route: str, method: str, status: int, seconds: float) -> None:
    """Count a request, if anybody may read the counts."""
    if settings.METRICS_TOKEN:
        _requests.labels(route, method, f"{status // 100}xx").inc()
        _seconds.labels(route, method).observe(seconds)


def register(registry: CollectorRegistry) -> None:
    """Add the counts of all processes to what a scrape answers."""
    if FOLDER in os.environ:
        MultiProcessCollector(registry)  # registers itself
    else:
        registry.register(_Own())


class _Own(Collector):
    """What this one process counted."""

    def collect(self) -> Iterable[Metric]:
        return _own.collect()
