"""Tell a sick worker from a bad run, and a bad run from bad jobs.

Failing is fastest, so a worker whose device is broken would take the jobs of all others and fail them. A
worker is ill if its device fails, or if whole batches of new jobs fail in a row. It returns its jobs without
counting the attempt and ends: a new process may be well, and other workers do the jobs meanwhile.
"""

import logging
from collections.abc import Iterable
from datetime import datetime

from django.db.models import Max
from django.utils import timezone

from annotation.core.leases import JobState
from generation.jobs.services import claims, workers
from generation.jobs.services.batches import Batch
from generation.models import Job, Run, Worker

log = logging.getLogger(__name__)

BATCHES_IN_A_ROW = 3
"""So many batches in a row of which the model failed every job make a worker suspect."""
_WORKERS_IN_A_ROW = 3
"""A run pauses when so many workers in a row fell ill on it."""


class WorkerIll(Exception):
    """This worker cannot do any job, and the process must end. The message is the error."""


def give_back(failed: Iterable[Batch], error: str) -> None:
    """Return the jobs of the batches that failed without counting the attempt: the worker is to blame.

    The attempt counts for a job that was returned so before: if it is to blame itself, it must end as failed.
    """
    for batch in failed:
        again = {job.pk: error for job in batch.claim.jobs if job.error}
        batch.claim.fail(again)
        first = [job.pk for job in batch.claim.jobs if job.pk not in again]
        batch.claim.release(first, error=error, not_before=timezone.now())


def judge(run: Run, error: str, *, device: bool) -> None:
    """Decide what is to blame for jobs that were given back. Raises WorkerIll, unless it is the run alone.

    `device`: whether the device failed. Else every job of several batches failed, which may be the run's
    fault: it is if nothing of it was ever made and nobody else can try.
    """
    last = _last_done(run)
    if not device and last is None and not workers.others().exists():
        claims.pause_run(run_id=run.pk, error=f"Every job fails. {error}")
        return
    ill = Worker.objects.filter(run=run, ill_at__gt=last or run.started_at)
    workers.note_illness(run, error)
    if ill.count() >= _WORKERS_IN_A_ROW:
        claims.pause_run(
            run_id=run.pk,
            error=f"{_WORKERS_IN_A_ROW} workers in a row failed while they worked on this run. {error}",
        )
    raise WorkerIll(error)


def _last_done(run: Run) -> datetime | None:
    done = Job.objects.filter(run=run, state=JobState.DONE).aggregate(last=Max("finished_at"))
    found: datetime | None = done["last"]
    return found
