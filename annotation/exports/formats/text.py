"""Text formats: the long table as CSV and JSON lines, and Crowd-Kit's table."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from annotation.core.csv_text import csv_lines
from annotation.exports import table
from annotation.exports.packing import File
from annotation.exports.selection import COUNTED, NONE_OF_ABOVE, Selection


def long_csv(selection: Selection) -> Iterator[bytes]:
    """The long table as CSV, header first, whole lines at a time. PostgreSQL writes the same bytes faster
    (`postgres_copy`)."""
    yield csv_lines([table.COLUMNS]).encode()
    for rows in table.chunks(selection):
        yield csv_lines(rows).encode()


def long_jsonl(selection: Selection) -> Iterator[bytes]:
    """The long table as JSON lines, whole lines at a time; see long_csv."""
    for rows in table.chunks(selection):
        yield "".join(
            json.dumps(
                dict(zip(table.COLUMNS, row, strict=True)), ensure_ascii=False, default=datetime.isoformat
            )
            + "\n"
            for row in rows
        ).encode()


CROWDKIT_COLUMNS = (
    (
        "task",
        "kind and version of the task, position of the unit in it, attribute (or `none of the above`), e.g. "
        "`depiction/1/12/hat`",
    ),
    (
        "worker",
        "pseudonym; if the source does not identify annotators, `response` and the response's number, so "
        "that every response counts as a worker of its own",
    ),
    ("label", "the value in words, e.g. `Depicted`"),
)


def crowdkit_files(selection: Selection) -> Iterator[File]:
    def lines() -> Iterator[str]:
        yield csv_lines([[name for name, _ in CROWDKIT_COLUMNS]])
        for rows in table.chunks(selection, status=COUNTED):
            yield csv_lines(_crowdkit(dict(zip(table.COLUMNS, row, strict=True))) for row in rows)

    yield File("crowdkit.csv", (text.encode() for text in lines()))


def _crowdkit(row: dict[str, Any]) -> tuple[str, str, str]:
    attribute = row["attribute"] or NONE_OF_ABOVE
    worker = row["annotator"] or f"response {row['response']}"
    return f"{row['task']}/{row['task_version']}/{row['unit']}/{attribute}", worker, row["label"]
