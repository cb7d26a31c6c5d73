"""The people in a study as its lead sees them: pseudonyms and counts, never an account (DESIGN §11)."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Max, Q, QuerySet

from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    Judgement,
    Purpose,
    Response,
    Skip,
    Slot,
    SlotState,
    Study,
)

PER_PAGE = 100
_CHECKS = (Purpose.GOLD, Purpose.ATTENTION)
_SURPLUS = Q(slot__isnull=True, unit__purpose=Purpose.DATA, current=True, withdrawn_at__isnull=True)


@dataclass
class Activity:
    """What an annotator did in a study. `held`: leased items. `last_seen`: the last answer, skip or lease."""

    surplus: int = 0
    skips: int = 0
    held: int = 0
    last_seen: datetime | None = None


@dataclass(kw_only=True)
class Person(Activity):
    """One annotator in a study. `right` of `checked` gold items and attention checks were answered as
    expected."""

    enrolment: Enrolment
    right: int
    checked: int

    @property
    def blocked(self) -> bool:
        return self.enrolment.status == EnrolmentStatus.BLOCKED

    @property
    def may_be_blocked(self) -> bool:
        return not self.blocked and self.enrolment.status != EnrolmentStatus.SCREENED_OUT

    @property
    def accuracy(self) -> float | None:
        """Percentage of checks answered as expected. None without a check."""
        return 100 * self.right / self.checked if self.checked else None


@dataclass(frozen=True)
class People:
    """One page of a study's annotators. Those who withdrew are only counted."""

    number: int
    pages: int
    total: int
    rows: tuple[Person, ...]
    withdrawn: int
    by_status: tuple[tuple[str, int], ...]


def people(study: Study, *, page: str | int = 1) -> People:
    """A page of the annotators of `study`, newest first. A `page` out of range gives the nearest page."""
    by_status = study.enrolments.order_by().values_list("status").annotate(Count("pk"))
    statuses = Counter(dict(by_status))
    withdrawn = statuses.pop(EnrolmentStatus.WITHDRAWN, 0)
    paginator = Paginator(current_enrolments(study).order_by("-joined_at", "-pk"), PER_PAGE)
    paginator.count = sum(statuses.values())
    found = paginator.get_page(page)
    return People(
        rows=tuple(person_rows(study, found.object_list)),
        number=found.number,
        pages=paginator.num_pages,
        total=paginator.count,
        withdrawn=withdrawn,
        by_status=tuple(
            (EnrolmentStatus(status).label, number) for status, number in sorted(statuses.items())
        ),
    )


def person(study: Study, *, pk: int) -> Person | None:
    """One annotator of `study`, by enrolment id. None if there is none, or they withdrew."""
    return next(iter(person_rows(study, current_enrolments(study).filter(pk=pk))), None)


def current_enrolments(study: Study) -> QuerySet[Enrolment]:
    """The enrolments in `study`, without those who withdrew."""
    current = study.enrolments.exclude(status=EnrolmentStatus.WITHDRAWN)
    return current.select_related("annotator", "invitation")


def person_rows(study: Study, enrolments: Iterable[Enrolment]) -> list[Person]:
    """A row for each of `enrolments`. The number of queries does not depend on how many there are."""
    enrolments = list(enrolments)
    annotators = [enrolment.annotator_id for enrolment in enrolments]
    active = activity(annotators, study=study)
    checked = check_results(Response.objects.filter(annotator__in=annotators, unit__task__study=study))
    return [
        Person(
            enrolment=enrolment,
            **vars(active[enrolment.annotator_id, study.pk]),
            right=checked[enrolment.annotator_id].count(True),
            checked=len(checked[enrolment.annotator_id]),
        )
        for enrolment in enrolments
    ]


def activity(
    annotators: Iterable[int], *, study: Study | None = None
) -> defaultdict[tuple[int, int], Activity]:
    """(annotator, study) -> their activity, in `study` or in all studies, in three queries."""
    found: defaultdict[tuple[int, int], Activity] = defaultdict(Activity)
    held = Slot.objects.filter(state=SlotState.LEASED)
    kinds: tuple[tuple[str, QuerySet[Any], str, str, Q | None], ...] = (
        ("surplus", Response.objects.all(), "unit__task__study", "submitted_at", _SURPLUS),
        ("skips", Skip.objects.all(), "unit__task__study", "at", None),
        ("held", held, "study", "leased_at", None),
    )
    for name, rows, study_field, time_field, counted in kinds:
        rows = rows.filter(annotator__in=annotators, **({study_field: study} if study else {}))
        grouped = rows.order_by().values_list("annotator", study_field)
        number, last = Count("pk", filter=counted), Max(time_field)
        for annotator, study_id, count, latest in grouped.annotate(number=number, last=last):
            done = found[annotator, study_id]
            setattr(done, name, count)
            done.last_seen = max(filter(None, (done.last_seen, latest)), default=None)
    return found


def check_results(
    answers: QuerySet[Response], *, purposes: Collection[str] = _CHECKS
) -> defaultdict[int, list[bool]]:
    """Annotator -> for each item of `purposes` that they answered, whether it was as expected."""
    judged = (
        Judgement.objects.filter(
            response__in=answers.filter(unit__purpose__in=purposes, current=True, withdrawn_at__isnull=True),
            option__expected__isnull=False,
        )
        .order_by()
        .values_list("response", "response__annotator", "value", "option__expected")
    )
    right: dict[tuple[int, int], bool] = {}
    for response, annotator, value, expected in judged:
        right[annotator, response] = right.get((annotator, response), True) and value in (expected or [])
    results: defaultdict[int, list[bool]] = defaultdict(list)
    for (annotator, _response), as_expected in right.items():
        results[annotator].append(as_expected)
    return results
