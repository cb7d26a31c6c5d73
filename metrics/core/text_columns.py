"""Read each column of a query as one text, which numpy parses without a Python object for each value.

Within one query, both databases write all columns in the same row order.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db.models import Aggregate, QuerySet, TextField, Value
from django.db.models.expressions import Combinable

from metrics.core.stats.checks import Ints

_SEPARATOR = "\x1e"
"""The record separator: nobody types it."""


class JoinedText(Aggregate):
    """Numbers as one text, separated by commas; or texts, separated by `separator`."""

    function = "GROUP_CONCAT"
    output_field = TextField()

    def __init__(self, expression: str | Combinable, separator: str = ",") -> None:
        super().__init__(expression, Value(separator))

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        column, separator = self.get_source_expressions()[:2]
        sql, parameters = compiler.compile(column)
        separator_sql, more = compiler.compile(separator)
        return f"STRING_AGG(({sql})::text, {separator_sql})", (*parameters, *more)


def read_integers(rows: QuerySet[Any], *fields: str | Combinable) -> Ints:
    """Integer `fields` of `rows`, none of them null, shape (fields, rows)."""
    return read_integers_and_texts(rows, fields, ())[0]


def read_integers_and_texts(
    rows: QuerySet[Any], integers: Sequence[str | Combinable], texts: Sequence[str]
) -> tuple[Ints, list[list[str]]]:
    """Integer fields of `rows`, shape (fields, rows), and a list for each of `texts`; none may be null."""
    columns = {f"c{place}": JoinedText(field) for place, field in enumerate(integers)}
    columns |= {f"t{place}": JoinedText(field, _SEPARATOR) for place, field in enumerate(texts)}
    joined = rows.aggregate(**columns)
    found = [joined[name] for name in columns]
    if found[0] is None:
        return np.empty((len(integers), 0), dtype=np.int64), [[] for _ in texts]
    table = [np.fromstring(text, dtype=np.int64, sep=",") for text in found[: len(integers)]]
    return np.stack(table), [text.split(_SEPARATOR) for text in found[len(integers) :]]


def factorize(texts: list[str]) -> tuple[Ints, list[str]]:
    """The code of each text, and the distinct texts in order of first appearance."""
    known = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return np.fromiter(map(known.__getitem__, texts), dtype=np.int64, count=len(texts)), list(known)
