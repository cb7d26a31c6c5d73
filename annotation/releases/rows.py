"""The answers of a release: one row for each annotator, unit and option shown, as CSV and as Parquet."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annotation.core.csv_text import csv_lines
from annotation.exports.formats import parquet
from annotation.exports.table import LABELS, Corners, Row, boxes_of
from annotation.models import Study
from annotation.releases import columns
from annotation.releases.annotators import People, PseudonymKey
from annotation.releases.request import judgements
from annotation.releases.screening import Screen

CHUNK_ROWS = 10_000
"""Rows in memory at a time, at least: a row group of the Parquet file."""
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

    def write(self, folder: Path) -> None:
        """Write both files, in one pass."""
        specs = columns.answer_columns(with_text=self.screen is not None)
        schema = pa.schema([(name, parquet.TYPES[kind]) for name, kind, _ in specs])
        with (
            (folder / columns.ANNOTATIONS).open("w", encoding="utf-8", newline="") as text,
            pq.ParquetWriter(folder / columns.PARQUET, schema) as table,
        ):
            text.write(csv_lines([schema.names]))
            for rows in self._chunks():
                text.write(csv_lines(rows))
                table.write_batch(parquet.record_batch(rows, schema))

    def _chunks(self) -> Iterator[list[Row]]:
        rows = judgements(self.study).order_by(*_FIELDS[:4]).values_list(*_FIELDS, named=True)
        chunk: list[Any] = []
        for _, of_unit in groupby(rows.iterator(chunk_size=CHUNK_ROWS), key=lambda row: row[:2]):
            chunk += self._renumbered(of_unit)
            if len(chunk) >= CHUNK_ROWS:
                yield self._released(chunk)
                chunk = []
        if chunk:
            yield self._released(chunk)

    def _renumbered(self, rows: Iterable[Any]) -> Iterator[Any]:
        """The rows of one unit, with its responses in random order and renumbered."""
        responses = [list(each) for _, each in groupby(rows, key=lambda row: row.response_id)]
        if self._shuffled:
            responses.sort(key=lambda each: self.key.order(each[0].response_id))
        self.counts.units += 1
        for each in responses:
            self.counts.responses += 1
            for row in each:
                yield row._replace(response_id=self.counts.responses)

    def _released(self, rows: list[Any]) -> list[Row]:
        boxes = boxes_of(row.pk for row in rows)
        self.counts.judgements += len(rows)
        self.counts.boxes += sum(map(len, boxes.values()))
        return [self._row(row, boxes.get(row.pk, [])) for row in rows]

    def _row(self, row: Any, boxes: list[Corners]) -> Row:
        annotator = row.response__annotator_id
        released: Row = (
            row.response__unit__task__kind,
            row.response__unit__task__version,
            row.response__unit__position,
            row.option__position,
            self.images.get(row.response__unit__image_id, ""),
            row.response__unit__image__group__name or row.response__unit__association__group__name or "",
            row.option__attribute__text or "",
            row.option__role,
            row.response_id,
            self.key.pseudonym(annotator) if annotator is not None and self.people.has_pseudonyms else "",
            self.study.simulated or self._simulated.get(annotator, False),
            (row.response__slot__stratum or "") if self.people.strata_published else "",
            row.value,
            LABELS[row.response__unit__task__kind, row.value],
            row.position,
            boxes,
            row.whole_image,
            rounded_seconds(row.response__active_ms),
            row.response__slot_id is None,
        )
        return (*released, self.screen(row.justification)) if self.screen else released


def rounded_seconds(active_ms: int | None) -> int | None:
    """A duration in seconds, rounded up to steps of STEP_SECONDS and capped at LONGEST_SECONDS."""
    if active_ms is None:
        return None
    step = columns.STEP_SECONDS
    return min(columns.LONGEST_SECONDS, step * max(1, -(-active_ms // (1000 * step))))
