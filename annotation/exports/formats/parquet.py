"""The long table as Parquet: typed columns, written one row group at a time."""

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from annotation.exports import table
from annotation.exports.formats import postgres_copy
from annotation.exports.packing import File, StreamBuffer
from annotation.exports.selection import Selection

TYPES = {
    "text": pa.string(),
    "number": pa.int64(),
    "yes/no": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "boxes": pa.list_(pa.list_(pa.float64())),
}
SCHEMA = pa.schema([(name, TYPES[kind]) for name, kind, _ in table.COLUMN_SPECS])
GROUP_ROWS = 20_000
"""Rows of a row group, all in memory at a time."""


def parquet_files(selection: Selection) -> Iterator[File]:
    yield File("annotations.parquet", _groups(selection))


def _groups(selection: Selection) -> Iterator[bytes]:
    buffer = StreamBuffer()
    with pq.ParquetWriter(buffer, SCHEMA) as writer:
        group: list[pa.RecordBatch] = []
        for batch in batches(selection):
            group.append(batch)
            if sum(batch.num_rows for batch in group) >= GROUP_ROWS:
                writer.write_table(pa.Table.from_batches(group))
                group.clear()
                yield buffer.take()
        if group:
            writer.write_table(pa.Table.from_batches(group))
    yield buffer.take()


def batches(selection: Selection) -> Iterator[pa.RecordBatch]:
    """The rows in typed columns, about table.CHUNK at a time."""
    if not postgres_copy.is_supported():
        yield from python_batches(selection)
        return
    for lines in postgres_copy.copy_lines(selection, formula_safe=False):
        yield _parse(lines)
        selection.count_rows(len(lines))


def python_batches(selection: Selection) -> Iterator[pa.RecordBatch]:
    """The same, built by Python from the rows of `table`."""
    for rows in table.chunks(selection):
        yield record_batch(rows, SCHEMA)


def record_batch(rows: list[table.Row], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _parse(lines: list[bytes]) -> pa.RecordBatch:
    text = b"\n".join((*lines, b""))
    parsed = csv.read_csv(
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
    index = SCHEMA.get_field_index("boxes")
    boxes = pa.array(map(json.loads, parsed.column(index).to_pylist()), SCHEMA.field(index).type)
    [batch] = parsed.set_column(index, SCHEMA.field(index), boxes).cast(SCHEMA).to_batches()
    return batch
