"""Claim the jobs of a run, and end the run when none is left (docs/adr/0007-generation.md)."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation import events
from annotation.core.leases import OPEN, Claim, JobState, Leases
from annotation.models import Study
from generation.models import Job, Run, RunState


def _pause(attempt: int) -> timedelta:
    return timedelta(seconds=settings.JOB_RETRY_SECONDS * 2 ** (attempt - 1))


JOBS = Leases(Job, pause=_pause, related=("image__provenance",))


def claim(*, run_id: int, limit: int, worker: str, now: datetime | None = None) -> Claim[Job] | None:
    """Lease up to `limit` jobs of a running run to `worker`; None if nothing can be claimed now."""
    with transaction.atomic():
        if not Run.objects.filter(pk=run_id, state=RunState.RUNNING).exists():
            return None
        jobs = Job.objects.filter(run_id=run_id).order_by("pk")
        return JOBS.claim(jobs, limit=limit, now=now, worker=worker[:200])


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
            state=RunState.DONE, finished_at=now or timezone.now()
        )
        if ended:
            _announce(running)
        return ended == 1


def pause_run(*, run_id: int, error: str) -> bool:
    """Pause a running run because of an error that a person has to fix; returns whether it was running."""
    paused = Run.objects.filter(pk=run_id, state=RunState.RUNNING).update(state=RunState.PAUSED, error=error)
    return paused == 1


def _announce(run: Run) -> None:
    """Announce to the webhooks of every study that shows the run's images."""
    failed = Job.objects.filter(run=run, state=JobState.FAILED).count()
    data = {"run": run.pk, "kind": run.kind, "image_set": run.image_set_id, "failed_jobs": failed}
    for study in Study.objects.filter(tasks__image_set=run.image_set_id).distinct():
        events.announce(study_id=study.pk, event="run.finished", data=data)
