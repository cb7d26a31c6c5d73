"""Claim the jobs of a run, and end the run when none is left (docs/adr/0007-generation.md)."""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from annotation import events
from annotation.core.leases import OPEN, Claim, JobState, Leases, lease_length, locked
from annotation.models import Study
from generation.jobs.services.budget import Budget
from generation.models import Job, Run, RunState


def _pause(attempt: int) -> timedelta:
    return timedelta(seconds=settings.JOB_RETRY_SECONDS * 2 ** (attempt - 1))


ENOUGH_FAILURES = 10
"""A run pauses when at least so many jobs fail, or all of a smaller run, and more than were done."""
_HELD_AT_ONCE = 2000
JOBS = Leases(Job, pause=_pause, related=("image__provenance",))


def claim(
    *,
    run_id: int,
    limit: int,
    worker: str,
    leave_own: bool = False,
    budget: Budget | None = None,
    key: UUID | None = None,
    now: datetime | None = None,
) -> Claim[Job] | None:
    """Lease up to `limit` jobs of a running run to `worker`; None if nothing can be claimed now.

    `leave_own`: leave jobs that failed here to other workers, for the length of a lease. `budget`: claim only
    what the run's limits leave room for; several workers wait for each other then. `key`: as in Leases.claim.
    """
    now = now or timezone.now()
    with transaction.atomic():
        running = Run.objects.filter(pk=run_id, state=RunState.RUNNING)
        if budget is not None and budget.is_limited():
            running = running.select_for_update(no_key=True)
            limit = min([limit, *(budget.room(run) for run in running)])
        if limit < 1 or not running.exists():
            return None
        jobs = Job.objects.filter(run_id=run_id).order_by("pk")
        if leave_own:
            jobs = jobs.exclude(not_before__gt=now - lease_length(), worker=worker[:200])
        return JOBS.claim(jobs, limit=limit, now=now, key=key, worker=worker[:200])


def claimable_jobs(now: datetime | None = None) -> QuerySet[Job]:
    """The jobs of running runs that a worker could claim now."""
    return JOBS.claimable(now).filter(run__state=RunState.RUNNING)


def open_jobs() -> QuerySet[Job]:
    """Jobs that are neither done nor failed."""
    return Job.objects.filter(state__in=OPEN)


def close_run(*, run_id: int, now: datetime | None = None) -> bool:
    """Mark a running run as done if it has no open job left; returns whether it did."""
    with transaction.atomic():
        # Adding jobs locks this row too, so none can be added between the check and the update.
        running = Run.objects.select_for_update(no_key=True).filter(pk=run_id, state=RunState.RUNNING).first()
        if running is None or open_jobs().filter(run_id=run_id).exists():
            return False
        ended = Run.objects.filter(pk=run_id, state=RunState.RUNNING).update(
            state=RunState.DONE, error="", finished_at=now or timezone.now()
        )
        if ended:
            _announce(running)
        return ended == 1


def pause_run(*, run_id: int, error: str) -> bool:
    """Pause a running run because of an error that a person has to fix; returns whether it was running."""
    paused = Run.objects.filter(pk=run_id, state=RunState.RUNNING).update(state=RunState.PAUSED, error=error)
    return paused == 1


def hold_back(*, run_id: int, until: datetime) -> None:
    """Have nobody claim a pending job of the run before `until`. A few at a time: people who answer must not
    wait for it."""
    early = Q(not_before__isnull=True) | Q(not_before__lt=until)
    pending = Job.objects.filter(early, run_id=run_id, state=JobState.PENDING).order_by("pk")
    last = 0
    while True:
        with transaction.atomic():
            ids = locked(pending.filter(pk__gt=last), _HELD_AT_ONCE)
            Job.objects.filter(pk__in=ids).update(not_before=until)
        if not ids:
            return
        last = ids[-1]


def mostly_fails(run_id: int) -> str:
    """Why a run should pause although jobs are left: most of those that were tried fail. Empty if they do
    not, or if there are too few to tell."""
    jobs = Job.objects.filter(run_id=run_id)
    failing = ~Q(error="") & (Q(state=JobState.FAILED) | Q(state=JobState.PENDING, attempts__gt=0))
    counts = jobs.aggregate(
        all=Count("pk"),
        failing=Count("pk", filter=failing),
        done=Count("pk", filter=Q(state=JobState.DONE)),
    )
    enough = max(1, min(ENOUGH_FAILURES, counts["all"]))
    if counts["failing"] < enough or counts["failing"] <= counts["done"]:
        return ""
    example = jobs.filter(failing).order_by("pk").values_list("error", flat=True).first()
    tried = counts["failing"] + counts["done"]
    return (
        f"Most jobs fail: {counts['failing']:,} of {tried:,} so far. The first error: {example} Fix the "
        "cause, or cancel the run. Once resumed, it does not pause for this again."
    )


def pause_if_most_fail(run_id: int) -> bool:
    """Pause a running run of which most jobs fail, unless somebody accepted that; returns whether it did."""
    run = Run.objects.filter(pk=run_id, state=RunState.RUNNING, failures_accepted=False)
    reason = mostly_fails(run_id) if run.exists() else ""
    return reason != "" and pause_run(run_id=run_id, error=reason)


def _announce(run: Run) -> None:
    """Announce to the webhooks of every study that shows the run's images; that of a run which is about the
    items of one study (`design["study"]`), to this one only."""
    own = (run.recipe.get("design") or {}).get("study")
    if run.image_set_id is None and own is None:
        return
    failed = Job.objects.filter(run=run, state=JobState.FAILED).count()
    data = {"run": run.pk, "kind": run.kind, "image_set": run.image_set_id, "failed_jobs": failed}
    shows = Study.objects.filter(tasks__image_set=run.image_set_id).distinct()
    for study in Study.objects.filter(name=own) if own else shows:
        events.announce(study_id=study.pk, event="run.finished", data=data)
