"""The answers of runs, in pages that cost the same wherever they are in a run. Read-only.

A position is the number of a job; the answers of a run are in the order of their jobs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Length, Substr

from generation.models import Answer, Run
from generation.recipes import limits

SHOWN = 2_000
"""Characters of a prompt or an answer in a list."""
SEARCHED = 100_000
"""Answers that one page of a search goes through at most."""
LATEST = 5
_REASON = 300
"""Characters of the reason of a filter in a list."""
_PER_BATCH = 500
_TEXTS = {"text": "text", "prompt": "job__prompt", "text_pair": "job__text_pair"}
_OF_THE_JOB = {
    "key": "job__key",
    "number": "job__number",
    "seed": "job__seed",
    "image": "job__image",
    "image_file": "job__image__file",
    "image_index": "job__image__index",
    "image_group": "job__image__group__name",
    "group": "job__group__name",
    "attribute": "job__attribute__text",
    "finished_at": "job__finished_at",
}
_OWN = ("ended", "reason", "tokens_in", "tokens_out", "seconds", "probabilities")


@dataclass(frozen=True)
class Filters:
    """`ended`: exactly so; None for all. `contains`: in the answer, whatever the case. `key`: how the key of
    the asking begins."""

    ended: str | None = None
    contains: str = ""
    key: str = ""

    @property
    def searches(self) -> bool:
        """Whether no index finds the answers."""
        return bool(self.contains or self.key)

    def apply(self, answers: QuerySet[Answer]) -> QuerySet[Answer]:
        if self.ended is not None:
            answers = answers.filter(ended=self.ended)
        if self.contains:
            answers = answers.filter(text__icontains=self.contains)
        return answers.filter(job__key__startswith=self.key) if self.key else answers


@dataclass(frozen=True)
class Text:
    """The beginning of a text, and how many characters all of it has."""

    start: str
    length: int

    @property
    def is_cut(self) -> bool:
        return self.length > len(self.start)

    @property
    def is_long(self) -> bool:
        """Whether a list shows it folded up."""
        return len(self.start) > 300 or self.start.count("\n") > 6


@dataclass(frozen=True)
class Picture:
    """The image that an asking is about. `file`: "" if it is not in this installation."""

    pk: int
    file: str
    name: str


@dataclass(frozen=True)
class AnswerRow:
    """An asking and its answer, as lists show them. `job`: its number. `reason`: the beginning of what a
    server said when its filter withheld the answer."""

    job: int
    key: str
    number: int
    prompt: Text
    text_pair: Text
    picture: Picture | None
    group: str | None
    attribute: str | None
    seed: int | None
    text: Text
    ended: str
    reason: str | None
    tokens_in: int | None
    tokens_out: int | None
    seconds: float | None
    probabilities: dict[str, float] | None
    finished_at: Any

    @property
    def ranked(self) -> list[tuple[str, float]]:
        """The labels of a classification, the likeliest first."""
        return sorted((self.probabilities or {}).items(), key=lambda one: -one[1])


@dataclass(frozen=True)
class Found:
    """One page. `previous`: there may be others before this position, `next`: after this one; None if there
    are none. `unfinished`: the search stopped before the end of the run."""

    rows: list[AnswerRow]
    previous: int | None
    next: int | None
    unfinished: bool = False


def find(
    run: Run,
    filters: Filters,
    *,
    after: int | None = None,
    before: int | None = None,
    limit: int,
    newest_first: bool = False,
    characters: int = SHOWN,
) -> Found:
    """At most `limit` answers that match, next to a position, in the order of their jobs or the other way.

    One query, or two for a search; it goes through at most SEARCHED answers, and says if more are left.
    """
    backwards = before is not None
    position = before if backwards else after
    down = backwards != newest_first
    step, beyond = (-1, "job__lt") if down else (1, "job__gt")
    answers = Answer.objects.filter(run=run).order_by("-job" if down else "job")
    if position is not None:
        answers = answers.filter(**{beyond: position})
    edge = None
    if filters.searches:
        edge = next(iter(answers.values_list("job", flat=True)[SEARCHED : SEARCHED + 1]), None)
        if edge is not None:
            answers = answers.filter(**{"job__gt" if down else "job__lt": edge})
    rows = _rows(filters.apply(answers)[: limit + 1], characters)
    full, rows = len(rows) > limit, rows[:limit]
    unfinished = not full and edge is not None
    onwards = rows[-1].job if full else None if edge is None else edge - step
    back = None if position is None else rows[0].job if rows else position + step
    if backwards:
        rows.reverse()
        return Found(rows, previous=onwards, next=back, unfinished=unfinished)
    return Found(rows, previous=back, next=onwards, unfinished=unfinished)


@dataclass(frozen=True)
class OneAnswer:
    """An answer with what only its own page shows."""

    row: AnswerRow
    extra: dict[str, Any]
    worker: str
    attempts: int
    previous: int | None
    next: int | None


def one(run: Run, job: int, *, characters: int | None = None) -> OneAnswer | None:
    """The answer to this job of the run, if there is one. `characters`: of its texts; None: all."""
    answers = Answer.objects.filter(run=run)
    rows = _rows(answers.filter(job=job), characters)
    if not rows:
        return None
    more = answers.filter(job=job).values("extra", "job__worker", "job__attempts").get()
    numbers = answers.values_list("job", flat=True)
    return OneAnswer(
        row=rows[0],
        extra=more["extra"],
        worker=more["job__worker"],
        attempts=more["job__attempts"],
        previous=numbers.filter(job__lt=job).order_by("-job").first(),
        next=numbers.filter(job__gt=job).order_by("job").first(),
    )


def latest(run: Run) -> list[AnswerRow]:
    """The answers to the last askings that have one, the last first."""
    return _rows(Answer.objects.filter(run=run).order_by("-job")[:LATEST], SHOWN)


def batches(run: Run, filters: Filters) -> Iterator[list[Answer]]:
    """All answers that match, whole, with their jobs, a few at a time."""
    related = ("job__image__group", "job__group", "job__attribute")
    answers = filters.apply(Answer.objects.filter(run=run)).select_related(*related).order_by("job")
    position = 0
    while batch := list(answers.filter(job__gt=position)[:_PER_BATCH]):
        yield batch
        position = batch[-1].pk


def endings(run: Run) -> list[tuple[str, int]]:
    """Why answers ended, and how many did so; the most frequent first."""
    counted = Answer.objects.filter(run=run).order_by().values_list("ended").annotate(n=Count("pk"))
    return sorted(counted, key=lambda one: (-one[1], one[0]))


@dataclass(frozen=True)
class Spent:
    """What a run has used, and may. `cost`: so far, at the run's prices; None without prices."""

    tokens_in: int
    tokens_out: int
    cost: float | None
    limits: limits.Limits

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


def spent(run: Run) -> Spent:
    """From the run's row; no query."""
    found = limits.from_json(run.limits)
    return Spent(run.tokens_in, run.tokens_out, found.price(run.tokens_in, run.tokens_out), found)


def _rows(answers: QuerySet[Answer], characters: int | None) -> list[AnswerRow]:
    cut = {
        f"{name}_start": F(field) if characters is None else Substr(field, 1, characters)
        for name, field in _TEXTS.items()
    }
    long = {f"{name}_length": Length(field) for name, field in _TEXTS.items()}
    of_the_job = {f"the_{name}": F(field) for name, field in _OF_THE_JOB.items()}
    answers = answers.annotate(reason=Substr(KT("extra__reason"), 1, _REASON))
    return [_row(one) for one in answers.values("job", *_OWN, **cut, **long, **of_the_job)]


def _row(found: dict[str, Any]) -> AnswerRow:
    values = {name: found[f"the_{name}"] for name in _OF_THE_JOB} | {name: found[name] for name in _OWN}
    image, file, index = values.pop("image"), values.pop("image_file"), values.pop("image_index")
    of = values.pop("image_group")
    values["picture"] = None if image is None else Picture(image, file, f"{of} {index}")
    for name in _TEXTS:
        values[name] = Text(found[f"{name}_start"], found[f"{name}_length"])
    return AnswerRow(job=found["job"], **values)
