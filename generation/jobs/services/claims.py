"""Claim, renew, fail and release jobs (docs/adr/0007-generation.md).

Every update checks that the jobs still carry the claim's key. A worker whose lease has expired finds another
key, and its updates change nothing.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotation import events
from annotation.core.heartbeat import PeriodicThread
from annotation.models import Study
from generation.models import Job, JobState, Run, RunState

JOB_TRIES = 3
_OPEN = (JobState.PENDING, JobState.CLAIMED)


@dataclass(frozen=True)
class Claim:
    """Jobs of one run that one worker holds until the lease expires, ordered by id."""

    key: UUID
    run_id: int
    jobs: tuple[Job, ...]

    def rows(self, ids: Collection[int] | None = None) -> QuerySet[Job]:
        """These jobs, or those of `ids`, if they still carry the key."""
        pks = [job.pk for job in self.jobs] if ids is None else ids
        return Job.objects.filter(pk__in=pks, claim=self.key, state=JobState.CLAIMED)


def claim(*, run_id: int, limit: int, worker: str, now: datetime | None = None) -> Claim | None:
    """Lease up to `limit` jobs of a running run to `worker`; None if nothing can be claimed now.

    The attempt is counted before it begins. A job that was tried before is claimed last and alone: if it
    kills its worker, no other job is lost with it.
    """
    now = now or timezone.now()
    with transaction.atomic():
        if not Run.objects.filter(pk=run_id, state=RunState.RUNNING).exists():
            return None
        _fail_abandoned(run_id, now)
        ids = _claimable_ids(run_id, limit, now)
        if not ids:
            return None
        key = uuid4()
        Job.objects.filter(pk__in=ids).update(
            state=JobState.CLAIMED,
            claim=key,
            lease_expires_at=now + lease_length(),
            attempts=F("attempts") + 1,
            worker=worker[:200],
            not_before=None,
        )
        found = Job.objects.filter(pk__in=ids).select_related("image__provenance").order_by("pk")
        return Claim(key, run_id, tuple(found))


def lease_length() -> timedelta:
    """How long a worker may be silent before others can claim its jobs."""
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


def renew(claim: Claim, *, now: datetime | None = None) -> int:
    """Extend the lease; returns of how many jobs. Skips rows that are being completed: that thread must not
    wait for this one."""
    with transaction.atomic():
        ids = _locked(claim.rows(), len(claim.jobs))
        until = (now or timezone.now()) + lease_length()
        return Job.objects.filter(pk__in=ids).update(lease_expires_at=until)


class Heartbeat(PeriodicThread):
    """A thread that renews claims while their jobs are being done, three times per lease."""

    def __init__(self) -> None:
        self._claims: dict[UUID, Claim] = {}
        super().__init__(self._renew, every=lambda: lease_length().total_seconds() / 3, name="heartbeat")

    def add(self, claim: Claim) -> None:
        self._claims[claim.key] = claim

    def remove(self, claim: Claim) -> None:
        self._claims.pop(claim.key, None)

    def _renew(self) -> bool:
        for claim in list(self._claims.values()):
            renew(claim)
        return True


def fail(claim: Claim, errors: Mapping[int, str], *, now: datetime | None = None) -> None:
    """Schedule another attempt after a pause that doubles each time; after the third, the jobs stay failed.

    `errors`: job id -> what went wrong, shown to people. Call `close_run` afterwards.
    """
    now = now or timezone.now()
    attempts_of = {job.pk: job.attempts for job in claim.jobs}
    groups: dict[tuple[int, str], list[int]] = {}
    for pk, error in errors.items():
        groups.setdefault((attempts_of[pk], error), []).append(pk)
    with transaction.atomic():
        for (attempts, error), ids in sorted(groups.items()):
            last = attempts >= JOB_TRIES
            pause = timedelta(seconds=settings.JOB_RETRY_SECONDS * 2 ** (attempts - 1))
            claim.rows(ids).update(
                state=JobState.FAILED if last else JobState.PENDING,
                claim=None,
                lease_expires_at=None,
                not_before=None if last else now + pause,
                error=error or "It failed without an error message.",
                finished_at=now if last else None,
            )


def release(
    claim: Claim,
    *,
    ids: Collection[int] | None = None,
    error: str = "",
    not_before: datetime | None = None,
) -> int:
    """Return all jobs, or those of `ids`, without counting the attempt; returns how many were returned."""
    return claim.rows(ids).update(
        state=JobState.PENDING,
        claim=None,
        lease_expires_at=None,
        attempts=F("attempts") - 1,
        error=error,
        not_before=not_before,
    )


def claimable_jobs(now: datetime | None = None) -> QuerySet[Job]:
    """The jobs of running runs that a worker could claim now."""
    now = now or timezone.now()
    return Job.objects.filter(
        Q(state=JobState.PENDING) & _due(now) | Q(state=JobState.CLAIMED, lease_expires_at__lt=now),
        run__state=RunState.RUNNING,
    )


def open_jobs() -> QuerySet[Job]:
    """Jobs that are neither done nor failed."""
    return Job.objects.filter(state__in=_OPEN)


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


def _announce(run: Run) -> None:
    """Announce to the webhooks of every study that shows the run's images."""
    failed = Job.objects.filter(run=run, state=JobState.FAILED).count()
    data = {"run": run.pk, "kind": run.kind, "image_set": run.image_set_id, "failed_jobs": failed}
    for study in Study.objects.filter(tasks__image_set=run.image_set_id).distinct():
        events.announce(study_id=study.pk, event="run.finished", data=data)


def _due(now: datetime) -> Q:
    return Q(not_before__isnull=True) | Q(not_before__lte=now)


def _claimable_ids(run_id: int, limit: int, now: datetime) -> list[int]:
    """Ids of new jobs, else of one job that was tried before."""
    pending = Job.objects.filter(_due(now), run_id=run_id, state=JobState.PENDING)
    expired = Job.objects.filter(run_id=run_id, state=JobState.CLAIMED, lease_expires_at__lt=now)
    return (
        _locked(pending.filter(attempts=0), limit)
        or _locked(expired, 1)
        or _locked(pending.filter(attempts__gt=0), 1)
    )


def _fail_abandoned(run_id: int, now: datetime) -> None:
    """Mark jobs as failed whose worker was killed during their last attempt."""
    abandoned = Job.objects.filter(
        run_id=run_id, state=JobState.CLAIMED, lease_expires_at__lt=now, attempts__gte=JOB_TRIES
    )
    ids = _locked(abandoned, 100)
    if ids:
        Job.objects.filter(pk__in=ids).update(
            state=JobState.FAILED,
            claim=None,
            lease_expires_at=None,
            finished_at=now,
            error=f"{JOB_TRIES} workers claimed it and none finished. Look for a killed worker, then retry.",
        )


def _locked(rows: QuerySet[Job], limit: int) -> list[int]:
    # Skip rows that another worker has locked, so that no two workers wait for each other.
    found = rows.select_for_update(skip_locked=True).order_by("pk").values_list("pk", flat=True)
    return list(found[:limit])
