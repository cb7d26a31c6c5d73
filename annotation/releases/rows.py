"""The answers of a release: one row for each annotator, unit and option shown, as CSV and as Parquet.

One query, read a few thousand rows at a time; memory does not grow with the study.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annotation.core import csv_text, scales
from annotation.exports.table import Corners, boxes_of
from annotation.models import OptionRole, Study
from annotation.releases import columns
from annotation.releases.annotators import Key, People
from annotation.releases.request import judgements
from annotation.releases.screening import Screen

AT_ONCE = 4_000
GROUP_ROWS = 20_000
"""Rows of a Parquet row group: as many are in memory at a time."""
_TYPES = {
    "text": pa.string(),
    "number": pa.int64(),
    "yes/no": pa.bool_(),
    "boxes": pa.list_(pa.list_(pa.float64())),
}
_FIELDS = (
    "response__unit__task_id",
    "response__unit__position",
    "response_id",
    "option__position",
    "pk",
    "response__unit__task__kind",
    "response__unit__task__version",
    "response__unit__image_id",
    "response__unit__image__group__name",
    "response__unit__association__group__name",
    "option__attribute__text",
    "option__role",
    "response__annotator_id",
    "response__slot_id",
    "response__slot__stratum",
    "response__active_ms",
    "value",
    "position",
    "whole_image",
    "justification",
)
Row = tuple[Any, ...]


@dataclass
class Counts:
    """How much is in a release."""

    responses: int = 0
    judgements: int = 0
    boxes: int = 0
    units: int = 0


@dataclass
class Answers:
    """The rows of one release. `images`: what the image of a unit is called. `screen`: None leaves out what
    people wrote."""

    study: Study
    people: People
    key: Key
    images: Mapping[int, str]
    screen: Screen | None
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        self._simulated = dict(zip(self.people.keys, self.people.simulated, strict=True))
        # Where nobody is known there is nobody to hide, and the order of the source is kept, so that what is
        # drawn with a seed is drawn the same again.
        self._shuffled = bool(self.people.keys)
        self._labels = {(kind, one.value): one.name for kind, each in scales.SCALES.items() for one in each}

    @property
    def columns(self) -> columns.Described:
        every = columns.COLUMNS[columns.ANNOTATIONS]
        return every if self.screen else tuple(one for one in every if one[0] != columns.JUSTIFICATION)

    def write(self, folder: Path) -> None:
        """Both files, in one pass."""
        schema = pa.schema([(name, _TYPES[kind]) for name, kind, _ in self.columns])
        with (
            (folder / columns.ANNOTATIONS).open("w", encoding="utf-8", newline="") as text,
            pq.ParquetWriter(folder / columns.PARQUET, schema) as table,
        ):
            writer = csv.writer(text)
            writer.writerow(schema.names)
            held: list[Row] = []
            for rows in self._chunks():
                writer.writerows(_as_text(rows, schema))
                held += rows
                if len(held) >= GROUP_ROWS:
                    table.write_batch(_batch(held, schema))
                    held.clear()
            if held:
                table.write_batch(_batch(held, schema))

    def _chunks(self) -> Iterator[list[Row]]:
        rows = judgements(self.study).order_by(*_FIELDS[:4]).values_list(*_FIELDS)
        held: list[Row] = []
        for _, of_unit in groupby(rows.iterator(chunk_size=AT_ONCE), key=lambda row: row[:2]):
            held += self._of_unit(of_unit)
            if len(held) >= AT_ONCE:
                yield self._made(held)
                held = []
        if held:
            yield self._made(held)

    def _of_unit(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows of one unit, its responses in an order of chance, numbered anew."""
        given = [list(each) for _, each in groupby(rows, key=lambda row: row[2])]
        if self._shuffled:
            given.sort(key=lambda each: self.key.order(each[0][2]))
        self.counts.units += 1
        for each in given:
            self.counts.responses += 1
            for row in each:
                yield (*row[:2], self.counts.responses, *row[3:])

    def _made(self, rows: list[Row]) -> list[Row]:
        drawn = boxes_of(row[4] for row in rows)
        self.counts.judgements += len(rows)
        self.counts.boxes += sum(map(len, drawn.values()))
        return [self._row(row, drawn.get(row[4], [])) for row in rows]

    def _row(self, row: Row, boxes: list[Corners]) -> Row:
        (
            _task,
            unit,
            response,
            option,
            _key,
            kind,
            version,
            image,
            image_group,
            group,
            attribute,
            role,
            annotator,
            slot,
            stratum,
            active_ms,
            value,
            position,
            whole_image,
            justification,
        ) = row
        made: Row = (
            kind,
            version,
            unit,
            option,
            self.images.get(image, ""),
            image_group or group or "",
            "" if role == OptionRole.NONE_OF_ABOVE else attribute or "",
            role,
            response,
            self.key.pseudonym(annotator) if annotator is not None and self.people.named else "",
            self.study.simulated or self._simulated.get(annotator, False),
            (stratum or "") if self.people.strata_told else "",
            value,
            self._labels[kind, value],
            position,
            boxes,
            whole_image,
            seconds(active_ms),
            slot is None,
        )
        return (*made, self.screen(justification)) if self.screen else made


def seconds(active_ms: int | None) -> int | None:
    """A duration as it is told: in steps, rounded up, the longest for all that are longer."""
    if active_ms is None:
        return None
    step = columns.STEP_SECONDS
    return min(columns.LONGEST_SECONDS, step * max(1, -(-active_ms // (1000 * step))))


def cell(value: Any) -> Any:
    """A value as it stands in a CSV file."""
    if isinstance(value, str):
        return csv_text.safe_cell(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return json.dumps(value)
    return value


def _as_text(rows: list[Row], schema: pa.Schema) -> Iterator[tuple[Any, ...]]:
    """The rows as they stand in the CSV file: a column at a time, since numbers need nothing done."""
    columns_of = zip(zip(*rows, strict=True), schema.types, strict=True)
    return zip(
        *(each if kind == _TYPES["number"] else map(_cell, each) for each, kind in columns_of), strict=True
    )


def _cell(value: Any) -> Any:
    """`cell`, of which most are the same few texts and empty lists."""
    if isinstance(value, str):
        return _told(value)
    return "[]" if value == [] else cell(value)


_told = lru_cache(maxsize=10_000)(csv_text.safe_cell)


def _batch(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array(each, one.type) for each, one in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


__all__ = ["Answers", "Counts", "cell", "seconds"]
