"""What changes with the rows that a score is computed from, and reads that see one state of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db.models import Count, F, QuerySet, Sum
from django.db.models.functions import Mod

from annotation.core import snapshots
from annotation.models import ProfileAnswer, Study
from metrics.core.answers import stereotypes

# A prime below 2^31, so that the square of a remainder still fits in a signed 64-bit integer.
_PRIME = 2_147_483_647
# Fingerprints that were taken of the state which a snapshot sees.
_cached: ContextVar[dict[str, list[int]] | None] = ContextVar("known", default=None)


def _sql_of(rows: QuerySet[Any]) -> str:
    """The query, or nothing where Django sees that there can be no rows."""
    try:
        return str(rows.order_by().query)
    except EmptyResultSet:
        return ""


def fingerprint(rows: QuerySet[Any]) -> list[int]:
    """Three numbers that change with the set of rows: count, sum of ids, sum of squared ids mod p.

    Answers are append-only, so a set of ids says all: a new answer or revision is a new id, a withdrawn or
    replaced one is gone. The squares tell apart sets of the same size and sum.
    """
    remainder = Mod(F("pk"), _PRIME)
    known = _cached.get()
    query = "" if known is None else _sql_of(rows)
    if known and query in known:
        return known[query]
    found = rows.order_by().aggregate(
        count=Count("pk"), total=Sum("pk"), squares=Sum(Mod(remainder * remainder, _PRIME))
    )
    numbers = [int(found["count"]), int(found["total"] or 0), int(found["squares"] or 0)]
    if known is not None and query:
        known[query] = numbers
    return numbers


def offensiveness_fingerprint(study: Study) -> list[list[object]]:
    ratings = stereotypes(study).order_by("pk")
    return [list(row) for row in ratings.values_list("pk", "offensiveness", "offensiveness_mean")]


def profiles_fingerprint(study: Study) -> list[list[object]]:
    """What the annotators of `study` say of themselves."""
    said = ProfileAnswer.objects.filter(annotator__responses__unit__task__study=study).distinct()
    return sorted(map(list, said.order_by().values_list("annotator_id", "field", "value")))


@contextmanager
def snapshot() -> Iterator[None]:
    """Several reads that see one state of the database, so that a digest fits the rows it stands for. Only
    for reading: what was counted within it is not counted again.
    """
    with snapshots.snapshot():
        token = _cached.set({}) if _cached.get() is None else None
        try:
            yield
        finally:
            if token is not None:
                _cached.reset(token)
