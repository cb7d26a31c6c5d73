"""Metrics from the database for `/metrics`: a fixed number of queries, none of which reads a large table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Count, Max, Q
from django.utils import timezone

from annotation.models import AuditEvent, Judgement, Response, Slot, SlotState
from generation.jobs.services import workers
from generation.models import Worker
from visage_app.observability.queries import queues as queue_queries
from visage_app.observability.queries.queues import QueueLoad
from visage_app.storage import queries as storage_queries

ACTIVE = timedelta(minutes=15)
"""An annotator who holds an item fetched within this time is active."""


@dataclass(frozen=True)
class Leases:
    """Leased slots, current and expired, and the number of active annotators."""

    held: int
    expired: int
    annotators: int


@dataclass(frozen=True)
class Device:
    """An accelerator with a model on it; `used` and `total` in bytes."""

    host: str
    device: str
    used: int
    total: int


@dataclass(frozen=True)
class Metrics:
    """All metrics. `responses`, `judgements`: last ids assigned. `workers`: queue -> number of reporting
    workers. Sizes in bytes."""

    leases: Leases
    queues: dict[str, QueueLoad]
    responses: int
    judgements: int
    workers: dict[str, int]
    devices: tuple[Device, ...]
    last_backup: datetime | None
    database_size: int
    disk_free: int


def read_metrics(*, now: datetime | None = None) -> Metrics:
    """The current metrics. Raises DatabaseError if the database is down."""
    now = now or timezone.now()
    reporting = list(Worker.objects.filter(seen_at__gte=now - workers.SILENT_AFTER).order_by("seen_at", "pk"))
    count: dict[str, int] = {}
    for worker in reporting:
        count[worker.queue] = count.get(worker.queue, 0) + 1
    # Two workers on one GPU report the same memory: the later report counts.
    devices = {(each.host, each.device): each for each in reporting if each.device}
    responses, judgements = _last_ids()
    return Metrics(
        leases=_leases(now),
        queues=queue_queries.loads(now),
        responses=responses,
        judgements=judgements,
        workers=count,
        devices=tuple(
            Device(each.host, each.device, each.memory_used or 0, each.memory_total or 0)
            for each in devices.values()
        ),
        last_backup=last_backup(),
        database_size=storage_queries.database_size(),
        disk_free=storage_queries.disk_free(),
    )


def last_backup() -> datetime | None:
    """When `manage.py backup` last succeeded on this database; other backups are unknown."""
    found: datetime | None = AuditEvent.objects.filter(what="backup").aggregate(at=Max("at"))["at"]
    return found


def _leases(now: datetime) -> Leases:
    """From leased slots only, which have their own index: a few for each active annotator."""
    held = Slot.objects.filter(state=SlotState.LEASED).aggregate(
        held=Count("pk", filter=Q(lease_expires_at__gte=now)),
        expired=Count("pk", filter=Q(lease_expires_at__lt=now)),
        annotators=Count("annotator", filter=Q(leased_at__gte=now - ACTIVE), distinct=True),
    )
    return Leases(**held)


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
