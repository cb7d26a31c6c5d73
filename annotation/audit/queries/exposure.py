"""How long each annotator worked and what they met: for fair pay, and for their well-being.

Everything is counted from the answers themselves, in a few grouped queries for some annotators at a time,
each of which walks their own answers only. Who withdrew has nothing left to count, and is only counted.
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
_HARSH = (TaskKind.OFFENSIVENESS, TaskKind.DEPICTION)


@dataclass(frozen=True)
class Hours:
    """One annotator in one study, or in all.

    `answered` are units answered for the data, `surplus` those of them that came when all that were wanted
    were there (work all the same), `checks` gold items and attention checks, `training` training items,
    `revised` changes of mind. `offensiveness` and `depiction` are items of these kinds that were shown to
    them and answered or skipped. Hours are of all of it, as their browser measured them; `untimed` answers
    came without. `days` are days (UTC) with an answer.
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
    """One page of it; `withdrawn` people are in no row."""

    rows: tuple[Hours, ...]
    withdrawn: int

    @property
    def active_hours(self) -> float | None:
        """Of everybody; None where there are more pages than this one."""
        return sum(row.active_hours for row in self.rows) if self.pages == 1 else None


def page(study: Study | None, *, page: str | int = 1) -> Exposure:
    """A page of the annotators of `study` (None: of all studies together), by pseudonym; a `page` that there
    is not is the nearest one there is."""
    paginator = Paginator(annotators(study), PER_PAGE)
    part = paginator.get_page(page)
    return Exposure(
        rows=tuple(hours(list(part.object_list), study)),
        number=part.number,
        pages=paginator.num_pages,
        total=paginator.count,
        withdrawn=withdrawn(study),
    )


def everybody(study: Study | None) -> Iterator[Hours]:
    """All annotators, in constant memory."""
    running = annotators(study).iterator(chunk_size=_CHUNK)
    while some := list(islice(running, _CHUNK)):
        yield from hours(some, study)


def withdrawn(study: Study | None) -> int:
    """How many people withdrew from `study`, or from any."""
    gone = Enrolment.objects.filter(status=EnrolmentStatus.WITHDRAWN, **_in(study))
    return gone.values("annotator").distinct().count()


def annotators(study: Study | None) -> QuerySet[Annotator]:
    """Who takes part in `study`, or in any, and has not withdrawn from it, by pseudonym."""
    here = Enrolment.objects.filter(annotator=OuterRef("pk"), **_in(study)).exclude(
        status=EnrolmentStatus.WITHDRAWN
    )
    return Annotator.objects.filter(Exists(here)).order_by("pseudonym")


def _in(study: Study | None) -> dict[str, Study]:
    return {} if study is None else {"study": study}


def hours(annotators: list[Annotator], study: Study | None) -> Iterator[Hours]:
    """Their rows, in this order, by three queries."""
    answers, skips = _answers(annotators, study), _skips(annotators, study)
    standing = _standing(annotators, study)
    for who in annotators:
        said, passed = answers.get(who.pk, {}), skips.get(who.pk, {})
        status, studies = standing.get(who.pk, ("", 0))
        yield Hours(
            annotator=who.pseudonym,
            simulated=who.simulated,
            studies=studies,
            status=status,
            skipped=passed.get("number", 0),
            active_hours=(said.get("active_ms") or 0) / _MS_PER_HOUR,
            idle_hours=(said.get("idle_ms") or 0) / _MS_PER_HOUR,
            first=said.get("first"),
            last=said.get("last"),
            **{kind: said.get(kind, 0) + passed.get(kind, 0) for kind in map(str, _HARSH)},
            **{
                name: said.get(name, 0)
                for name in ("answered", "surplus", "checks", "training", "revised", "untimed", "days")
            },
        )


def _answers(annotators: list[Annotator], study: Study | None) -> dict[int, dict[str, Any]]:
    """Annotator -> what their answers add up to."""
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
            **{str(kind): Count("pk", filter=first & Q(unit__task__kind=kind)) for kind in _HARSH},
        )
    )
    return {row["annotator"]: dict(row) for row in rows}


def _skips(annotators: list[Annotator], study: Study | None) -> dict[int, dict[str, Any]]:
    """Annotator -> what they passed over."""
    found = Skip.objects.filter(annotator__in=annotators)
    if study is not None:
        found = found.filter(unit__task__study=study)
    rows = (
        found.order_by()
        .values("annotator")
        .annotate(
            number=Count("pk"),
            **{str(kind): Count("pk", filter=Q(unit__task__kind=kind)) for kind in _HARSH},
        )
    )
    return {row["annotator"]: dict(row) for row in rows}


def _standing(annotators: list[Annotator], study: Study | None) -> dict[int, tuple[str, int]]:
    """Annotator -> their status (in the one study; empty for all), and in how many studies they are."""
    rows = (
        Enrolment.objects.filter(annotator__in=annotators, **_in(study))
        .exclude(status=EnrolmentStatus.WITHDRAWN)
        .order_by()
        .values_list("annotator")
        .annotate(status=Min("status"), studies=Count("pk"))
    )
    return {pk: (status if study is not None else "", studies) for pk, status, studies in rows}


__all__ = ["PER_PAGE", "Exposure", "Hours", "annotators", "everybody", "hours", "page", "withdrawn"]
