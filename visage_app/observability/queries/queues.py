"""The load of each queue: how many jobs wait, for how long, and how fast they finish.

`/metrics` and `/readyz` run these queries often, so none reads a large table: each uses an index with few
rows or stops counting at CAP.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, Expression, F, Min, OuterRef, QuerySet
from django.db.models.functions import Coalesce, Greatest

from annotation.core.leases import JobState
from annotation.exports.services import jobs as export_jobs
from annotation.imports.services import jobs as import_jobs
from annotation.models import Delivery, ExportJob
from annotation.webhooks.services import deliveries
from generation.jobs.services import claims
from generation.models import Job, Run, RunState
from metrics.associations.services import lists as association_lists
from metrics.candidates.services import lists as candidate_lists
from metrics.models import AssociationList, CandidateList, ScoreRun
from metrics.score_runs import services as score_runs

CAP = 10_000
"""Counting stops here."""
RECENT = timedelta(minutes=5)


@dataclass(frozen=True)
class QueueLoad:
    """One queue. `waiting`: jobs that could start now; `claimed`: jobs in progress; `done`: finished within
    RECENT. `age`: how many seconds the oldest job has waited; 0 if none waits."""

    waiting: int
    claimed: int
    failed: int
    done: int
    age: float


def ages(now: datetime) -> dict[str, float]:
    """Queue -> how many seconds its oldest job has waited; 0 if none waits.

    Jobs that pause before another attempt, and jobs of paused runs, do not count as waiting. The images of a
    run wait for each other, so for runs it is the time in which no worker processed any of them.
    """
    due = Greatest(F("created_at"), Coalesce(F("not_before"), F("created_at")))
    since = {
        "scores": _oldest(score_runs.waiting(now), F("created_at")),
        "exports": _oldest(export_jobs.claimable(now), F("created_at")),
        "candidates": _oldest(candidate_lists.waiting(now), due),
        "associations": _oldest(association_lists.waiting(now), due),
        "imports": _oldest(import_jobs.claimable(now), due),
        "deliveries": _oldest(deliveries.due(now), due),
        "generation": _runs_untouched_since(now),
    }
    return {kind: max(0.0, (now - at).total_seconds()) if at else 0.0 for kind, at in since.items()}


def slow(now: datetime) -> tuple[str, ...]:
    """The queues whose oldest job has waited longer than QUEUE_SLOW_MINUTES."""
    return tuple(kind for kind, age in ages(now).items() if age > settings.QUEUE_SLOW_MINUTES * 60)


def loads(now: datetime) -> dict[str, QueueLoad]:
    """Queue -> its load."""
    waited = ages(now)
    # queue -> its rows, and its jobs that could start
    sources: dict[str, tuple[QuerySet[Any], QuerySet[Any]]] = {
        "scores": (ScoreRun.objects.all(), score_runs.waiting(now)),
        "exports": (ExportJob.objects.all(), export_jobs.claimable(now)),
        "candidates": (CandidateList.objects.all(), candidate_lists.waiting(now)),
        "associations": (AssociationList.objects.all(), association_lists.waiting(now)),
        "imports": (import_jobs.without_refused(), import_jobs.claimable(now)),
        "deliveries": (Delivery.objects.all(), deliveries.due(now)),
        "generation": (Job.objects.all(), claims.claimable_jobs(now)),
    }
    return {
        kind: QueueLoad(
            waiting=_counted(_open(waiting)),
            claimed=_counted(_open(rows).filter(state="claimed", lease_expires_at__gte=now)),
            failed=_counted(rows.filter(state="failed")),
            done=_counted(rows.filter(state="done", finished_at__gte=now - RECENT)),
            age=waited[kind],
        )
        for kind, (rows, waiting) in sources.items()
    }


def _counted(rows: QuerySet[Any]) -> int:
    return rows.order_by().values("pk")[:CAP].count()


def _oldest(waiting: QuerySet[Any], since: Expression | F) -> datetime | None:
    found: datetime | None = _open(waiting).order_by().aggregate(at=Min(since))["at"]
    return found


def _open(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The same rows, filtered so that the partial index of unfinished jobs is used."""
    return rows.filter(state__in=("pending", "claimed"))


def _runs_untouched_since(now: datetime) -> datetime | None:
    """Since when no worker has processed a run that has jobs to do; None while one does."""
    job = Job.objects.filter(run=OuterRef("pk"))
    held = Exists(job.filter(state=JobState.CLAIMED, lease_expires_at__gte=now))
    ready = Exists(claims.claimable_jobs(now).filter(run=OuterRef("pk")))
    running = list(
        Run.objects.filter(state=RunState.RUNNING)
        .annotate(held=held, ready=ready)
        .values_list("started_at", "held", "ready")
    )
    finished = Job.objects.filter(finished_at__isnull=False).order_by("-finished_at")
    last = finished.values_list("finished_at", flat=True).first()
    starts = [started for started, _, ready in running if ready and started is not None]
    if not starts or any(held for _, held, _ in running):
        return None
    return max(min(starts), last) if last is not None else min(starts)
