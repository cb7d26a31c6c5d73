"""How each annotator worked: answers, time, checks (PROTOCOL §10). Aggregated in SQL, a few queries."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet, Sum, Window
from django.db.models.functions import RowNumber

from annotation.models import OptionRole, Purpose, Response, Study, TaskKind
from metrics.core.answers import counted_judgements

_KIND = "unit__task__kind"


@dataclass(frozen=True)
class Speed:
    """`answers` that were timed, and the medians of their active and idle milliseconds."""

    answers: int
    active: float
    idle: float | None


def speeds(study: Study) -> dict[tuple[int, str], Speed]:
    """{(annotator, kind of task): how fast they answer}; annotator 0 is everybody. Four queries."""
    found = {}
    for everybody in (True, False):
        active, idle = (_medians(study, name, everybody=everybody) for name in ("active_ms", "idle_ms"))
        for key, (number, median) in active.items():
            found[key] = Speed(number, median, idle[key][1] if key in idle else None)
    return found


def _medians(study: Study, name: str, *, everybody: bool) -> dict[tuple[int, str], tuple[int, float]]:
    """Number and median by annotator and kind: the middle of the ordered rows, or the mean of the two."""
    parts = [F(_KIND)] if everybody else [F(_KIND), F("annotator_id")]
    rows = (
        _responses(study)
        .filter(**{f"{name}__isnull": False})
        .annotate(
            place=Window(RowNumber(), partition_by=parts, order_by=F(name).asc()),
            number=Window(Count("pk"), partition_by=parts),
        )
        .filter(place__gte=F("number") / 2.0, place__lte=F("number") / 2.0 + 1)
    )
    found: dict[tuple[int, str], list[float]] = {}
    numbers: dict[tuple[int, str], int] = {}
    for annotator, kind, number, value in rows.values_list("annotator_id", _KIND, "number", name):
        key = (0 if everybody else annotator, kind)
        found.setdefault(key, []).append(value)
        numbers[key] = number
    return {key: (numbers[key], sum(middle) / len(middle)) for key, middle in found.items()}


def answer_counts(study: Study) -> dict[int, int]:
    """{annotator: responses that count}."""
    rows = _responses(study).order_by().values_list("annotator_id").annotate(Count("pk"))
    return dict(rows)


def none_of_above(study: Study) -> dict[int, tuple[int, int]]:
    """{annotator: (pages on which they chose 'none of the above', pages that offered it)}."""
    rows = (
        counted_judgements(study, TaskKind.DEPICTION)
        .filter(option__role=OptionRole.NONE_OF_ABOVE, response__annotator__isnull=False)
        .order_by()
        .values_list("response__annotator_id")
        .annotate(chosen=Count("pk", filter=Q(value=1)), offered=Count("pk"))
    )
    return {annotator: (chosen, offered) for annotator, chosen, offered in rows}


def checks_fingerprint(study: Study) -> tuple[int, int]:
    """Two numbers that change with the answers to gold items and attention checks: how many, sum of ids."""
    found = Response.objects.filter(
        unit__task__study=study,
        unit__purpose__in=(Purpose.GOLD, Purpose.ATTENTION),
        current=True,
        withdrawn_at__isnull=True,
    ).aggregate(count=Count("pk"), total=Sum("pk"))
    return found["count"], found["total"] or 0


def unidentified_count(study: Study) -> int:
    """How many responses that count name no annotator."""
    return _counted(study).filter(annotator__isnull=True).count()


def _responses(study: Study) -> QuerySet[Response]:
    """The responses that count, of annotators who are known."""
    return _counted(study).filter(annotator__isnull=False)


def _counted(study: Study) -> QuerySet[Response]:
    return Response.objects.filter(
        unit__task__study=study, current=True, withdrawn_at__isnull=True, slot__isnull=False
    )
