"""Read each column of a query as one text, which numpy parses without a Python object for each value.

Within one query, both databases write all columns in the same row order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from django.db.models import Aggregate, Func, QuerySet, TextField
from django.db.models.expressions import Combinable

from metrics.core.stats.checks import Ints

_SEPARATOR = "\x1e"
"""The record separator: nobody types it."""


class _Joined(Func):
    # The separator stands in the SQL: SQLite takes a quarter more time to read a parameter for each row.
    template = "GROUP_CONCAT(%(expressions)s, '%(separator)s')"
    output_field = TextField()

    def __init__(self, expression: str | Combinable, separator: str = ",") -> None:
        super().__init__(expression, separator=separator)

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        template = "STRING_AGG((%(expressions)s)::text, '%(separator)s')"
        return self.as_sql(compiler, connection, template=template)


class JoinedText(_Joined, Aggregate):
    """Numbers as one text, separated by commas; or texts, separated by `separator`."""


class JoinedOfAll(_Joined):
    """The same of all rows of a subquery. An aggregate would make it group them, which takes a third more."""


def read_integers(rows: QuerySet[Any], *fields: str | Combinable) -> Ints:
    """Integer `fields` of `rows`, none of them null, shape (fields, rows)."""
    return read_integers_and_texts(rows, fields, ())[0]


@dataclass(frozen=True)
class NumberedTexts:
    """`numbers`: of each row, the place of its text in `texts`, in which each text stands once, in the order
    in which they first occur."""

    numbers: Ints
    texts: list[str]


def read_integers_and_texts(
    rows: QuerySet[Any], integers: Sequence[str | Combinable], texts: Sequence[str]
) -> tuple[Ints, list[NumberedTexts]]:
    """Integer fields of `rows`, shape (fields, rows), and the numbered texts of each of `texts`; none may be
    null."""
    columns = {f"c{place}": JoinedText(field) for place, field in enumerate(integers)}
    columns |= {f"t{place}": JoinedText(field, _SEPARATOR) for place, field in enumerate(texts)}
    joined = rows.aggregate(**columns)
    found = [joined[name] for name in columns]
    if found[0] is None:
        none = np.empty((len(integers), 0), dtype=np.int64)
        return none, [NumberedTexts(np.empty(0, dtype=np.int64), []) for _ in texts]
    table = [np.fromstring(text, dtype=np.int64, sep=",") for text in found[: len(integers)]]
    return np.stack(table), [_numbered(text) for text in found[len(integers) :]]


def _numbered(joined: str) -> NumberedTexts:
    text = joined.encode()
    # from buffers, and not to_numpy(): the usual ways import pandas, which takes longer than a small study
    one = pa.LargeStringArray.from_buffers(1, pa.py_buffer(np.array([0, len(text)])), pa.py_buffer(text))
    each = pc.split_pattern(one, _SEPARATOR).flatten().dictionary_encode()
    return NumberedTexts(np.from_dlpack(each.indices).astype(np.int64), each.dictionary.to_pylist())
