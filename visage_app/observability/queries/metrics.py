"""Metrics from the database for `/metrics`: a fixed number of queries, none of which reads a large table."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Count, Max, Q
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from annotation.models import AuditEvent, Judgement, Response, Slot, SlotState
from generation.jobs.services import workers
from generation.models import Worker
from visage_app.observability.queries import queues
from visage_app.storage import queries as storage_queries

ACTIVE = timedelta(minutes=15)
"""An annotator who holds an item fetched within this time is active."""
# Field of QueueLoad -> name and help text of the metric
_QUEUE_GAUGES = {
    "waiting": ("visage_queue_waiting", "Jobs that could be started now; counted up to 10000."),
    "claimed": ("visage_queue_claimed", "Jobs that a worker is processing; counted up to 10000."),
    "failed": ("visage_queue_failed", "Jobs that failed for good; counted up to 10000."),
    "done": ("visage_queue_done_5m", "Jobs finished in the last five minutes; counted up to 10000."),
    "age": ("visage_queue_oldest_seconds", "How long the oldest job has been waiting to start."),
}


def read_metrics() -> list[Metric]:
    """The current metrics. Raises DatabaseError if the database is down."""
    now = timezone.now()
    return [*_annotation_metrics(now), *_job_metrics(now), *_machine_metrics(now)]


def last_backup() -> datetime | None:
    """When `manage.py backup` last succeeded on this database; other backups are unknown."""
    found: datetime | None = AuditEvent.objects.filter(what="backup").aggregate(at=Max("at"))["at"]
    return found


def _gauge(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    gauge = GaugeMetricFamily(name, text, labels=[label])
    for key, value in values.items():
        gauge.add_metric([key], value)
    return gauge


def _annotation_metrics(now: datetime) -> Iterator[Metric]:
    # Leased slots have their own index: a few for each active annotator.
    held = Slot.objects.filter(state=SlotState.LEASED).aggregate(
        open=Count("pk", filter=Q(lease_expires_at__gte=now)),
        expired=Count("pk", filter=Q(lease_expires_at__lt=now)),
        annotators=Count("annotator", filter=Q(leased_at__gte=now - ACTIVE), distinct=True),
    )
    annotators = held.pop("annotators")
    yield _gauge("visage_leases", "Leased items, open or expired.", "state", held)
    text = "People who hold an item that they fetched in the last 15 minutes."
    yield GaugeMetricFamily("visage_annotators_active", text, value=annotators)
    responses, judgements = _last_ids()
    text = "Answers stored so far, by the last id assigned."
    yield CounterMetricFamily("visage_responses_stored", text, value=responses)
    text = "Judgements stored so far, by the last id assigned."
    yield CounterMetricFamily("visage_judgements_stored", text, value=judgements)


def _job_metrics(now: datetime) -> Iterator[Metric]:
    loads = queues.loads(now)
    for field, (name, text) in _QUEUE_GAUGES.items():
        yield _gauge(name, text, "queue", {queue: getattr(load, field) for queue, load in loads.items()})


def _machine_metrics(now: datetime) -> Iterator[Metric]:
    reporting = list(Worker.objects.filter(seen_at__gte=now - workers.SILENT_AFTER).order_by("seen_at", "pk"))
    text = "Workers that reported in the last two minutes."
    yield _gauge("visage_workers", text, "queue", Counter(worker.queue for worker in reporting))
    place = ["host", "device"]
    used = GaugeMetricFamily("visage_gpu_memory_used_bytes", "Used memory of a worker's GPU.", labels=place)
    total = GaugeMetricFamily("visage_gpu_memory_total_bytes", "Memory of a worker's GPU.", labels=place)
    # Two workers on one GPU report the same memory: the later report counts.
    devices = {(each.host, each.device): each for each in reporting if each.device}
    for labels, each in devices.items():
        used.add_metric(labels, each.memory_used or 0)
        total.add_metric(labels, each.memory_total or 0)
    if devices:
        yield from (used, total)
    size, free = storage_queries.database_size(), storage_queries.disk_free()
    yield GaugeMetricFamily("visage_database_bytes", "Size of the database.", value=size)
    yield GaugeMetricFamily("visage_disk_free_bytes", "Free disk space at VAR_DIR.", value=free)
    if backup := last_backup():
        name, text = "visage_last_backup_timestamp_seconds", "When manage.py backup last succeeded."
        yield GaugeMetricFamily(name, text, value=backup.timestamp())


def _last_ids() -> tuple[int, int]:
    """The last ids of responses and judgements. They only grow, and counting 12 million rows would take
    seconds. They can be slightly too high, since an id may be assigned without a row."""
    tables = [model._meta.db_table for model in (Response, Judgement)]
    if connection.vendor == "sqlite":
        one = "COALESCE((SELECT seq FROM sqlite_sequence WHERE name = %s), 0)"
    else:
        one = "COALESCE(pg_sequence_last_value(pg_get_serial_sequence(%s, 'id')::regclass), 0)"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {one}, {one}", tables)
        responses, judgements = cursor.fetchone()
    return int(responses), int(judgements)
