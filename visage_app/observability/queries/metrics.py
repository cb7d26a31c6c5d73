"""What the rows say to `/metrics`: a fixed number of questions, none of which reads a large table."""

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
from visage_app.observability.queries.queues import Load
from visage_app.storage import queries as storage_queries

ACTIVE = timedelta(minutes=15)
"""Who holds an item that they fetched within this is at work."""


@dataclass(frozen=True)
class Leases:
    """Items in hand: within their time, and beyond it; and how many people fetched some of them lately."""

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
class Watched:
    """All of it. `responses`, `judgements`: numbers given out so far. `workers`: queue -> how many are heard
    of. Sizes in bytes."""

    leases: Leases
    queues: dict[str, Load]
    responses: int
    judgements: int
    workers: dict[str, int]
    devices: tuple[Device, ...]
    last_backup: datetime | None
    database_size: int
    disk_free: int


def watched(*, now: datetime | None = None) -> Watched:
    """What there is to watch now. Raises DatabaseError if the database is away."""
    now = now or timezone.now()
    heard = list(Worker.objects.filter(seen_at__gte=now - workers.SILENT_AFTER).order_by("seen_at", "pk"))
    count: dict[str, int] = {}
    for worker in heard:
        count[worker.queue] = count.get(worker.queue, 0) + 1
    # two workers on one card see the same memory: the later look counts
    devices = {(each.host, each.device): each for each in heard if each.device}
    responses, judgements = _numbered()
    return Watched(
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
    """When `manage.py backup` last ended well on this database; others are not known of."""
    found: datetime | None = AuditEvent.objects.filter(what="backup").aggregate(at=Max("at"))["at"]
    return found


def _leases(now: datetime) -> Leases:
    """From the slots in hand alone, which have an index of their own: a few for each person at work."""
    held = Slot.objects.filter(state=SlotState.LEASED).aggregate(
        held=Count("pk", filter=Q(lease_expires_at__gte=now)),
        expired=Count("pk", filter=Q(lease_expires_at__lt=now)),
        annotators=Count("annotator", filter=Q(leased_at__gte=now - ACTIVE), distinct=True),
    )
    return Leases(**held)


def _numbered() -> tuple[int, int]:
    """The last numbers that responses and judgements were given: they only grow, and counting 12 million rows
    takes seconds. A few more than are stored, where a number was taken and the row never was."""
    tables = [model._meta.db_table for model in (Response, Judgement)]
    if connection.vendor == "sqlite":
        one = "COALESCE((SELECT seq FROM sqlite_sequence WHERE name = %s), 0)"
    else:
        one = "COALESCE(pg_sequence_last_value(pg_get_serial_sequence(%s, 'id')::regclass), 0)"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {one}, {one}", tables)
        responses, judgements = cursor.fetchone()
    return int(responses), int(judgements)


__all__ = ["ACTIVE", "Device", "Leases", "Watched", "last_backup", "watched"]
