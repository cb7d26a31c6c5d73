"""Stored scores as tables: all of them as CSV, and the first rows for a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import F

from annotation.core.csv_text import csv_lines
from metrics.core.marks import KIND_OF, Axis, scaled_axis
from metrics.models import Score
from metrics.report.queries.runs import StoredRun

COLUMNS = ("identity", "axis", "attribute", "part", "score", "n", "k", "value", "low", "high")
"""Of a CSV file: one score in each row; those of `manage.py scores` with the kind of group."""
MAX_ROWS = 500
"""In the table of a page."""
_BATCH = 1000
_KINDS = {
    "attribute_offensiveness": "offensive",
    "bias_levels": "whole_share",
    "bias_levels association": "rating",
    "bias_levels mean": "rating",
    "consensus": "per_cent",
    "rated_offensiveness": "offensive",
}
"""{metric, or metric and name of a score: the kind of it}, where the name alone does not say it."""


@dataclass(frozen=True)
class Row:
    """The scores of one group, attribute and part; None where there is no such score."""

    group: str
    attribute: str
    part: str
    scores: tuple[Score | None, ...]


@dataclass(frozen=True)
class Table:
    """The first rows of a run's scores. `names`: of the scores, one a column; `axes`: of each, None if none
    of its scores has an interval; `total`: number of all rows. The others say which columns are needed."""

    stored: StoredRun
    names: tuple[str, ...]
    axes: tuple[Axis | None, ...]
    rows: tuple[Row, ...]
    total: int
    groups: bool
    attributes: bool
    parts: bool

    @property
    def left_out(self) -> int:
        return self.total - len(self.rows)


def read_table(stored: StoredRun) -> Table:
    """The first MAX_ROWS rows of a run, by group, attribute and part. Four queries."""
    found = stored.scores().order_by()
    present = set(found.values_list("name", flat=True).distinct())
    names = tuple(name for name, _ in stored.metric.names if name in present)
    total = found.values("group", "attribute", "part").distinct().count()
    rows = list(islice(_rows(_ordered(stored), names), MAX_ROWS))
    return Table(
        stored=stored,
        names=names,
        axes=tuple(
            _axis(stored.metric.name, name, [row.scores[place] for row in rows])
            for place, name in enumerate(names)
        ),
        rows=tuple(rows),
        total=total,
        groups=any(row.group for row in rows),
        attributes=any(row.attribute for row in rows),
        parts=any(row.part for row in rows),
    )


def _axis(metric: str, name: str, scores: Sequence[Score | None]) -> Axis | None:
    found = [(score.value, score.low, score.high) for score in scores if score is not None]
    if all(low is None for _value, low, _high in found):
        return None
    kind = _KINDS.get(f"{metric} {name}") or _KINDS.get(metric) or KIND_OF.get(name, "number")
    return scaled_axis(kind, found)


def csv_pieces(stored: StoredRun) -> Iterator[bytes]:
    """All scores of a run as CSV with every digit, in the order of `read_table`, read in batches."""
    yield csv_lines([COLUMNS]).encode()
    scores = iter(_ordered(stored))
    while batch := list(islice(scores, _BATCH)):
        yield csv_lines(
            (
                score.group.name if score.group else "",
                score.group.axis if score.group else "",
                score.attribute.text if score.attribute else "",
                score.part,
                score.name,
                *(score.n, score.k, score.value, score.low, score.high),
            )
            for score in batch
        ).encode()


def _ordered(stored: StoredRun) -> Iterator[Score]:
    scores = stored.scores().select_related("group", "attribute")
    # Databases differ in where nulls come.
    ordered = scores.order_by(
        F("group__name").asc(nulls_first=True),
        F("group").asc(nulls_first=True),
        F("attribute__text").asc(nulls_first=True),
        "part",
        "name",
    )
    return ordered.iterator(chunk_size=_BATCH)


def _rows(scores: Iterator[Score], names: tuple[str, ...]) -> Iterator[Row]:
    key: tuple[object, ...] | None = None
    of_row: dict[str, Score] = {}
    for score in scores:
        new = (score.group_id, score.attribute_id, score.part)
        if key is not None and new != key:
            yield _row(of_row, names)
            of_row = {}
        key = new
        of_row[score.name] = score
    if of_row:
        yield _row(of_row, names)


def _row(of_row: dict[str, Score], names: tuple[str, ...]) -> Row:
    first = next(iter(of_row.values()))
    return Row(
        first.group.name if first.group else "",
        first.attribute.text if first.attribute else "",
        first.part,
        tuple(of_row.get(name) for name in names),
    )
