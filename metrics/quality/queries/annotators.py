"""Quality indicators of each annotator, for leads: reasons to look closer, not verdicts (PROTOCOL §10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.models import Annotator, Enrolment, EnrolmentStatus, Study
from metrics.quality.queries import work
from metrics.quality.queries.work import AnnotatorWork, WorkCount

PER_PAGE = 100
# The sortable columns and their headings.
COLUMNS = {
    "who": _("Annotator"),
    "flags": _("Flags"),
    "answers": _("Answers"),
    "seconds": _("Median seconds per item"),
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
# Minimum numbers for a flag.
_MIN_PAIRS = 20
_MIN_CHECKS = 2
_NEARLY_ALWAYS = 0.95
_ROUNDING = 1e-9


@dataclass(frozen=True)
class QualityRow:
    """One annotator. `enrolment` is None for annotators without one, as in imported answers."""

    annotator: Annotator
    enrolment: Enrolment | None
    work: AnnotatorWork
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
        """The FLAGS that apply."""
        work = self.work
        found = {
            "fast": work.fast,
            "alone": work.pairs >= _MIN_PAIRS and work.same <= work.by_chance + _ROUNDING,
            "checks": self.checked >= _MIN_CHECKS and 2 * self.right < self.checked,
            "same": any(
                number >= _MIN_PAIRS and given >= _NEARLY_ALWAYS * number
                for given, number in ((work.most_given, work.rated), (work.none, work.offered))
            ),
        }
        return tuple(name for name in FLAGS if found[name])

    @property
    def flag_labels(self) -> list[str]:
        return [str(FLAGS[name]) for name in self.flags]

    def number(self, column: str) -> float | None:
        """The sort value of a numeric column; None is undefined."""
        found = {
            "flags": len(self.flags),
            "checks": self.accuracy,
            "none": self.work.none_share,
        }
        value = found[column] if column in found else getattr(self.work, column)
        return None if value is None else float(value)


@dataclass(frozen=True)
class QualityPage:
    """The `rows` of one page of `total` annotators, counted at `counted_at`; `unknown` responses have no
    annotator."""

    rows: tuple[QualityRow, ...]
    total: int
    flagged: int
    unknown: int
    number: int
    pages: int
    counted_at: datetime


def quality_page(
    study: Study, counted: WorkCount, *, sort: str, descending: bool, page: str = "1"
) -> QualityPage:
    """A page of the annotators of `study`, sorted by one of COLUMNS; undefined values come last."""
    rows = quality_rows(study, counted, sort=sort, descending=descending)
    pages = max(1, -(-len(rows) // PER_PAGE))
    number = min(max(1, int(page[:9]) if page.isdecimal() else 1), pages)
    return QualityPage(
        rows=tuple(rows[(number - 1) * PER_PAGE : number * PER_PAGE]),
        total=len(rows),
        flagged=sum(bool(row.flags) for row in rows),
        unknown=counted.unknown,
        number=number,
        pages=pages,
        counted_at=counted.counted_at,
    )


def current_rows(study: Study, *, sort: str, descending: bool) -> list[QualityRow]:
    """The rows of all annotators, counted now if needed, for the CSV file and the API."""
    return quality_rows(study, work.recent_count(study, now=timezone.now()), sort=sort, descending=descending)


def quality_rows(study: Study, counted: WorkCount, *, sort: str, descending: bool) -> list[QualityRow]:
    """The sorted rows of a count, without annotators who have since withdrawn or been erased."""
    enrolments = {each.annotator_id: each for each in Enrolment.objects.filter(study=study)}
    people = Annotator.objects.in_bulk(counted.work)
    rows = [
        QualityRow(person, enrolments.get(key), counted.work[key], *counted.checks.get(key, (0, 0)))
        for key, person in sorted(people.items(), key=lambda each: each[1].pseudonym)
        if key not in enrolments or enrolments[key].status != EnrolmentStatus.WITHDRAWN
    ]
    if sort == "who":
        return rows[::-1] if descending else rows
    known = [row for row in rows if row.number(sort) is not None]
    known.sort(key=lambda row: row.number(sort) or 0.0, reverse=descending)
    return known + [row for row in rows if row.number(sort) is None]


CSV_COLUMNS = (
    *("annotator", "simulated", "status", "answers", "median_active_s", "usual_active_s", "median_idle_s"),
    *("agreement", "agreement_by_chance", "pairs", "checks_right", "checks"),
    *("none_of_above", "none_of_above_offered", "most_frequent", "rated", "flags"),
)


def csv_rows(rows: Sequence[QualityRow]) -> list[tuple[str | int | float | None, ...]]:
    """The cells of the rows, in the order of CSV_COLUMNS."""
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
