"""The audit log, and hours and exposure: how long each annotator worked and what they saw (docs/audit.md).

Hours are computed from the answers. People who withdrew have no answers left, so only their number is given.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from annotation.models import (
    Annotator,
    AuditEvent,
    Enrolment,
    EnrolmentStatus,
    Purpose,
    Response,
    Skip,
    Study,
    TaskKind,
)

ANNOTATORS_PER_PAGE = 50
_LOOKUPS = {
    "what": "what",
    "study": "study__name",
    "who": "by__username",
    "since": "at__date__gte",
    "until": "at__date__lte",
}
_MS_PER_HOUR = 3_600_000
_EXPOSURE_KINDS = (TaskKind.OFFENSIVENESS, TaskKind.DEPICTION, TaskKind.ASSOCIATION)


def choices() -> dict[str, list[tuple[str, str]]]:
    """The kinds of events, studies and accounts in the log: filter -> (value, label) of each."""
    found = AuditEvent.objects.order_by()
    kinds = found.values_list("what", flat=True).distinct().order_by("what")
    studies = Study.objects.filter(pk__in=found.values("study")).order_by("title")
    accounts = get_user_model().objects.filter(pk__in=found.values("by")).order_by("username")
    return {
        "what": [(kind, kind) for kind in kinds],
        "study": list(studies.values_list("name", "title")),
        "who": [(name, name) for name in accounts.values_list("username", flat=True)],
    }


def events(filters: Mapping[str, Any]) -> QuerySet[AuditEvent]:
    """The matching events, newest first. An empty filter does not filter; `study` is a study's name, `who` an
    account's, and `since` and `until` are days (UTC), both included."""
    lookups = {_LOOKUPS[name]: value for name, value in filters.items() if value}
    return AuditEvent.objects.filter(**lookups).select_related("by", "study").order_by("-pk")


@dataclass(frozen=True)
class Hours:
    """One annotator in one study, or in all. docs/audit.md and the serializer describe each number."""

    annotator: str
    simulated: bool
    studies: int
    status: str
    active_hours: float
    idle_hours: float
    untimed: int
    answered: int
    surplus: int
    checks: int
    training: int
    revised: int
    skipped: int
    offensiveness: int
    depiction: int
    association: int
    days: int
    first: datetime | None
    last: datetime | None

    @property
    def status_label(self) -> str:
        return EnrolmentStatus(self.status).label if self.status else ""


def hours_page(study: Study | None, *, page: str | int = 1) -> Page[Hours]:
    """A page of the annotators of `study` (None: of all studies), sorted by pseudonym. A `page` out of range
    gives the nearest page."""
    found: Page[Any] = Paginator(annotators(study), ANNOTATORS_PER_PAGE).get_page(page)
    found.object_list = list(hours(list(found.object_list), study))
    return found


def withdrawn(study: Study | None) -> int:
    """How many people withdrew from `study`, or from any study."""
    enrolments = Enrolment.objects.filter(status=EnrolmentStatus.WITHDRAWN, **_in("study", study))
    return enrolments.values("annotator").distinct().count()


def annotators(study: Study | None) -> QuerySet[Annotator]:
    """The annotators in `study`, or in any study, who have not withdrawn from it, sorted by pseudonym."""
    enrolments = _current(study).filter(annotator=OuterRef("pk"))
    return Annotator.objects.filter(Exists(enrolments)).order_by("pseudonym")


def hours(annotators: list[Annotator], study: Study | None) -> Iterator[Hours]:
    """A row for each of the annotators, in this order, with three queries."""
    first = Q(revision=1)
    data = first & Q(unit__purpose=Purpose.DATA)
    responses = Response.objects.filter(
        annotator__in=annotators, withdrawn_at__isnull=True, **_in("unit__task__study", study)
    )
    all_answers = _by_annotator(
        responses,
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
    all_skips = _by_annotator(
        Skip.objects.filter(annotator__in=annotators, **_in("unit__task__study", study)),
        skipped=Count("pk"),
        **{str(kind): Count("pk", filter=Q(unit__task__kind=kind)) for kind in _EXPOSURE_KINDS},
    )
    enrolments = _by_annotator(
        _current(study).filter(annotator__in=annotators), status=Min("status"), studies=Count("pk")
    )
    for annotator in annotators:
        answers, skips = all_answers.get(annotator.pk, {}), all_skips.get(annotator.pk, {})
        enrolment = enrolments.get(annotator.pk, {"status": "", "studies": 0})
        yield Hours(
            annotator=annotator.pseudonym,
            simulated=annotator.simulated,
            studies=enrolment["studies"],
            status=enrolment["status"] if study is not None else "",
            skipped=skips.get("skipped", 0),
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


def _in(path: str, study: Study | None) -> dict[str, Study]:
    return {} if study is None else {path: study}


def _current(study: Study | None) -> QuerySet[Enrolment]:
    return Enrolment.objects.filter(**_in("study", study)).exclude(status=EnrolmentStatus.WITHDRAWN)


def _by_annotator(rows: QuerySet[Any], **totals: Any) -> dict[int, dict[str, Any]]:
    """Annotator -> totals of their rows."""
    return {row["annotator"]: row for row in rows.order_by().values("annotator").annotate(**totals)}
