"""`/metrics`: what Prometheus reads (docs/monitoring.md). For whoever knows METRICS_TOKEN."""

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
# QueueLoad's fields -> what they are called, and what they say
_QUEUE_GAUGES = {
    "waiting": ("visage_queue_waiting", "Work that could be begun now; counted up to 10000."),
    "claimed": ("visage_queue_claimed", "Work that a worker has in hand; counted up to 10000."),
    "failed": ("visage_queue_failed", "Work that was given up and not tried again; counted up to 10000."),
    "done": ("visage_queue_done_5m", "Work finished in the last five minutes; counted up to 10000."),
    "age": ("visage_queue_oldest_seconds", "How long the oldest work could have been begun and was not."),
}


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """404 without the setting, 401 without the token."""
    if not settings.METRICS_TOKEN:
        raise Http404
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    known = hmac.compare_digest(given.strip().encode(), settings.METRICS_TOKEN.encode())
    if scheme.lower() != "bearer" or not known:
        return HttpResponse(
            "Send METRICS_TOKEN as a bearer token.\n",
            status=401,
            content_type="text/plain",
            headers={"WWW-Authenticate": 'Bearer realm="metrics"'},
        )
    registry = CollectorRegistry()
    request_metrics.register(registry)
    registry.register(_Rows())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _Rows(Collector):
    """What the database says at this moment. If it says nothing, the counts of requests still do."""

    def describe(self) -> list[Metric]:
        """Nothing in advance: being registered asks no question."""
        return []

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("visage_build", "1, with the version that answers.", labels=["version"])
        build.add_metric([code_version()], 1)
        yield build
        try:
            found = metric_queries.read_metrics()
        except (OperationalError, InterfaceError) as error:
            log.warning("metrics without the database: %s", error)
            yield GaugeMetricFamily("visage_database_up", _UP, value=0)
            return
        yield GaugeMetricFamily("visage_database_up", _UP, value=1)
        yield from _of_people(found)
        yield from _of_work(found)
        yield from _of_machines(found)


_UP = "Whether the database answered this scrape; 0: whatever is read from rows is missing."


def _of_people(found: Metrics) -> Iterator[Metric]:
    says = "Items in hand, within or beyond their time."
    leases = GaugeMetricFamily("visage_leases", says, labels=["state"])
    leases.add_metric(["open"], found.leases.held)
    leases.add_metric(["expired"], found.leases.expired)
    yield leases
    yield GaugeMetricFamily(
        "visage_annotators_active",
        "People who hold an item that they fetched in the last 15 minutes.",
        value=found.leases.annotators,
    )
    yield CounterMetricFamily(
        "visage_responses_stored", "Answers stored so far, by the last number given.", value=found.responses
    )
    yield CounterMetricFamily(
        "visage_judgements_stored",
        "Judgements stored so far, by the last number given.",
        value=found.judgements,
    )


def _of_work(found: Metrics) -> Iterator[Metric]:
    for field, (name, says) in _QUEUE_GAUGES.items():
        gauge = GaugeMetricFamily(name, says, labels=["queue"])
        for queue, load in found.queues.items():
            gauge.add_metric([queue], getattr(load, field))
        yield gauge
    alive = GaugeMetricFamily("visage_workers", "Workers heard of in the last two minutes.", labels=["queue"])
    for queue, number in found.workers.items():
        alive.add_metric([queue], number)
    yield alive


def _of_machines(found: Metrics) -> Iterator[Metric]:
    place = ["host", "device"]
    used = GaugeMetricFamily("visage_gpu_memory_used_bytes", "Of a worker's GPU, in use.", labels=place)
    total = GaugeMetricFamily("visage_gpu_memory_total_bytes", "Of a worker's GPU.", labels=place)
    for each in found.devices:
        used.add_metric([each.host, each.device], each.used)
        total.add_metric([each.host, each.device], each.total)
    if found.devices:
        yield from (used, total)
    yield GaugeMetricFamily("visage_database_bytes", "Size of the database.", value=found.database_size)
    yield GaugeMetricFamily("visage_disk_free_bytes", "Free where VAR_DIR is.", value=found.disk_free)
    if found.last_backup is not None:
        yield GaugeMetricFamily(
            "visage_last_backup_timestamp_seconds",
            "When manage.py backup last ended well.",
            value=found.last_backup.timestamp(),
        )
