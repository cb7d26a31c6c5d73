"""The long table as Parquet: typed columns, written one row group at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from annotation.exports import table
from annotation.exports.formats import postgres_copy
from annotation.exports.packing import Drain, File
from annotation.exports.selection import Selection

_TYPES = {
    "text": pa.string(),
    "number": pa.int64(),
    "yes/no": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "boxes": pa.list_(pa.list_(pa.float64())),
}
SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind, _ in table.DESCRIBED])
GROUP_ROWS = 20_000
"""Rows of a row group: as many are in memory at a time."""


def parquet_files(selection: Selection) -> Iterator[File]:
    yield File("annotations.parquet", _groups(selection))


def _groups(selection: Selection) -> Iterator[bytes]:
    drain = Drain()
    with pq.ParquetWriter(drain, SCHEMA) as writer:
        held: list[pa.RecordBatch] = []
        for batch in batches(selection):
            held.append(batch)
            if sum(batch.num_rows for batch in held) >= GROUP_ROWS:
                writer.write_table(pa.Table.from_batches(held))
                held.clear()
                yield drain.take()
        if held:
            writer.write_table(pa.Table.from_batches(held))
    yield drain.take()


def batches(selection: Selection) -> Iterator[pa.RecordBatch]:
    """The rows in typed columns, table.CHUNK at a time."""
    if not postgres_copy.is_possible():
        yield from made(selection)
        return
    for lines in postgres_copy.lines(selection, defused=False):
        yield _read(lines)
        selection.read(len(lines))


def made(selection: Selection) -> Iterator[pa.RecordBatch]:
    """The same, row by row."""
    for rows in table.chunks(selection):
        columns = zip(*rows, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _read(lines: list[bytes]) -> pa.RecordBatch:
    text = b"\n".join((*lines, b""))
    read = csv.read_csv(
        pa.py_buffer(text),
        read_options=csv.ReadOptions(column_names=SCHEMA.names, use_threads=False, block_size=len(text) + 1),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types={**{field.name: field.type for field in SCHEMA}, "boxes": pa.string()},
            null_values=[""],
            strings_can_be_null=False,
            true_values=["yes"],
            false_values=["no"],
        ),
    ).combine_chunks()
    place = SCHEMA.get_field_index("boxes")
    boxes = pa.array(map(json.loads, read.column(place).to_pylist()), SCHEMA.field(place).type)
    [batch] = read.set_column(place, SCHEMA.field(place), boxes).cast(SCHEMA).to_batches()
    return batch


__all__ = ["batches", "made", "parquet_files"]
