"""A study's progress: responses, pace and alerts. The page of a large study shows the last count and requests
a new one separately."""

import hashlib
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from django.core.cache import cache
from django.db.models import Count, Min, Q
from django.db.models.functions import TruncDate

from annotation.models import Response, Slot, SlotState, Study, StudyStatus, Task
from annotation.studies.queries.fill import enrolled_people
from metrics.core.studies import is_large
from metrics.dashboards.queries import alerts

DAYS = 14
# Annotators who answered this recently are shown as active.
AT_WORK = timedelta(minutes=15)
HOURS = (1, 24, 168)
"""The periods for which a pace is computed. All but the first are left out if they began before the first
answer."""
_REST_FACTOR = 20  # counting may take 1/20 of the time
_CACHE_SECONDS = 24 * 3600


@dataclass
class SlotCounts:
    """Slots by state; `wanted` is their sum, the target."""

    name: str
    filled: int = 0
    leased: int = 0
    open: int = 0

    @property
    def wanted(self) -> int:
        return self.filled + self.leased + self.open

    @property
    def percent(self) -> float:
        return 100 * self.filled / self.wanted if self.wanted else 0.0

    def add(self, state: str, number: int) -> None:
        setattr(self, state, getattr(self, state) + number)


@dataclass
class TaskProgress:
    task: Task
    total: SlotCounts
    strata: list[SlotCounts] = field(default_factory=list)


@dataclass(frozen=True)
class Rate:
    """Responses an hour over the last `hours`, and the time left at that rate; None if nobody answered or
    nothing is left."""

    hours: int
    an_hour: float
    hours_left: float | None


@dataclass(frozen=True)
class Pace:
    """Responses by time. `timed` is 0 if the times of the answers are unknown. `enrolled`: the people who may
    answer."""

    timed: int
    last_hour: int
    at_work: int
    enrolled: int
    surplus: int
    withdrawn: int
    rates: tuple[Rate, ...]
    days: tuple[tuple[date, int], ...]


@dataclass(frozen=True)
class Progress:
    tasks: tuple[TaskProgress, ...]
    total: SlotCounts
    pace: Pace
    alerts: tuple[alerts.Alert, ...]
    counted_at: datetime

    @property
    def complete(self) -> bool:
        """Whether every slot is filled."""
        return 0 < self.total.wanted == self.total.filled

    @property
    def mark(self) -> str:
        """A digest of everything that is shown except the time of the count."""
        shown = (
            [(part.task.pk, part.strata) for part in self.tasks],
            self.total,
            self.pace,
            self.alerts,
        )
        return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]


def immediate_progress(study: Study, *, now: datetime) -> Progress | None:
    """The count that the page can show without waiting: a new one of a small study, the last one of a large
    study, or None if it was never counted."""
    if not is_large(study):
        return count_progress(study, now=now)
    known: tuple[Progress, float] | None = cache.get(_key(study))
    return known[0] if known else None


def recent_progress(study: Study, *, now: datetime) -> Progress:
    """A new count, or the last one if it is not yet old enough for the time it takes."""
    known: tuple[Progress, float] | None = cache.get(_key(study))
    if known is not None and (now - known[0].counted_at).total_seconds() < _REST_FACTOR * known[1]:
        return known[0]
    started = time.monotonic()
    counted = count_progress(study, now=now)
    cache.set(_key(study), (counted, time.monotonic() - started), _CACHE_SECONDS)
    return counted


def _key(study: Study) -> str:
    return f"progress:2:{study.pk}:{study.created_at.timestamp()}"


def count_progress(study: Study, *, now: datetime) -> Progress:
    """Count the progress now."""
    tasks, total = _slot_counts(study)
    pace = _pace(study, left=total.open + total.leased, now=now)
    found: list[alerts.Alert] = []
    if study.status in {StudyStatus.OPEN, StudyStatus.PAUSED}:
        found += alerts.unfillable_strata(
            study, [(part.task, one.name, one.open) for part in tasks for one in part.strata]
        )
        found += alerts.fast_annotators(study) if pace.timed else []
    found += alerts.unclear_attributes(study)
    return Progress(tasks=tasks, total=total, pace=pace, alerts=tuple(found), counted_at=now)


def _slot_counts(study: Study) -> tuple[tuple[TaskProgress, ...], SlotCounts]:
    counted = (
        Slot.objects.filter(study=study)
        .order_by()
        .values_list("unit__task", "stratum", "state")
        .annotate(Count("pk"))
    )
    total = SlotCounts("all")
    tasks = sorted(study.tasks.all(), key=lambda task: (task.kind, task.version))
    found = {task.pk: TaskProgress(task, SlotCounts("all")) for task in tasks}
    strata: dict[tuple[int, str], SlotCounts] = {}
    for task, stratum, state, number in sorted(counted):
        part = strata.get((task, stratum))
        if part is None:
            part = strata[task, stratum] = SlotCounts(stratum)
            found[task].strata.append(part)
        for counts in (part, found[task].total, total):
            counts.add(SlotState(state).value, number)
    return tuple(found.values()), total


def _pace(study: Study, *, left: int, now: datetime) -> Pace:
    responses = Response.objects.filter(unit__task__study=study)
    kept = Q(current=True, withdrawn_at__isnull=True)
    found = responses.aggregate(
        timed=Count("pk", filter=kept & Q(submitted_at__isnull=False)),
        oldest=Min("submitted_at", filter=kept),
        last_hour=Count("pk", filter=kept & Q(submitted_at__gt=now - timedelta(hours=1))),
        at_work=Count("annotator", distinct=True, filter=Q(submitted_at__gt=now - AT_WORK)),
        surplus=Count("pk", filter=kept & Q(slot__isnull=True)),
        withdrawn=Count("pk", filter=Q(withdrawn_at__isnull=False)),
        **{
            f"filled_{hours}": Count(
                "pk", filter=kept & Q(submitted_at__gt=now - timedelta(hours=hours), slot__isnull=False)
            )
            for hours in HOURS
        },
    )
    first = now.date() - timedelta(days=DAYS - 1)
    by_day: dict[date, int] = defaultdict(int)
    recent = responses.filter(kept, submitted_at__date__gte=first).annotate(day=TruncDate("submitted_at"))
    for day, number in recent.order_by().values_list("day").annotate(Count("pk")) if found["timed"] else ():
        by_day[day] = number
    oldest = found.pop("oldest") or now
    filled = [(hours, found.pop(f"filled_{hours}")) for hours in HOURS]
    filled = [each for each in filled if each[0] == HOURS[0] or oldest <= now - timedelta(hours=each[0])]
    return Pace(
        **found,
        enrolled=enrolled_people(study=study).count(),
        rates=tuple(_rates(filled, left=left)),
        days=tuple((first + timedelta(days=n), by_day[first + timedelta(days=n)]) for n in range(DAYS)),
    )


def _rates(filled: Iterable[tuple[int, int]], *, left: int) -> Iterable[Rate]:
    for hours, number in filled:
        an_hour = number / hours
        yield Rate(hours, an_hour, left / an_hour if an_hour and left else None)
