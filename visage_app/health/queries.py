"""Health of the installation: waiting jobs, workers, and what needs attention."""

import hashlib
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import django
from celery import current_app
from django.conf import settings
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from annotation.core.code_version import code_version
from annotation.core.leases import JobState, lease_length
from annotation.imports.services import jobs as import_jobs
from annotation.models import Delivery, ExportJob, Slot, SlotState
from generation.jobs.services import workers
from generation.models import Job, Run, RunState, Worker
from generation.runs import queries as run_queries
from metrics.models import AssociationList, CandidateList, ScoreRun
from visage_app.database.migrations import unapplied_migrations
from visage_app.observability.queries import metrics as metric_queries
from visage_app.observability.queries import queues as queue_queries
from visage_app.storage.queries import Storage, storage

LONG = timedelta(minutes=5)
"""If jobs wait longer than this without a sign of a worker, there is no worker."""
ILL_FOR = timedelta(hours=1)
"""How long a worker that fell ill needs attention; it stays listed for a day."""
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
        return self.oldest is not None and now - self.oldest > LONG and silent


@dataclass(frozen=True)
class Health:
    """Everything on the page. `broker`: whether it answers, None without one. `silent`: names of workers that
    stopped reporting without being stopped. `ill`: those that ended lately because their device or model
    failed. `stuck`: queues without a worker; `slow`: others whose oldest job
    has waited longer than QUEUE_SLOW_MINUTES."""

    at: datetime
    storage: Storage
    queues: tuple[Queue, ...]
    overdue: int
    broker: bool | None
    unapplied: tuple[str, ...]
    versions: dict[str, str]
    workers: tuple[Worker, ...]
    silent: tuple[str, ...]
    ill: tuple[Worker, ...]
    last_backup: datetime | None
    stuck: tuple[str, ...]
    slow: tuple[str, ...]

    @property
    def mark(self) -> str:
        """A digest that changes when the page does, at least every minute, since ages grow."""
        sizes = self.storage.free // 2**20, self.storage.database_size // 2**20, self.storage.files
        moment = self.at.replace(second=0, microsecond=0)
        names = [worker.name for worker in self.workers]
        ill = [worker.name for worker in self.ill]
        state = self.overdue, self.broker, self.unapplied, names, self.silent, ill, self.slow
        content = moment, sizes, self.queues, state
        return hashlib.sha256(repr(content).encode()).hexdigest()[:16]

    @property
    def well(self) -> bool:
        waiting = self.stuck or self.slow or self.silent or self.ill or self.overdue
        failed = any(queue.failed for queue in self.queues) or self.broker is False
        return not (waiting or failed or self.unapplied or self.storage.little_space)


def health(*, now: datetime | None = None) -> Health:
    """The current health. Expensive counts are refreshed every five minutes."""
    now = now or timezone.now()
    queues = tuple(_queues(now))
    stuck = tuple(queue.kind for queue in queues if queue.stuck(now))
    known_workers = tuple(Worker.objects.order_by("queue", "-seen_at", "pk"))
    return Health(
        at=now,
        storage=storage(),
        queues=queues,
        # The worker of queue `default` returns expired leases within seconds.
        overdue=Slot.objects.filter(state=SlotState.LEASED, lease_expires_at__lt=now - LONG).count(),
        broker=broker_answers(),
        unapplied=unapplied_migrations(),
        versions={
            "Visage": code_version(),
            "Python": platform.python_version(),
            "Django": django.get_version(),
        },
        workers=known_workers,
        silent=tuple(
            each.name
            for each in known_workers
            if each.ill_at is None and now - each.seen_at > workers.SILENT_AFTER
        ),
        ill=tuple(each for each in known_workers if each.ill_at and now - each.ill_at < ILL_FOR),
        last_backup=metric_queries.last_backup(),
        stuck=stuck,
        slow=tuple(kind for kind in _slow(queues, now) if kind not in stuck),
    )


def _slow(queues: tuple[Queue, ...], now: datetime) -> tuple[str, ...]:
    """The queues whose jobs wait for long. Those of runs that were paused wait since they were resumed."""
    resumed = {
        queue.kind
        for queue in queues
        if queue.kind == "generation" and queue.oldest and now - queue.oldest <= _slow_after()
    }
    return tuple(kind for kind in queue_queries.slow(now) if kind not in resumed)


def _slow_after() -> timedelta:
    return timedelta(minutes=settings.QUEUE_SLOW_MINUTES)


def _waits_since(now: datetime) -> datetime | None:
    """Since when the oldest run with pending jobs waits: since it was started, or last resumed or retried."""
    pending = Job.objects.filter(run=OuterRef("pk"), state=JobState.PENDING)
    waiting = Run.objects.filter(Exists(pending), state=RunState.RUNNING)
    started = dict(waiting.values_list("pk", "started_at"))
    resumed = run_queries.resumed_since(now - max(LONG, _slow_after())) if started else {}
    return min((resumed.get(run, at) for run, at in started.items() if at is not None), default=None)


def _queues(now: datetime) -> Iterator[Queue]:
    running = Q(run__state=RunState.RUNNING)
    generation = _queue(
        "generation",
        Job.objects.select_related("run__image_set").filter(
            running | Q(state="failed") & ~Q(run__state=RunState.CANCELLED)
        ),
        lambda job: Failure(job.pk, str(job.run), job.error, job.finished_at, run=job.run_id),
        since="run__started_at",
        lease=lease_length(),
    )
    long = generation.oldest is not None and now - generation.oldest > LONG
    yield replace(generation, oldest=_waits_since(now)) if long else generation
    yield _queue(
        "scores",
        ScoreRun.objects.select_related("study"),
        lambda run: Failure(run.pk, run.metric, run.error, run.finished_at, study=run.study.name),
        lease=lease_length(),
    )
    yield _queue(
        "candidates",
        CandidateList.objects.select_related("run"),
        lambda found: Failure(found.pk, str(found.run), found.error, found.finished_at, run=found.run_id),
        lease=lease_length(),
    )
    yield _queue(
        "associations",
        AssociationList.objects.select_related("run"),
        lambda found: Failure(found.pk, str(found.run), found.error, found.finished_at, run=found.run_id),
        lease=lease_length(),
    )
    yield _queue(
        "exports",
        ExportJob.objects.select_related("study"),
        lambda job: Failure(job.pk, job.format, job.error, job.finished_at, study=job.study.name),
    )
    yield _queue(
        "imports",
        import_jobs.without_refused(),
        lambda job: Failure(job.pk, job.get_kind_display(), job.error, job.finished_at),
        lease=lease_length(),
    )
    yield _queue(
        "deliveries",
        Delivery.objects.select_related("webhook__study").filter(webhook__disabled_at__isnull=True),
        lambda sent: Failure(sent.pk, sent.event, sent.error, sent.finished_at, sent.webhook.study.name),
    )


def _queue(
    kind: str,
    rows: QuerySet[Any],
    failure: Callable[[Any], Failure],
    *,
    since: str = "created_at",
    lease: timedelta = timedelta(),
) -> Queue:
    """`lease`: how long a claim lasts after the last sign of its worker; zero if unknown."""
    failed = rows.filter(state="failed").order_by(F("finished_at").desc(nulls_last=True), "-pk")
    counted = rows.filter(state__in=("pending", "claimed", "failed")).order_by().values_list("state")
    number = dict(counted.annotate(number=Count("pk")))
    waiting = rows.filter(state="pending").aggregate(oldest=Min(since))
    renewed = rows.filter(state="claimed").aggregate(until=Max("lease_expires_at"))["until"]
    # of all, since the page counts no jobs of finished runs
    finished = rows.model.objects.aggregate(last=Max("finished_at"))["last"]
    moments = [renewed - lease if renewed else None, finished]
    return Queue(
        kind=kind,
        waiting=number.get("pending", 0),
        claimed=number.get("claimed", 0),
        failed=number.get("failed", 0),
        oldest=waiting["oldest"],
        heard=max((moment for moment in moments if moment is not None), default=None),
        failures=tuple(map(failure, failed[:FAILED_SHOWN])),
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
