"""Jobs that workers claim for a limited time: those of runs, score runs, exports and webhook messages.

    pending -> claimed -> done | pending again | failed

The row decides; a message of Celery only wakes a worker. One conditional update claims a job and counts the
attempt before it begins, so a job that kills its workers ends as failed. Every later update checks that the
row still carries the claim's key: a worker whose lease has expired finds another key and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotation.core.heartbeat import PeriodicThread

_ABANDONED = "%s workers claimed it and none finished. Look for a killed worker, then retry."
_ABANDONED_AT_ONCE = 100


class JobState(models.TextChoices):
    """pending -> claimed -> done | pending again | failed (after the last attempt)."""

    PENDING = "pending"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"


OPEN = (JobState.PENDING, JobState.CLAIMED)
"""The states of jobs that are neither done nor failed."""


class LeasedJob(models.Model):
    """The columns that claiming needs. `attempts` counts those that began."""

    state = models.CharField(max_length=8, choices=JobState, default=JobState.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    claim = models.UUIDField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True, help_text="Not tried again before then.")
    error = models.TextField(blank=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


CLAIM_IFF_CLAIMED = Q(state=JobState.CLAIMED, claim__isnull=False, lease_expires_at__isnull=False) | (
    ~Q(state=JobState.CLAIMED) & Q(claim__isnull=True, lease_expires_at__isnull=True)
)
"""For a constraint of each table."""

T = TypeVar("T", bound=LeasedJob)
_NOT_CLAIMED: Mapping[str, Any] = {"claim": None, "lease_expires_at": None}


def lease_length() -> timedelta:
    """How long a worker may be silent before others can claim its jobs."""
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


@dataclass(frozen=True)
class Leases(Generic[T]):
    """How the jobs of one table are claimed.

    `pause`: how long a job waits after its first, second ... failed attempt. `related`: what is read with a
    claimed job, as for `select_related`. `length`: of a lease. `abandoned`: the error of a job whose worker
    was killed during the last attempt.
    """

    table: type[T]
    tries: int = 3
    pause: Callable[[int], timedelta] = lambda attempt: timedelta()
    related: tuple[str, ...] = ()
    length: Callable[[], timedelta] = lease_length
    abandoned: str = ""

    def claimable(self, now: datetime | None = None) -> QuerySet[T]:
        """The jobs that a worker could claim now."""
        now = now or timezone.now()
        return self._rows(_pending(now) | _expired(now))

    def claim(
        self,
        jobs: QuerySet[T],
        *,
        limit: int = 1,
        now: datetime | None = None,
        key: UUID | None = None,
        **values: Any,
    ) -> Claim[T] | None:
        """Claim up to `limit` of `jobs`, in their order; None if none can be claimed now.

        A job that was tried before is claimed last and alone: if it kills its worker, no other job is lost
        with it. `key`: of other jobs of the same worker, which it completes together with these. `values`:
        other columns to set.
        """
        now = now or timezone.now()
        with transaction.atomic(savepoint=False):
            self._fail_abandoned(jobs, now)
            pending, expired = jobs.filter(_pending(now)), jobs.filter(_expired(now))
            ids = (
                locked(pending.filter(attempts=0), limit)
                or locked(expired, 1)
                or locked(pending.filter(attempts__gt=0), 1)
            )
            if not ids:
                return None
            key = key or uuid4()
            self._rows(Q(pk__in=ids)).update(
                state=JobState.CLAIMED,
                claim=key,
                lease_expires_at=now + self.length(),
                attempts=F("attempts") + 1,
                not_before=None,
                **values,
            )
            found = self._rows(Q(pk__in=ids)).select_related(*self.related).order_by("pk")
            return Claim(key, tuple(found), self)

    def _fail_abandoned(self, jobs: QuerySet[T], now: datetime) -> None:
        """Mark jobs as failed whose worker was killed during their last attempt."""
        abandoned = jobs.filter(_expired(now), attempts__gte=self.tries)
        if ids := locked(abandoned, _ABANDONED_AT_ONCE):
            self._rows(Q(pk__in=ids)).update(
                state=JobState.FAILED,
                **_NOT_CLAIMED,
                finished_at=now,
                error=self.abandoned or _ABANDONED % self.tries,
            )

    def _rows(self, condition: Q) -> QuerySet[T]:
        rows: QuerySet[T] = self.table._default_manager.filter(condition)
        return rows


@dataclass(frozen=True)
class Claim(Generic[T]):
    """Jobs that one worker holds until the lease expires, ordered by id, as they were when claimed."""

    key: UUID
    jobs: tuple[T, ...]
    leases: Leases[T]

    def held(self, ids: Collection[int] | None = None) -> QuerySet[T]:
        """These jobs, or those of `ids`, if they still carry the key."""
        pks = [job.pk for job in self.jobs] if ids is None else ids
        return self.leases._rows(Q(pk__in=pks, claim=self.key, state=JobState.CLAIMED))

    def renew(self, *, now: datetime | None = None, **values: Any) -> int:
        """Extend the lease; returns of how many jobs. Skips rows that another thread is completing: neither
        must wait for the other."""
        with transaction.atomic():
            ids = locked(self.held().order_by("pk"), len(self.jobs))
            until = (now or timezone.now()) + self.leases.length()
            return self.leases._rows(Q(pk__in=ids)).update(lease_expires_at=until, **values)

    def finish(
        self, ids: Collection[int] | None = None, *, now: datetime | None = None, **values: Any
    ) -> int:
        """Mark jobs as done; returns how many the claim still held."""
        now = now or timezone.now()
        return self.held(ids).update(
            state=JobState.DONE, **_NOT_CLAIMED, finished_at=now, **{"error": "", **values}
        )

    def fail(
        self,
        errors: Mapping[int, str],
        *,
        now: datetime | None = None,
        final: bool = False,
        **values: Any,
    ) -> int:
        """Schedule another attempt, or mark the jobs as failed: after the last attempt, or if it is `final`.
        Returns how many are failed now.

        `errors`: job id -> what went wrong, shown to people.
        """
        now = now or timezone.now()
        attempts_of = {job.pk: job.attempts for job in self.jobs}
        groups: dict[tuple[int, str], list[int]] = {}
        for pk, error in errors.items():
            groups.setdefault((attempts_of[pk], error), []).append(pk)
        failed = 0
        with transaction.atomic():
            for (attempts, error), ids in sorted(groups.items()):
                last = final or attempts >= self.leases.tries
                changed = self.held(ids).update(
                    state=JobState.FAILED if last else JobState.PENDING,
                    **_NOT_CLAIMED,
                    not_before=None if last else now + self.leases.pause(attempts),
                    error=error or "It failed without an error message.",
                    finished_at=now if last else None,
                    **values,
                )
                failed += changed if last else 0
        return failed

    def release(
        self,
        ids: Collection[int] | None = None,
        *,
        error: str = "",
        not_before: datetime | None = None,
    ) -> int:
        """Return all jobs, or those of `ids`, without counting the attempt; returns how many."""
        return self.held(ids).update(
            state=JobState.PENDING,
            **_NOT_CLAIMED,
            attempts=F("attempts") - 1,
            error=error,
            not_before=not_before,
        )


class Heartbeat(PeriodicThread):
    """A thread that renews claims while their jobs are being done, three times per lease or `every` seconds.

    `values`: columns that each renewal also sets, such as the progress.
    """

    def __init__(
        self,
        *claims: Claim[Any],
        every: float | None = None,
        values: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self._claims = {claim.key: claim for claim in claims}
        self._values = values
        self.lost = False
        """Whether another worker has a job of these claims, or it was deleted."""
        third = lease_length().total_seconds() / 3
        super().__init__(self._renew, every=lambda: min(third, every or third), name="heartbeat")

    def add(self, claim: Claim[Any]) -> None:
        self._claims[claim.key] = claim

    def remove(self, claim: Claim[Any]) -> None:
        self._claims.pop(claim.key, None)

    def _renew(self) -> bool:
        for claim in list(self._claims.values()):
            # Nothing is renewed either while the job is being completed.
            if not claim.renew(**self._values()) and not claim.held().exists():
                self.lost = True
        return True


def locked(jobs: QuerySet[Any], limit: int) -> list[int]:
    """The ids of the first `limit` jobs, locked. Skips rows that another worker has locked, so that no two
    workers wait for each other."""
    found = jobs.select_for_update(skip_locked=True).values_list("pk", flat=True)
    return list(found[:limit])


def _pending(now: datetime) -> Q:
    return Q(Q(not_before__isnull=True) | Q(not_before__lte=now), state=JobState.PENDING)


def _expired(now: datetime) -> Q:
    return Q(state=JobState.CLAIMED, lease_expires_at__lt=now)
