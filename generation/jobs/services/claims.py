"""Who does what next: claiming, renewing, failing and giving back jobs (docs/adr/0007-generation.md).

Every change asks whether the jobs are still under the claim's key. A worker that overslept its lease finds
another key there: what it says of them is not heard.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotation import events
from annotation.models import Study
from generation.models import Job, JobState, Run, RunState

JOB_TRIES = 3
_OPEN = (JobState.PENDING, JobState.CLAIMED)


@dataclass(frozen=True)
class Claimed:
    """Jobs of one run that are one worker's until their lease is over, in the order of their ids."""

    key: UUID
    run_id: int
    jobs: tuple[Job, ...]

    def rows(self, ids: Collection[int] | None = None) -> QuerySet[Job]:
        """These jobs, or those of `ids`, as far as they are still under the key."""
        mine = [job.pk for job in self.jobs] if ids is None else ids
        return Job.objects.filter(pk__in=mine, claim=self.key, state=JobState.CLAIMED)


def claim(*, run_id: int, limit: int, worker: str, now: datetime | None = None) -> Claimed | None:
    """Up to `limit` jobs of a running run, leased to `worker`; None if there is nothing to do just now.

    The try is counted here, before it begins. A job that was tried before comes alone and last: if it was
    what killed its worker, it takes no other with it.
    """
    now = now or timezone.now()
    with transaction.atomic():
        if not Run.objects.filter(pk=run_id, state=RunState.RUNNING).exists():
            return None
        _give_up(run_id, now)
        ids = _free(run_id, limit, now)
        if not ids:
            return None
        key = uuid4()
        Job.objects.filter(pk__in=ids).update(
            state=JobState.CLAIMED,
            claim=key,
            lease_expires_at=now + lease(),
            attempts=F("attempts") + 1,
            worker=worker[:200],
            not_before=None,
        )
        found = Job.objects.filter(pk__in=ids).select_related("image__provenance").order_by("pk")
        return Claimed(key, run_id, tuple(found))


def lease() -> timedelta:
    """How long a worker may be silent before its jobs are somebody else's."""
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


def renew(claimed: Claimed, *, now: datetime | None = None) -> int:
    """Put the end of the lease off; returns of how many jobs. What is just being completed is passed over:
    the thread that does so must not wait for this one."""
    with transaction.atomic():
        ids = _locked(claimed.rows(), len(claimed.jobs))
        until = (now or timezone.now()) + lease()
        return Job.objects.filter(pk__in=ids).update(lease_expires_at=until)


def fail(claimed: Claimed, errors: Mapping[int, str], *, now: datetime | None = None) -> None:
    """Put jobs back for another try after a pause that doubles; park those whose third try this was.

    `errors`: id of a job -> what went wrong, shown to people. Close the run afterwards (`close`).
    """
    now = now or timezone.now()
    tried = {job.pk: job.attempts for job in claimed.jobs}
    alike: dict[tuple[int, str], list[int]] = {}
    for pk, error in errors.items():
        alike.setdefault((tried[pk], error), []).append(pk)
    with transaction.atomic():
        for (attempts, error), ids in sorted(alike.items()):
            last = attempts >= JOB_TRIES
            pause = timedelta(seconds=settings.JOB_RETRY_SECONDS * 2 ** (attempts - 1))
            claimed.rows(ids).update(
                state=JobState.FAILED if last else JobState.PENDING,
                claim=None,
                lease_expires_at=None,
                not_before=None if last else now + pause,
                error=error or "It failed and did not say why.",
                finished_at=now if last else None,
            )


def give_back(
    claimed: Claimed,
    *,
    ids: Collection[int] | None = None,
    error: str = "",
    not_before: datetime | None = None,
) -> int:
    """Put jobs back as if they had not been tried, all or those of `ids`; returns how many went back."""
    return claimed.rows(ids).update(
        state=JobState.PENDING,
        claim=None,
        lease_expires_at=None,
        attempts=F("attempts") - 1,
        error=error,
        not_before=not_before,
    )


def claimable(now: datetime | None = None) -> QuerySet[Job]:
    """The jobs of running runs that somebody could claim now."""
    now = now or timezone.now()
    return Job.objects.filter(
        Q(state=JobState.PENDING) & _rested(now) | Q(state=JobState.CLAIMED, lease_expires_at__lt=now),
        run__state=RunState.RUNNING,
    )


def open_jobs() -> QuerySet[Job]:
    """The jobs that nothing has come of yet."""
    return Job.objects.filter(state__in=_OPEN)


def close(*, run_id: int, now: datetime | None = None) -> bool:
    """End a running run that has no open job left; says whether it ended now."""
    with transaction.atomic():
        # Whoever adds jobs holds this row, so that none comes between the look and the change.
        running = Run.objects.select_for_update(no_key=True).filter(pk=run_id, state=RunState.RUNNING).first()
        if running is None or open_jobs().filter(run_id=run_id).exists():
            return False
        ended = Run.objects.filter(pk=run_id, state=RunState.RUNNING).update(
            state=RunState.DONE, finished_at=now or timezone.now()
        )
        if ended:
            _announce(running)
        return ended == 1


def stop(*, run_id: int, error: str) -> bool:
    """Pause a running run for what a person has to mend; says whether it was running."""
    stopped = Run.objects.filter(pk=run_id, state=RunState.RUNNING).update(state=RunState.PAUSED, error=error)
    return stopped == 1


def _announce(run: Run) -> None:
    """Tell the webhooks of every study that shows the run's images."""
    failed = Job.objects.filter(run=run, state=JobState.FAILED).count()
    data = {"run": run.pk, "kind": run.kind, "image_set": run.image_set_id, "failed_jobs": failed}
    for study in Study.objects.filter(tasks__image_set=run.image_set_id).distinct():
        events.announce(study_id=study.pk, event="run.finished", data=data)


def _rested(now: datetime) -> Q:
    return Q(not_before__isnull=True) | Q(not_before__lte=now)


def _free(run_id: int, limit: int, now: datetime) -> list[int]:
    """Ids of jobs to take: new ones, else one that was tried before."""
    pending = Job.objects.filter(_rested(now), run_id=run_id, state=JobState.PENDING)
    silent = Job.objects.filter(run_id=run_id, state=JobState.CLAIMED, lease_expires_at__lt=now)
    return (
        _locked(pending.filter(attempts=0), limit)
        or _locked(silent, 1)
        or _locked(pending.filter(attempts__gt=0), 1)
    )


def _give_up(run_id: int, now: datetime) -> None:
    """Park jobs whose last try ended without a word: whoever had them was killed."""
    silent = Job.objects.filter(
        run_id=run_id, state=JobState.CLAIMED, lease_expires_at__lt=now, attempts__gte=JOB_TRIES
    )
    ids = _locked(silent, 100)
    if ids:
        Job.objects.filter(pk__in=ids).update(
            state=JobState.FAILED,
            claim=None,
            lease_expires_at=None,
            finished_at=now,
            error=f"{JOB_TRIES} workers took it and none came back. Look for a killed worker, then retry.",
        )


def _locked(rows: QuerySet[Job], limit: int) -> list[int]:
    # What another worker is changing is passed over: nobody waits for somebody who waits for them.
    found = rows.select_for_update(skip_locked=True).order_by("pk").values_list("pk", flat=True)
    return list(found[:limit])


__all__ = [
    "JOB_TRIES",
    "Claimed",
    "claim",
    "claimable",
    "close",
    "fail",
    "give_back",
    "lease",
    "open_jobs",
    "renew",
    "stop",
]
