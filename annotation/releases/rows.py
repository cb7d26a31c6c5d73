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
from annotation.releases.annotators import People, PseudonymKey
from annotation.releases.request import judgements
from annotation.releases.screening import Screen

CHUNK_ROWS = 4_000
GROUP_ROWS = 20_000
"""Rows of a Parquet row group, all in memory at a time."""
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
    """Numbers of rows in a release."""

    responses: int = 0
    judgements: int = 0
    boxes: int = 0
    units: int = 0


@dataclass
class AnswerWriter:
    """Writes the answers of one release. `images`: names of the images by id. `screen`: None leaves out the
    justifications."""

    study: Study
    people: People
    key: PseudonymKey
    images: Mapping[int, str]
    screen: Screen | None
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        self._simulated = dict(zip(self.people.keys, self.people.simulated, strict=True))
        # If no annotator is known there is nobody to protect, and the original order is kept, so that seeded
        # draws give the same results.
        self._shuffled = bool(self.people.keys)
        self._labels = {(kind, one.value): one.name for kind, each in scales.SCALES.items() for one in each}

    @property
    def columns(self) -> columns.ColumnSpecs:
        every = columns.COLUMNS[columns.ANNOTATIONS]
        return every if self.screen else tuple(one for one in every if one[0] != columns.JUSTIFICATION)

    def write(self, folder: Path) -> None:
        """Write both files, in one pass."""
        schema = pa.schema([(name, _TYPES[kind]) for name, kind, _ in self.columns])
        with (
            (folder / columns.ANNOTATIONS).open("w", encoding="utf-8", newline="") as text,
            pq.ParquetWriter(folder / columns.PARQUET, schema) as table,
        ):
            writer = csv.writer(text)
            writer.writerow(schema.names)
            group: list[Row] = []
            for rows in self._chunks():
                writer.writerows(_csv_rows(rows, schema))
                group += rows
                if len(group) >= GROUP_ROWS:
                    table.write_batch(_batch(group, schema))
                    group.clear()
            if group:
                table.write_batch(_batch(group, schema))

    def _chunks(self) -> Iterator[list[Row]]:
        rows = judgements(self.study).order_by(*_FIELDS[:4]).values_list(*_FIELDS)
        chunk: list[Row] = []
        for _, of_unit in groupby(rows.iterator(chunk_size=CHUNK_ROWS), key=lambda row: row[:2]):
            chunk += self._renumbered(of_unit)
            if len(chunk) >= CHUNK_ROWS:
                yield self._released(chunk)
                chunk = []
        if chunk:
            yield self._released(chunk)

    def _renumbered(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows of one unit, with its responses in random order and renumbered."""
        responses = [list(each) for _, each in groupby(rows, key=lambda row: row[2])]
        if self._shuffled:
            responses.sort(key=lambda each: self.key.order(each[0][2]))
        self.counts.units += 1
        for each in responses:
            self.counts.responses += 1
            for row in each:
                yield (*row[:2], self.counts.responses, *row[3:])

    def _released(self, rows: list[Row]) -> list[Row]:
        boxes = boxes_of(row[4] for row in rows)
        self.counts.judgements += len(rows)
        self.counts.boxes += sum(map(len, boxes.values()))
        return [self._row(row, boxes.get(row[4], [])) for row in rows]

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
        released: Row = (
            kind,
            version,
            unit,
            option,
            self.images.get(image, ""),
            image_group or group or "",
            "" if role == OptionRole.NONE_OF_ABOVE else attribute or "",
            role,
            response,
            self.key.pseudonym(annotator) if annotator is not None and self.people.has_pseudonyms else "",
            self.study.simulated or self._simulated.get(annotator, False),
            (stratum or "") if self.people.strata_published else "",
            value,
            self._labels[kind, value],
            position,
            boxes,
            whole_image,
            rounded_seconds(active_ms),
            slot is None,
        )
        return (*released, self.screen(justification)) if self.screen else released


def rounded_seconds(active_ms: int | None) -> int | None:
    """A duration in seconds, rounded up to steps of STEP_SECONDS and capped at LONGEST_SECONDS."""
    if active_ms is None:
        return None
    step = columns.STEP_SECONDS
    return min(columns.LONGEST_SECONDS, step * max(1, -(-active_ms // (1000 * step))))


def csv_value(value: Any) -> Any:
    """A value as written to a CSV file."""
    if isinstance(value, str):
        return csv_text.safe_cell(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return json.dumps(value)
    return value


def _csv_rows(rows: list[Row], schema: pa.Schema) -> Iterator[tuple[Any, ...]]:
    """The rows as written to the CSV file. Column by column, since columns of numbers need no conversion."""
    typed_columns = zip(zip(*rows, strict=True), schema.types, strict=True)
    return zip(
        *(each if kind == _TYPES["number"] else map(_fast_csv_value, each) for each, kind in typed_columns),
        strict=True,
    )


def _fast_csv_value(value: Any) -> Any:
    """`csv_value`, made fast for the common cases: a few repeated texts and empty lists."""
    if isinstance(value, str):
        return _safe_text(value)
    return "[]" if value == [] else csv_value(value)


_safe_text = lru_cache(maxsize=10_000)(csv_text.safe_cell)


def _batch(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array(each, one.type) for each, one in zip(zip(*rows, strict=True), schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
