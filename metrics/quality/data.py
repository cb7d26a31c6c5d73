"""Read how each annotator worked: answers, time, checks (PROTOCOL §10). A few SQL aggregates."""

from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet, Sum, Window
from django.db.models.functions import RowNumber

from annotation.models import OptionRole, Purpose, Response, Study, TaskKind
from metrics.core.answers import counted_judgements

_KIND = "unit__task__kind"


@dataclass(frozen=True)
class Speed:
    """The number of timed `answers`, and the medians of their active and idle milliseconds."""

    answers: int
    active: float
    idle: float | None


def speeds(study: Study) -> dict[tuple[int, str], Speed]:
    """{(annotator, kind of task): speed}; annotator 0 means all annotators. Four queries."""
    found = {}
    for all_annotators in (True, False):
        active, idle = (
            _medians(study, name, all_annotators=all_annotators) for name in ("active_ms", "idle_ms")
        )
        for key, (number, median) in active.items():
            found[key] = Speed(number, median, idle[key][1] if key in idle else None)
    return found


def _medians(study: Study, name: str, *, all_annotators: bool) -> dict[tuple[int, str], tuple[int, float]]:
    """Number and median by annotator and kind, from the middle one or two of the ordered rows."""
    parts = [F(_KIND)] if all_annotators else [F(_KIND), F("annotator_id")]
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
        key = (0 if all_annotators else annotator, kind)
        found.setdefault(key, []).append(value)
        numbers[key] = number
    return {key: (numbers[key], sum(middle) / len(middle)) for key, middle in found.items()}


def answer_counts(study: Study) -> dict[int, int]:
    """{annotator: number of counted responses}."""
    rows = _responses(study).order_by().values_list("annotator_id").annotate(Count("pk"))
    return dict(rows)


def none_of_above(study: Study) -> dict[int, tuple[int, int]]:
    """{annotator: (responses with 'none of the above', responses that offered it)}."""
    rows = (
        counted_judgements(study, TaskKind.DEPICTION)
        .filter(option__role=OptionRole.NONE_OF_ABOVE, response__annotator__isnull=False)
        .order_by()
        .values_list("response__annotator_id")
        .annotate(chosen=Count("pk", filter=Q(value=1)), offered=Count("pk"))
    )
    return {annotator: (chosen, offered) for annotator, chosen, offered in rows}


def checks_fingerprint(study: Study) -> tuple[int, int]:
    """Count and sum of ids of the answers to gold items and attention checks; changes with the answers."""
    found = Response.objects.filter(
        unit__task__study=study,
        unit__purpose__in=(Purpose.GOLD, Purpose.ATTENTION),
        current=True,
        withdrawn_at__isnull=True,
    ).aggregate(count=Count("pk"), total=Sum("pk"))
    return found["count"], found["total"] or 0


def unidentified_count(study: Study) -> int:
    """The number of counted responses without an annotator."""
    return _counted(study).filter(annotator__isnull=True).count()


def _responses(study: Study) -> QuerySet[Response]:
    """The counted responses of known annotators."""
    return _counted(study).filter(annotator__isnull=False)


def _counted(study: Study) -> QuerySet[Response]:
    return Response.objects.filter(
        unit__task__study=study, current=True, withdrawn_at__isnull=True, slot__isnull=False
    )
