"""Hours and exposure: how long each annotator worked and what they saw, for fair pay and well-being.

Everything is computed from the answers, in a few grouped queries for a chunk of annotators at a time. People
who withdrew have no answers left, so only their number is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from annotation.core.paging import Page
from annotation.models import Annotator, Enrolment, EnrolmentStatus, Purpose, Response, Skip, Study, TaskKind

PER_PAGE = 50
_CHUNK = 200
_MS_PER_HOUR = 3_600_000
_EXPOSURE_KINDS = (TaskKind.OFFENSIVENESS, TaskKind.DEPICTION)


@dataclass(frozen=True)
class Hours:
    """One annotator in one study, or in all.

    `answered`: units answered for the data. `surplus`: those of them that had enough answers already (still
    work). `checks`: gold items and attention checks. `training`: training items. `revised`: corrections.
    `offensiveness` and `depiction`: items of these kinds that were answered or skipped. Hours cover all of
    this, as the browser measured them; `untimed` answers came without a time. `days`: days (UTC) with an
    answer.
    """

    annotator: str
    simulated: bool
    studies: int
    status: str
    answered: int
    surplus: int
    checks: int
    training: int
    revised: int
    skipped: int
    offensiveness: int
    depiction: int
    active_hours: float
    idle_hours: float
    untimed: int
    first: datetime | None
    last: datetime | None
    days: int

    @property
    def status_label(self) -> str:
        return EnrolmentStatus(self.status).label if self.status else ""


@dataclass(frozen=True)
class Exposure(Page):
    """One page of annotators. `withdrawn`: the number of people who withdrew and are in no row."""

    rows: tuple[Hours, ...]
    withdrawn: int

    @property
    def active_hours(self) -> float | None:
        """The total of everybody. None if there is more than one page."""
        return sum(row.active_hours for row in self.rows) if self.pages == 1 else None


def page(study: Study | None, *, page: str | int = 1) -> Exposure:
    """A page of the annotators of `study` (None: of all studies), sorted by pseudonym. A `page` out of range
    gives the nearest page."""
    paginator = Paginator(annotators(study), PER_PAGE)
    found = paginator.get_page(page)
    return Exposure(
        rows=tuple(hours(list(found.object_list), study)),
        number=found.number,
        pages=paginator.num_pages,
        total=paginator.count,
        withdrawn=withdrawn(study),
    )


def all_hours(study: Study | None) -> Iterator[Hours]:
    """The rows of all annotators, in constant memory."""
    iterator = annotators(study).iterator(chunk_size=_CHUNK)
    while chunk := list(islice(iterator, _CHUNK)):
        yield from hours(chunk, study)


def withdrawn(study: Study | None) -> int:
    """How many people withdrew from `study`, or from any study."""
    enrolments = Enrolment.objects.filter(status=EnrolmentStatus.WITHDRAWN, **_in(study))
    return enrolments.values("annotator").distinct().count()


def annotators(study: Study | None) -> QuerySet[Annotator]:
    """The annotators in `study`, or in any study, who have not withdrawn from it, sorted by pseudonym."""
    enrolments = Enrolment.objects.filter(annotator=OuterRef("pk"), **_in(study)).exclude(
        status=EnrolmentStatus.WITHDRAWN
    )
    return Annotator.objects.filter(Exists(enrolments)).order_by("pseudonym")


def _in(study: Study | None) -> dict[str, Study]:
    return {} if study is None else {"study": study}


def hours(annotators: list[Annotator], study: Study | None) -> Iterator[Hours]:
    """A row for each of the annotators, in this order, with three queries."""
    all_answers, all_skips = _answers(annotators, study), _skips(annotators, study)
    statuses = _statuses(annotators, study)
    for annotator in annotators:
        answers, skips = all_answers.get(annotator.pk, {}), all_skips.get(annotator.pk, {})
        status, studies = statuses.get(annotator.pk, ("", 0))
        yield Hours(
            annotator=annotator.pseudonym,
            simulated=annotator.simulated,
            studies=studies,
            status=status,
            skipped=skips.get("number", 0),
            active_hours=(answers.get("active_ms") or 0) / _MS_PER_HOUR,
            idle_hours=(answers.get("idle_ms") or 0) / _MS_PER_HOUR,
            first=answers.get("first"),
            last=answers.get("last"),
            **{kind: answers.get(kind, 0) + skips.get(kind, 0) for kind in map(str, _EXPOSURE_KINDS)},
            **{
                name: answers.get(name, 0)
                for name in ("answered", "surplus", "checks", "training", "revised", "untimed", "days")
            },
        )


def _answers(annotators: list[Annotator], study: Study | None) -> dict[int, dict[str, Any]]:
    """Annotator -> totals of their answers."""
    first = Q(revision=1)
    data = first & Q(unit__purpose=Purpose.DATA)
    found = Response.objects.filter(annotator__in=annotators, withdrawn_at__isnull=True)
    if study is not None:
        found = found.filter(unit__task__study=study)
    rows = (
        found.order_by()
        .values("annotator")
        .annotate(
            answered=Count("pk", filter=data),
            surplus=Count("pk", filter=data & Q(slot__isnull=True)),
            checks=Count("pk", filter=first & Q(unit__purpose__in=(Purpose.GOLD, Purpose.ATTENTION))),
            training=Count("pk", filter=first & Q(unit__purpose=Purpose.TRAINING)),
            revised=Count("pk", filter=~first),
            untimed=Count("pk", filter=Q(active_ms__isnull=True)),
            active_ms=Sum("active_ms"),
            idle_ms=Sum("idle_ms"),
            first=Min("submitted_at"),
            last=Max("submitted_at"),
            days=Count(TruncDate("submitted_at"), distinct=True),
            **{str(kind): Count("pk", filter=first & Q(unit__task__kind=kind)) for kind in _EXPOSURE_KINDS},
        )
    )
    return {row["annotator"]: dict(row) for row in rows}


def _skips(annotators: list[Annotator], study: Study | None) -> dict[int, dict[str, Any]]:
    """Annotator -> totals of their skips."""
    found = Skip.objects.filter(annotator__in=annotators)
    if study is not None:
        found = found.filter(unit__task__study=study)
    rows = (
        found.order_by()
        .values("annotator")
        .annotate(
            number=Count("pk"),
            **{str(kind): Count("pk", filter=Q(unit__task__kind=kind)) for kind in _EXPOSURE_KINDS},
        )
    )
    return {row["annotator"]: dict(row) for row in rows}


def _statuses(annotators: list[Annotator], study: Study | None) -> dict[int, tuple[str, int]]:
    """Annotator -> status (empty if `study` is None), and number of studies."""
    rows = (
        Enrolment.objects.filter(annotator__in=annotators, **_in(study))
        .exclude(status=EnrolmentStatus.WITHDRAWN)
        .order_by()
        .values_list("annotator")
        .annotate(status=Min("status"), studies=Count("pk"))
    )
    return {pk: (status if study is not None else "", studies) for pk, status, studies in rows}
