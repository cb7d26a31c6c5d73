"""`/metrics` for Prometheus (docs/monitoring.md), protected by METRICS_TOKEN."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Iterator

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from annotation.core.code_version import code_version
from visage_app.observability import request_metrics
from visage_app.observability.queries import metrics as metric_queries
from visage_app.observability.queries.metrics import Metrics

log = logging.getLogger(__name__)
# Field of QueueLoad -> name and help text of the metric
_QUEUE_GAUGES = {
    "waiting": ("visage_queue_waiting", "Jobs that could be started now; counted up to 10000."),
    "claimed": ("visage_queue_claimed", "Jobs that a worker is processing; counted up to 10000."),
    "failed": ("visage_queue_failed", "Jobs that failed for good; counted up to 10000."),
    "done": ("visage_queue_done_5m", "Jobs finished in the last five minutes; counted up to 10000."),
    "age": ("visage_queue_oldest_seconds", "How long the oldest job has been waiting to start."),
}


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """404 without METRICS_TOKEN in the settings, 401 without it in the request."""
    if not settings.METRICS_TOKEN:
        raise Http404
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    known = hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
    if scheme.lower() != "bearer" or not known:
        return HttpResponse(
            "Send METRICS_TOKEN as a bearer token.\n",
            status=401,
            content_type="text/plain",
            headers={"WWW-Authenticate": 'Bearer realm="metrics"'},
        )
    registry = CollectorRegistry()
    request_metrics.register(registry)
    registry.register(_DatabaseMetrics())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _DatabaseMetrics(Collector):
    """Metrics from the database. If it is down, the request counts are still reported."""

    def describe(self) -> list[Metric]:
        """Empty, so that registering the collector runs no query."""
        return []

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("visage_build", "1, labelled with the version.", labels=["version"])
        build.add_metric([code_version()], 1)
        yield build
        try:
            values = metric_queries.read_metrics()
        except (OperationalError, InterfaceError) as error:
            log.warning("metrics without the database: %s", error)
            yield GaugeMetricFamily("visage_database_up", _UP, value=0)
            return
        yield GaugeMetricFamily("visage_database_up", _UP, value=1)
        yield from _annotation_metrics(values)
        yield from _job_metrics(values)
        yield from _machine_metrics(values)


_UP = "Whether the database answered this scrape; 0: metrics from rows are missing."


def _annotation_metrics(values: Metrics) -> Iterator[Metric]:
    text = "Leased items, open or expired."
    leases = GaugeMetricFamily("visage_leases", text, labels=["state"])
    leases.add_metric(["open"], values.leases.held)
    leases.add_metric(["expired"], values.leases.expired)
    yield leases
    yield GaugeMetricFamily(
        "visage_annotators_active",
        "People who hold an item that they fetched in the last 15 minutes.",
        value=values.leases.annotators,
    )
    yield CounterMetricFamily(
        "visage_responses_stored", "Answers stored so far, by the last id assigned.", value=values.responses
    )
    yield CounterMetricFamily(
        "visage_judgements_stored",
        "Judgements stored so far, by the last id assigned.",
        value=values.judgements,
    )


def _job_metrics(values: Metrics) -> Iterator[Metric]:
    for field, (name, text) in _QUEUE_GAUGES.items():
        gauge = GaugeMetricFamily(name, text, labels=["queue"])
        for queue, load in values.queues.items():
            gauge.add_metric([queue], getattr(load, field))
        yield gauge
    alive = GaugeMetricFamily(
        "visage_workers", "Workers that reported in the last two minutes.", labels=["queue"]
    )
    for queue, number in values.workers.items():
        alive.add_metric([queue], number)
    yield alive


def _machine_metrics(values: Metrics) -> Iterator[Metric]:
    place = ["host", "device"]
    used = GaugeMetricFamily("visage_gpu_memory_used_bytes", "Used memory of a worker's GPU.", labels=place)
    total = GaugeMetricFamily("visage_gpu_memory_total_bytes", "Memory of a worker's GPU.", labels=place)
    for each in values.devices:
        used.add_metric([each.host, each.device], each.used)
        total.add_metric([each.host, each.device], each.total)
    if values.devices:
        yield from (used, total)
    yield GaugeMetricFamily("visage_database_bytes", "Size of the database.", value=values.database_size)
    yield GaugeMetricFamily("visage_disk_free_bytes", "Free disk space at VAR_DIR.", value=values.disk_free)
    if values.last_backup is not None:
        yield GaugeMetricFamily(
            "visage_last_backup_timestamp_seconds",
            "When manage.py backup last succeeded.",
            value=values.last_backup.timestamp(),
        )
