"""Columns of a query as one text each: a single row to fetch, where millions of rows would each be a tuple.

What fetching costs is not the database but a Python object for every value. A database can write a column of
numbers as one text and numpy can read it back, so that none is made. Both databases list the columns of one
query in the same order, whatever that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db.models import Aggregate, QuerySet, TextField, Value
from django.db.models.expressions import Combinable

from metrics.core.stats.checks import Ints

_SEPARATOR = "\x1e"
"""Stands between texts: the character made for it, which nobody types."""


class JoinedText(Aggregate):
    """Numbers as one text, with commas between; or texts, with `between`."""

    function = "GROUP_CONCAT"
    output_field = TextField()

    def __init__(self, expression: str | Combinable, between: str = ",") -> None:
        super().__init__(expression, Value(between))

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        listed, between = self.get_source_expressions()[:2]
        sql, parameters = compiler.compile(listed)
        separator, more = compiler.compile(between)
        return f"STRING_AGG(({sql})::text, {separator})", (*parameters, *more)


def read_integers(rows: QuerySet[Any], *fields: str | Combinable) -> Ints:
    """Whole-number `fields` of `rows`, none of them null, shape (fields, rows)."""
    return read_integers_and_texts(rows, fields, ())[0]


def read_integers_and_texts(
    rows: QuerySet[Any], whole: Sequence[str | Combinable], texts: Sequence[str]
) -> tuple[Ints, list[list[str]]]:
    """Whole-number fields of `rows`, shape (fields, rows), and for each of `texts` a list; none is null."""
    found = _aggregate(rows, whole, texts)
    if found is None:
        return np.empty((len(whole), 0), dtype=np.int64), [[] for _ in texts]
    table = [np.fromstring(text, dtype=np.int64, sep=",") for text in found[: len(whole)]]
    return np.stack(table), [text.split(_SEPARATOR) for text in found[len(whole) :]]


def _aggregate(
    rows: QuerySet[Any], whole: Sequence[str | Combinable], texts: Sequence[str]
) -> list[str] | None:
    sums = {f"c{place}": JoinedText(field) for place, field in enumerate(whole)}
    sums |= {f"t{place}": JoinedText(field, _SEPARATOR) for place, field in enumerate(texts)}
    found = rows.aggregate(**sums)
    return None if found["c0"] is None else [found[name] for name in sums]


def factorize(texts: list[str]) -> tuple[Ints, list[str]]:
    """Which of the different texts each is, and those, in the order in which they first occur."""
    known = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return np.fromiter(map(known.__getitem__, texts), dtype=np.int64, count=len(texts)), list(known)
