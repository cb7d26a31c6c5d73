"""The progress of runs, and what their pages list. Read-only."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.core.leases import JobState
from annotation.models import AuditEvent, Image
from generation.jobs.services import workers
from generation.models import Embedding, Job, Run, RunState, TextEmbedding
from generation.recipes.prompts import GROUP, PromptSet, with_article

_WINDOW = timedelta(minutes=2)
"""The rate is measured over this window: the current speed, not that of last night."""
_MOST_ERRORS = 5
_RESUMED = _("Run %(run)s is running again. It had paused because: %(error)s")
_MAY_PAUSE = _("If that still holds, it will pause again.")
_MOST_PROMPTS = 10_000
FAILED_SHOWN = 50
LATEST_SHOWN = 12


@dataclass(frozen=True)
class Failure:
    """An error message, its number of jobs, how many of these are not retried automatically (`parked`), and
    an example."""

    error: str
    jobs: int
    parked: int
    example: str


@dataclass(frozen=True)
class Progress:
    """Jobs of a run by state. `total`: as planned, so with those that were `cancelled`. `rate`: jobs per
    second in the last two minutes, None if none was finished or the run is not running; `seconds_left` at
    that rate. `idle`: for longer than that, no worker has done or held a job of it. `errors`: the most
    frequent first. `loading`: since when its model is being loaded, if no worker has it yet. `behind`: the
    run that workers are on while this one waits for its turn. `resting`: when the next of its jobs may be
    tried again, if all that are left have to wait for that."""

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
    loading: datetime | None
    idle: bool
    cancelled: int = 0
    behind: Run | None = None
    resting: datetime | None = None

    @property
    def untouched(self) -> bool:
        """Whether it is running and no worker has taken one of its jobs yet."""
        return self.state == RunState.RUNNING and self.pending == self.total > 0 and not self.errors


@dataclass(frozen=True)
class RunRow:
    """A run with its number of jobs: all that were planned, done and failed. `waits`: it is running, and
    workers are on other runs."""

    run: Run
    total: int
    done: int
    failed: int
    waits: bool


@dataclass(frozen=True)
class Embedded:
    """Numbers of images and texts that a run has embedded, and its first texts."""

    images: int
    texts: int
    examples: list[str]


def all_runs() -> QuerySet[Run]:
    """Every run, newest first."""
    return Run.objects.select_related("image_set", "created_by")


def run_rows(runs: Sequence[Run]) -> list[RunRow]:
    """Runs with their jobs counted, in the same order."""
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    states = Job.objects.filter(run__in=runs).order_by().values_list("run", "state")
    for run_id, state, number in states.annotate(n=Count("pk")):
        counts[run_id][state] = number
    dropped = _dropped(runs)
    now = timezone.now()
    running = {run.pk for run in runs if run.state == RunState.RUNNING}
    on = _in_hand(now) if running else set()
    waiting = _standing_still(running - on, now) if on else set()
    return [
        RunRow(
            run,
            counts[run.pk].total() + dropped.get(run.pk, 0),
            counts[run.pk][JobState.DONE],
            counts[run.pk][JobState.FAILED],
            waits=run.pk in waiting,
        )
        for run in runs
    ]


def _dropped(runs: Sequence[Run]) -> dict[int, int]:
    """How many jobs of each cancelled run were deleted when it was cancelled."""
    cancelled = {run.pk for run in runs if run.state == RunState.CANCELLED}
    if not cancelled:
        return {}
    # The run ids are in JSON, which databases compare differently; there are few rows, so read them.
    events = AuditEvent.objects.filter(what="run cancelled").order_by("at").values_list("details", flat=True)
    return {each["run"]: each.get("dropped", 0) for each in events if each["run"] in cancelled}


def _in_hand(now: datetime) -> set[int]:
    """The ids of the runs that workers are on."""
    held = Job.objects.filter(state=JobState.CLAIMED, lease_expires_at__gt=now)
    return set(held.order_by().values_list("run", flat=True).distinct()) | workers.runs_in_hand()


def _standing_still(runs: Collection[int], now: datetime) -> set[int]:
    """Those of `runs` of which no job has ended in the last two minutes."""
    ended = Job.objects.filter(run__in=runs, finished_at__gt=now - _WINDOW) if runs else Job.objects.none()
    return set(runs) - set(ended.order_by().values_list("run", flat=True).distinct())


def resumed_since(moment: datetime) -> dict[int, datetime]:
    """When somebody last started, resumed or retried each run since, by the run's id."""
    whats = ("run started", "run resumed", "run retried")
    events = AuditEvent.objects.filter(what__in=whats, at__gt=moment).order_by("at")
    return {details["run"]: at for details, at in events.values_list("details", "at")}


def latest_images(run: Run) -> list[Image]:
    """The images that a run made last, newest first."""
    finished = Job.objects.filter(run=run, state=JobState.DONE).order_by("-finished_at")
    jobs = finished.select_related("image__group")[:LATEST_SHOWN]
    return [job.image for job in jobs if job.image is not None]


def embedded(run: Run) -> Embedded:
    """What a run of embeddings has embedded. Three queries."""
    texts = TextEmbedding.objects.filter(run=run)
    return Embedded(
        images=Embedding.objects.filter(run=run).count(),
        texts=texts.count(),
        examples=list(texts.order_by("pk").values_list("text", flat=True)[:LATEST_SHOWN]),
    )


def failed_jobs(run: Run) -> list[Job]:
    """The first failed jobs."""
    failed = Job.objects.filter(run=run, state=JobState.FAILED)
    return list(failed.select_related("group", "image__group").order_by("pk")[:FAILED_SHOWN])


def group_names(run: Run) -> list[str]:
    """The identity groups of a run of images, in the order in which they were planned."""
    groups = run.jobs.filter(group__isnull=False).order_by().values("group__name").annotate(first=Min("pk"))
    return list(groups.order_by("first").values_list("group__name", flat=True))


def own_prompt(run: Run) -> str:
    """The first prompt of a run of images from images, as people may write it; "" for other runs."""
    jobs = Job.objects.filter(run=run, prompt_set=PromptSet.FROM_IMAGES).order_by("pk")
    first = jobs.select_related("group").first()
    if first is None or first.group is None:
        return ""
    identity = with_article(first.group.demonym.strip() or first.group.name)
    # A prompt that all groups share names none of them.
    others = jobs.exclude(group=first.group)
    if not others.exists() or others.filter(prompt=first.prompt).exists():
        return first.prompt
    return first.prompt.replace(identity, GROUP)


def prompts(run: Run) -> list[dict[str, str]]:
    """What a run asks, as people may write it (plans/askings.py), once for all images and samples."""
    asked = run.jobs.exclude(key="").filter(number=1).order_by().values("prompt", "text_pair")
    rows = asked.annotate(first=Min("pk")).order_by("first").values("prompt", "text_pair")
    return [{name: str(text) for name, text in row.items() if text} for row in rows[:_MOST_PROMPTS]]


def resumed_message(run: Run) -> str:
    """What people have to know about a running run that an error had paused; "" for others."""
    if run.state != RunState.RUNNING or not run.error:
        return ""
    resumed = _RESUMED % {"run": run.pk, "error": run.error}
    return resumed if run.failures_accepted else f"{resumed} {_MAY_PAUSE}"


def progress(run: Run, *, now: datetime | None = None) -> Progress:
    """The current progress of a run, read from the database."""
    moment = now or timezone.now()
    current = Run.objects.get(pk=run.pk)
    states = Job.objects.filter(run=run).order_by().values_list("state").annotate(n=Count("pk"))
    counts = Counter[str](dict(states))
    left = counts[JobState.PENDING] + counts[JobState.CLAIMED]
    running = current.state == RunState.RUNNING
    rate = _rate(current, moment) if running else None
    dropped = _dropped([current]).get(current.pk, 0)
    on = _in_hand(moment) if running else set()
    still = running and bool(_standing_still({current.pk} - on, moment))
    behind = None
    resting = _resting(run, moment) if running and not counts[JobState.CLAIMED] else None
    if on and still and resting is None:
        first = Run.objects.filter(pk__in=on).select_related("image_set").order_by("started_at", "pk")
        behind = first.first()
    return Progress(
        state=current.state,
        error=current.error,
        total=counts.total() + dropped,
        pending=counts[JobState.PENDING],
        claimed=counts[JobState.CLAIMED],
        done=counts[JobState.DONE],
        failed=counts[JobState.FAILED],
        rate=rate,
        seconds_left=left / rate if rate and resting is None else None,
        errors=_errors(run),
        loading=workers.loading(run) if running else None,
        idle=still
        and behind is None
        and resting is None
        and current.started_at is not None
        and current.started_at <= moment - _WINDOW
        and current.pk not in resumed_since(moment - _WINDOW),
        # A worker that held jobs when it was cancelled gives them back, and nobody takes them again.
        cancelled=dropped + counts[JobState.PENDING] if current.state == RunState.CANCELLED else 0,
        behind=behind,
        resting=resting,
    )


def _resting(run: Run, now: datetime) -> datetime | None:
    pending = Job.objects.filter(run=run, state=JobState.PENDING)
    if pending.filter(Q(not_before=None) | Q(not_before__lte=now)).exists():
        return None
    found: datetime | None = pending.aggregate(at=Min("not_before"))["at"]
    return found


def _rate(run: Run, now: datetime) -> float | None:
    """Jobs per second since the first job finished in the window, so that a run which has just started or
    resumed is not measured over its idle time."""
    since = now - _WINDOW
    finished = Job.objects.filter(run=run, state=JobState.DONE, finished_at__gt=since, finished_at__lte=now)
    moments = finished.order_by("finished_at").values_list("finished_at", flat=True)
    first = moments.first()
    if first is None or run.started_at is None:
        return None
    # The first batch ended at `first`; if the run started within the window, the batch started then.
    began = run.started_at if run.started_at > since else first
    count = finished.filter(finished_at__gt=began).count()
    return count / (now - began).total_seconds() if count else None


def _errors(run: Run) -> tuple[Failure, ...]:
    rows = (
        Job.objects.filter(run=run)
        .exclude(error="")
        .exclude(state=JobState.DONE)
        .order_by()
        .values("error")
        .annotate(jobs=Count("pk"), parked=Count("pk", filter=Q(state=JobState.FAILED)))
        .order_by("-parked", "-jobs", "error")[:_MOST_ERRORS]
    )
    return tuple(
        Failure(**row, example=str(Job.objects.filter(run=run, error=row["error"]).order_by("pk").first()))
        for row in rows
    )
