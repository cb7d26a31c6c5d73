"""How each annotator works, for leads: a reason to look and to ask, never a verdict (PROTOCOL §10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.core.cache import cache
from django.utils.translation import gettext_lazy as _

from annotation import queries_people
from annotation.models import Annotator, Enrolment, EnrolmentStatus, Response, Study, TaskKind
from metrics import frames, registry
from metrics.frames import quality as frame
from metrics.stats import raters

PER_PAGE = 100
# The columns that can be sorted, with their headings.
COLUMNS = {
    "who": _("Annotator"),
    "flags": _("To look at"),
    "answers": _("Answers"),
    "seconds": _("Median seconds an item"),
    "idle": _("Idle seconds"),
    "share": _("Agreement with others"),
    "checks": _("Checks right"),
    "none": _("None of the above"),
    "most": _("Same answer"),
}
FLAGS = {
    "fast": _("fast: less than a third of the usual time"),
    "alone": _("agrees with the others no more than by chance"),
    "checks": _("fewer than half of the checks right"),
    "same": _("nearly always the same answer"),
}
# What it takes to say anything of somebody.
_LEAST_ANSWERS = 10
_LEAST_PAIRS = 20
_LEAST_CHECKS = 2
_FRACTION = 3
_NEARLY_ALWAYS = 0.95
_ROUNDING = 1e-9


@dataclass
class Work:
    """What one annotator did. `seconds` and `usual` are medians, theirs and everybody's, of the kind of task
    that they answered most; `share` (and `chance`, what to expect of answers given without looking) is of
    `pairs` of a rating of theirs and one of somebody else of the same unit. `none` of `offered` pages were
    answered with none of the above; `most` is the share of their most frequent rating."""

    annotator: int
    answers: int = 0
    seconds: float | None = None
    usual: float | None = None
    idle: float | None = None
    same: int = 0
    pairs: int = 0
    by_chance: float = 0.0
    none: int = 0
    offered: int = 0
    most_given: int = 0
    rated: int = 0
    fast: bool = False

    @property
    def share(self) -> float | None:
        return self.same / self.pairs if self.pairs else None

    @property
    def chance(self) -> float | None:
        return self.by_chance / self.pairs if self.pairs else None

    @property
    def none_share(self) -> float | None:
        return self.none / self.offered if self.offered else None

    @property
    def most(self) -> float | None:
        return self.most_given / self.rated if self.rated else None


@dataclass(frozen=True)
class QualityRow:
    """One annotator. `enrolment` is None for who answered without one, as imported answers do."""

    annotator: Annotator
    enrolment: Enrolment | None
    work: Work
    right: int
    checked: int

    @property
    def accuracy(self) -> float | None:
        return self.right / self.checked if self.checked else None

    @property
    def may_be_blocked(self) -> bool:
        settled = {EnrolmentStatus.BLOCKED, EnrolmentStatus.SCREENED_OUT, EnrolmentStatus.WITHDRAWN}
        return self.enrolment is not None and self.enrolment.status not in settled

    @property
    def flags(self) -> tuple[str, ...]:
        """Which of FLAGS there is reason to look at."""
        work = self.work
        found = {
            "fast": work.fast,
            "alone": work.pairs >= _LEAST_PAIRS and work.same <= work.by_chance + _ROUNDING,
            "checks": self.checked >= _LEAST_CHECKS and 2 * self.right < self.checked,
            "same": any(
                number >= _LEAST_PAIRS and given >= _NEARLY_ALWAYS * number
                for given, number in ((work.most_given, work.rated), (work.none, work.offered))
            ),
        }
        return tuple(name for name in FLAGS if found[name])

    @property
    def flag_words(self) -> list[str]:
        return [str(FLAGS[name]) for name in self.flags]

    def number(self, column: str) -> float | None:
        """What a column of numbers sorts by; None is undefined."""
        found = {
            "flags": len(self.flags),
            "checks": self.accuracy,
            "none": self.work.none_share,
        }
        value = found[column] if column in found else getattr(self.work, column)
        return None if value is None else float(value)


@dataclass(frozen=True)
class Quality:
    """`rows` of one page out of `total` annotators; `unknown` responses name nobody."""

    rows: tuple[QualityRow, ...]
    total: int
    flagged: int
    unknown: int
    number: int
    pages: int


def quality(study: Study, *, sort: str, descending: bool, page: str = "1") -> Quality:
    """A page of the annotators of `study`, sorted by one of COLUMNS; undefined values come last."""
    rows = everybody(study, sort=sort, descending=descending)
    pages = max(1, -(-len(rows) // PER_PAGE))
    number = min(max(1, int(page[:9]) if page.isdecimal() else 1), pages)
    return Quality(
        rows=tuple(rows[(number - 1) * PER_PAGE : number * PER_PAGE]),
        total=len(rows),
        flagged=sum(bool(row.flags) for row in rows),
        unknown=frame.unidentified(study),
        number=number,
        pages=pages,
    )


def everybody(study: Study, *, sort: str, descending: bool) -> list[QualityRow]:
    """Every annotator whose answers count; who withdrew is not among them."""
    work = _work(study)
    checks = queries_people.checks(Response.objects.filter(unit__task__study=study, annotator__isnull=False))
    enrolments = {each.annotator_id: each for each in Enrolment.objects.filter(study=study)}
    people = Annotator.objects.filter(responses__unit__task__study=study).distinct().order_by("pseudonym")
    rows = [
        QualityRow(
            annotator=person,
            enrolment=enrolments.get(person.pk),
            work=work[person.pk],
            right=checks[person.pk].count(True),
            checked=len(checks[person.pk]),
        )
        for person in people
        if person.pk in work
    ]
    if sort == "who":
        return rows[::-1] if descending else rows
    known = [row for row in rows if row.number(sort) is not None]
    known.sort(key=lambda row: row.number(sort) or 0.0, reverse=descending)
    return known + [row for row in rows if row.number(sort) is None]


def _work(study: Study) -> Mapping[int, Work]:
    """Everybody's work; computed once for the same answers."""
    key = f"quality:1:{frames.inputs_digest(study, registry.get('agreement'))}"
    known: Mapping[int, Work] | None = cache.get(key)
    if known is None:
        with frames.snapshot():
            known = _measured(study)
        cache.set(key, known, 24 * 3600)
    return known


def _measured(study: Study) -> Mapping[int, Work]:
    found = {who: Work(who, answers=number) for who, number in frame.answers(study).items()}
    _add_speeds(found, frame.speeds(study))
    for who, (chosen, offered) in frame.none_of_above(study).items():
        found[who].none, found[who].offered = chosen, offered
    for kind in frames.task_kinds(study):
        _add_agreement(found, raters.with_others(frames.ratings(study, kind).table), kind)
    return found


def _add_speeds(found: Mapping[int, Work], speeds: Mapping[tuple[int, str], frame.Speed]) -> None:
    most: dict[int, int] = {}
    for (who, kind), speed in sorted(speeds.items()):
        if not who:
            continue
        usual = speeds[0, kind]
        work = found[who]
        others = usual.answers - speed.answers
        if others and speed.answers >= _LEAST_ANSWERS and _FRACTION * speed.active < usual.active:
            work.fast = True
        if speed.answers > most.get(who, 0):
            most[who] = speed.answers
            work.seconds, work.usual = speed.active / 1000, usual.active / 1000
            work.idle = None if speed.idle is None else speed.idle / 1000


def _add_agreement(found: Mapping[int, Work], measured: raters.Raters, kind: str) -> None:
    for place, who in enumerate(measured.raters.tolist()):
        work = found[who]
        work.same += int(measured.same[place])
        work.pairs += int(measured.pairs[place])
        work.by_chance += float(measured.by_chance[place])
        # most attributes of an image are not depicted: to say so nearly always is no pattern
        if kind != TaskKind.DEPICTION:
            work.most_given += int(measured.given[place].max())
            work.rated += int(measured.given[place].sum())


CSV_COLUMNS = (
    *("annotator", "simulated", "status", "answers", "median_active_s", "usual_active_s", "median_idle_s"),
    *("agreement", "agreement_by_chance", "pairs", "checks_right", "checks"),
    *("none_of_above", "none_of_above_offered", "most_frequent", "rated", "flags"),
)


def as_cells(rows: Sequence[QualityRow]) -> list[tuple[str | int | float | None, ...]]:
    """The rows as a file has them, in the order of CSV_COLUMNS."""
    return [
        (
            row.annotator.pseudonym,
            "yes" if row.annotator.simulated else "no",
            row.enrolment.status if row.enrolment else "",
            row.work.answers,
            row.work.seconds,
            row.work.usual,
            row.work.idle,
            row.work.share,
            row.work.chance,
            row.work.pairs,
            row.right,
            row.checked,
            row.work.none,
            row.work.offered,
            row.work.most_given,
            row.work.rated,
            " ".join(row.flags),
        )
        for row in rows
    ]
