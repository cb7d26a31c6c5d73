"""How runs stand, and what their pages list. Nothing here writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.paginator import Page
from django.db.models import Count, Q
from django.utils import timezone

from annotation.models import Image
from generation.core.paging import page_of
from generation.models import Job, JobState, Run, RunState

_WINDOW = timedelta(minutes=2)
"""The rate is that of this last while: what a run does now, not what it did last night."""
_MOST_ERRORS = 5
RUNS_A_PAGE = 30
PARKED_SHOWN = 50
LATEST_SHOWN = 12


@dataclass(frozen=True)
class Failure:
    """What went wrong in the same words: in how many jobs, of which `parked` are not tried again by
    themselves, and one of them."""

    error: str
    jobs: int
    parked: int
    example: str


@dataclass(frozen=True)
class Progress:
    """Jobs of a run by state. `rate`: jobs a second in the last two minutes, None if none was finished or
    nothing runs; `seconds_left` by that rate. `errors`: the most frequent first."""

    state: str
    error: str
    total: int
    pending: int
    claimed: int
    done: int
    failed: int
    rate: float | None
    seconds_left: float | None
    errors: tuple[Failure, ...]


@dataclass(frozen=True)
class Counted:
    """A run with its jobs: all of them, those done and those that failed for good."""

    run: Run
    total: int
    done: int
    failed: int

    @property
    def model(self) -> str:
        return model_of(self.run)


def model_of(run: Run) -> str:
    """What a run's recipe calls its model; its backend where the model is the backend's own."""
    return str(run.recipe.get("model") or run.backend)


def runs() -> list[Counted]:
    """Every run, newest first."""
    return counted(list(Run.objects.select_related("image_set", "created_by")))


def counted(listed: Sequence[Run]) -> list[Counted]:
    """Runs with their jobs counted, in the same order."""
    counts: dict[int, dict[str, int]] = {}
    states = Job.objects.filter(run__in=[run.pk for run in listed]).order_by().values_list("run", "state")
    for run_id, state, number in states.annotate(n=Count("pk")):
        counts.setdefault(run_id, {})[state] = number
    return [
        Counted(
            run=run,
            total=sum(counts.get(run.pk, {}).values()),
            done=counts.get(run.pk, {}).get(JobState.DONE, 0),
            failed=counts.get(run.pk, {}).get(JobState.FAILED, 0),
        )
        for run in listed
    ]


def run_rows(*, page: str | int | None) -> tuple[Page[Run], list[Counted]]:
    """A page of runs, newest first. Two queries and the count of pages."""
    found = page_of(Run.objects.select_related("image_set", "created_by"), page, each=RUNS_A_PAGE)
    return found, counted(list(found))


def latest_images(run: Run) -> list[Image]:
    """The images that a run finished last, the newest first."""
    finished = Job.objects.filter(run=run, state=JobState.DONE, image__isnull=False).order_by("-finished_at")
    jobs = finished.select_related("image__group")[:LATEST_SHOWN]
    return [job.image for job in jobs if job.image is not None]


def parked_jobs(run: Run) -> list[Job]:
    """The first jobs that are not tried again by themselves."""
    failed = Job.objects.filter(run=run, state=JobState.FAILED)
    return list(failed.select_related("group", "image__group").order_by("pk")[:PARKED_SHOWN])


def progress(run: Run, *, now: datetime | None = None) -> Progress:
    """How a run stands at this moment, read from the database."""
    moment = now or timezone.now()
    stands = Run.objects.get(pk=run.pk)
    counts = dict(Job.objects.filter(run=run).order_by().values_list("state").annotate(n=Count("pk")))
    left = counts.get(JobState.PENDING, 0) + counts.get(JobState.CLAIMED, 0)
    rate = _rate(stands, moment) if stands.state == RunState.RUNNING else None
    return Progress(
        state=stands.state,
        error=stands.error,
        total=sum(counts.values()),
        pending=counts.get(JobState.PENDING, 0),
        claimed=counts.get(JobState.CLAIMED, 0),
        done=counts.get(JobState.DONE, 0),
        failed=counts.get(JobState.FAILED, 0),
        rate=rate,
        seconds_left=left / rate if rate else None,
        errors=_errors(run),
    )


def _rate(run: Run, now: datetime) -> float | None:
    """Finished a second since the first of those that were finished in the last two minutes: a run that
    began, or went on, a moment ago is not measured by the time in which it stood still."""
    since = now - _WINDOW
    finished = Job.objects.filter(run=run, state=JobState.DONE, finished_at__gt=since, finished_at__lte=now)
    moments = finished.order_by("finished_at").values_list("finished_at", flat=True)
    first = moments.first()
    if first is None or run.started_at is None:
        return None
    # The first batch ended at `first`; it began when the run did, if that was in the window.
    began = max(since, run.started_at) if run.started_at > since else first
    seconds = (now - began).total_seconds()
    count = finished.filter(finished_at__gt=began).count()
    return count / seconds if count and seconds > 0 else None


def _errors(run: Run) -> tuple[Failure, ...]:
    troubled = (
        Job.objects.filter(run=run)
        .exclude(error="")
        .exclude(state=JobState.DONE)
        .order_by()
        .values("error")
        .annotate(jobs=Count("pk"), parked=Count("pk", filter=Q(state=JobState.FAILED)))
        .order_by("-parked", "-jobs", "error")[:_MOST_ERRORS]
    )
    return tuple(
        Failure(
            error=row["error"],
            jobs=row["jobs"],
            parked=row["parked"],
            example=str(Job.objects.filter(run=run, error=row["error"]).order_by("pk").first()),
        )
        for row in troubled
    )


__all__ = [
    "Counted",
    "Failure",
    "Progress",
    "counted",
    "latest_images",
    "model_of",
    "parked_jobs",
    "progress",
    "run_rows",
    "runs",
]
