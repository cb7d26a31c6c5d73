"""Fingerprints of the rows that a score is computed from, and consistent reads of these rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db.models import Count, F, QuerySet, Sum

from annotation.core import snapshots
from annotation.models import ProfileAnswer, Study
from metrics.core.answers import stereotypes

# A prime below 2^31, so that the square of a remainder still fits in a signed 64-bit integer.
_PRIME = 2_147_483_647
# Fingerprints already computed in the current snapshot, by SQL text.
_cached: ContextVar[dict[str, list[int]] | None] = ContextVar("known", default=None)


def _sql_of(rows: QuerySet[Any]) -> str:
    """The SQL of the query, or "" if Django knows that it has no rows."""
    try:
        return str(rows.order_by().query)
    except EmptyResultSet:
        return ""


def fingerprint(rows: QuerySet[Any]) -> list[int]:
    """Three numbers that change with the set of rows: count, sum of ids, sum of squared ids mod p.

    Answers are append-only, so the ids are enough: a new answer or revision has a new id, and a withdrawn or
    replaced one leaves the set. The squares distinguish sets of the same size and sum.
    """
    remainder = F("pk") % _PRIME  # not Mod: SQLite's is of floating-point numbers
    known = _cached.get()
    query = "" if known is None else _sql_of(rows)
    if known and query in known:
        return known[query]
    found = rows.order_by().aggregate(
        count=Count("pk"), total=Sum("pk"), squares=Sum((remainder * remainder) % _PRIME)
    )
    numbers = [int(found["count"]), int(found["total"] or 0), int(found["squares"] or 0)]
    if known is not None and query:
        known[query] = numbers
    return numbers


def offensiveness_fingerprint(study: Study) -> list[list[object]]:
    ratings = stereotypes(study).order_by("pk")
    return [list(row) for row in ratings.values_list("pk", "offensiveness", "offensiveness_mean")]


def profiles_fingerprint(study: Study) -> list[list[object]]:
    """The profile answers of the annotators of `study`."""
    answers = ProfileAnswer.objects.filter(annotator__responses__unit__task__study=study).distinct()
    return sorted(map(list, answers.order_by().values_list("annotator_id", "field", "value")))


@contextmanager
def snapshot() -> Iterator[None]:
    """Several reads that see one state of the database, so that a digest matches the rows that were read. For
    reading only: fingerprints are cached inside it.
    """
    with snapshots.snapshot():
        token = _cached.set({}) if _cached.get() is None else None
        try:
            yield
        finally:
            if token is not None:
                _cached.reset(token)
