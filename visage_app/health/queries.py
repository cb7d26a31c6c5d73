"""Health of the installation: waiting jobs, workers, and what needs attention."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import django
from celery import current_app
from django.conf import settings
from django.db.models import Count, F, Max, Min, Model, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from annotation.core.code_version import code_version
from annotation.models import Delivery, ExportJob, Slot, SlotState
from generation.jobs.services import claims, workers
from generation.models import Job, RunState, Worker
from metrics.models import ScoreRun
from metrics.score_runs import services as score_runs
from visage_app.database.migrations import unapplied_migrations
from visage_app.observability.queries import metrics as metric_queries
from visage_app.observability.queries import queues as queue_queries
from visage_app.storage.queries import Storage, storage

LONG = timedelta(minutes=5)
"""If jobs wait longer than this without a sign of a worker, there is no worker."""
FAILED_SHOWN = 10
_BROKER_SECONDS = 2


@dataclass(frozen=True)
class Failure:
    """One failed job: `number` is the id of its row, `study` the name of its study, `run` the run of a
    generation job."""

    number: int
    what: str
    error: str
    at: datetime | None
    study: str = ""
    run: int | None = None


@dataclass(frozen=True)
class Queue:
    """One queue of jobs. `heard`: the last sign of a worker; an idle worker gives none."""

    kind: str
    waiting: int
    claimed: int
    failed: int
    oldest: datetime | None
    heard: datetime | None
    failures: tuple[Failure, ...]

    def stuck(self, now: datetime) -> bool:
        """Whether jobs have waited for long without a sign of a worker."""
        silent = self.heard is None or now - self.heard > LONG
        return self.waiting > 0 and self.oldest is not None and now - self.oldest > LONG and silent


@dataclass(frozen=True)
class WorkerStatus:
    """A worker process, from its reports. `silent`: it stopped reporting without being stopped. `used` and
    `total`: GPU memory in bytes, None without a GPU."""

    name: str
    queue: str
    version: str
    started: datetime
    seen: datetime
    silent: bool
    device: str
    used: int | None
    total: int | None


@dataclass(frozen=True)
class Health:
    """Everything on the page. `broker`: whether it answers, None without one. `stuck`: queues without a
    worker; `slow`: others whose oldest job has waited longer than QUEUE_SLOW_MINUTES."""

    at: datetime
    storage: Storage
    queues: tuple[Queue, ...]
    overdue: int
    broker: bool | None
    unapplied: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    workers: tuple[WorkerStatus, ...]
    last_backup: datetime | None
    stuck: tuple[str, ...] = field(default=())
    slow: tuple[str, ...] = field(default=())

    @property
    def mark(self) -> str:
        """A digest that changes when the page does, at least every minute, since ages grow."""
        sizes = self.storage.free // 2**20, self.storage.database_size // 2**20, self.storage.files
        moment = self.at.replace(second=0, microsecond=0)
        workers = [(each.name, each.silent) for each in self.workers]
        content = (moment, sizes, self.queues, self.overdue, self.broker, self.unapplied, workers, self.slow)
        return hashlib.sha256(repr(content).encode()).hexdigest()[:16]

    @property
    def well(self) -> bool:
        failed = any(queue.failed for queue in self.queues)
        silent = any(worker.silent for worker in self.workers)
        problems = (
            self.stuck,
            self.slow,
            silent,
            self.unapplied,
            self.overdue,
            self.storage.little_space,
            failed,
        )
        return not any(problems) and self.broker is not False


def health(*, now: datetime | None = None) -> Health:
    """The current health. Expensive counts are refreshed every five minutes."""
    now = now or timezone.now()
    queues = tuple(_queues(now))
    stuck = tuple(queue.kind for queue in queues if queue.stuck(now))
    return Health(
        at=now,
        storage=storage(),
        queues=queues,
        # The worker of queue `default` returns expired leases within seconds.
        overdue=Slot.objects.filter(state=SlotState.LEASED, lease_expires_at__lt=now - LONG).count(),
        broker=broker_answers(),
        unapplied=unapplied_migrations(),
        versions=_versions(),
        workers=tuple(_workers(now)),
        last_backup=metric_queries.last_backup(),
        stuck=stuck,
        slow=tuple(kind for kind in queue_queries.slow(now) if kind not in stuck),
    )


def _workers(now: datetime) -> Iterator[WorkerStatus]:
    for worker in Worker.objects.order_by("queue", "-seen_at", "pk"):
        yield WorkerStatus(
            name=worker.name,
            queue=worker.queue,
            version=worker.version,
            started=worker.started_at,
            seen=worker.seen_at,
            silent=now - worker.seen_at > workers.SILENT_AFTER,
            device=worker.device,
            used=worker.memory_used,
            total=worker.memory_total,
        )


def _queues(now: datetime) -> Iterator[Queue]:
    running = Q(run__state=RunState.RUNNING)
    yield _queue(
        "generation",
        Job.objects.filter(running | Q(state="failed") & ~Q(run__state=RunState.CANCELLED)),
        since="run__started_at",
        lease=claims.lease_length(),
        failures=[
            Failure(job.pk, str(job.run), job.error, job.finished_at, run=job.run_id)
            for job in _failed(Job, "run__image_set").exclude(run__state=RunState.CANCELLED)[:FAILED_SHOWN]
        ],
    )
    yield _queue(
        "scores",
        ScoreRun.objects.all(),
        since="created_at",
        lease=score_runs.LEASE,
        failures=[
            Failure(run.pk, run.metric, run.error, run.finished_at, study=run.study.name)
            for run in _failed(ScoreRun, "study")[:FAILED_SHOWN]
        ],
    )
    yield _queue(
        "exports",
        ExportJob.objects.all(),
        since="created_at",
        failures=[
            Failure(job.pk, job.format, job.error, job.finished_at, study=job.study.name)
            for job in _failed(ExportJob, "study")[:FAILED_SHOWN]
        ],
    )
    yield _queue(
        "deliveries",
        Delivery.objects.filter(webhook__disabled_at__isnull=True),
        since="created_at",
        failures=[
            Failure(sent.pk, sent.event, sent.error, sent.finished_at, study=sent.webhook.study.name)
            for sent in _failed(Delivery, "webhook__study").filter(webhook__disabled_at__isnull=True)[
                :FAILED_SHOWN
            ]
        ],
    )


def _failed(model: type[Model], related: str) -> QuerySet[Any]:
    failed: QuerySet[Any] = model._default_manager.filter(state="failed")
    return failed.select_related(related).order_by(F("finished_at").desc(nulls_last=True), "-pk")


def _queue(
    kind: str,
    rows: QuerySet[Any],
    *,
    since: str,
    failures: list[Failure],
    lease: timedelta = timedelta(),
) -> Queue:
    """`lease`: how long a claim lasts after the last sign of its worker; zero if unknown."""
    counted = rows.filter(state__in=("pending", "claimed", "failed")).order_by().values_list("state")
    number = dict(counted.annotate(number=Count("pk")))
    waiting = rows.filter(state="pending").aggregate(oldest=Min(since))
    renewed = rows.filter(state="claimed").aggregate(until=Max("lease_expires_at"))["until"]
    finished = rows.aggregate(last=Max("finished_at"))["last"]
    moments = [renewed - lease if renewed else None, finished]
    return Queue(
        kind=kind,
        waiting=number.get("pending", 0),
        claimed=number.get("claimed", 0),
        failed=number.get("failed", 0),
        oldest=waiting["oldest"],
        heard=max((moment for moment in moments if moment is not None), default=None),
        failures=tuple(failures),
    )


def broker_answers() -> bool | None:
    """Whether the broker answers; None without a broker."""
    if not settings.CELERY_BROKER_URL:
        return None
    try:
        with current_app.connection_for_read(
            settings.CELERY_BROKER_URL, connect_timeout=_BROKER_SECONDS
        ) as broker_connection:
            broker_connection.ensure_connection(max_retries=1, timeout=_BROKER_SECONDS)
    except (OSError, OperationalError):
        return False
    return True


def _versions() -> tuple[tuple[str, str], ...]:
    return (
        ("Visage", code_version()),
        ("Python", platform.python_version()),
        ("Django", django.get_version()),
    )
