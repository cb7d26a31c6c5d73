"""Tables as text: comma-separated, and JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from annotation.core.csv_text import csv_lines
from annotation.core.csv_text import safe_cell as safe_cell
from annotation.exports import table
from annotation.exports.packing import File
from annotation.exports.selection import COUNTED, NONE_OF_ABOVE, Selection, check_attributes
from annotation.models import TaskKind


def long_csv(selection: Selection) -> Iterator[bytes]:
    """The long table as CSV, header first, whole lines at a time. The table's own cells, one by one; what
    PostgreSQL writes faster (`copying`) is the same to the byte."""
    yield csv_lines([table.COLUMNS]).encode()
    for rows in table.chunks(selection):
        yield csv_lines(rows).encode()


def long_jsonl(selection: Selection) -> Iterator[bytes]:
    """The long table as JSON lines, whole lines at a time; see long_csv."""
    for rows in table.chunks(selection):
        said = (dict(zip(table.COLUMNS, row, strict=True)) for row in rows)
        yield "".join(
            json.dumps(row, ensure_ascii=False, default=datetime.isoformat) + "\n" for row in said
        ).encode()


CROWDKIT_COLUMNS = (
    (
        "task",
        "kind and version of the task, position of the unit in it, attribute: `depiction/1/12/hat`; "
        "`none of the above` where that is what was shown",
    ),
    (
        "worker",
        "pseudonym; where the source does not identify annotators, `response` and the response's number: "
        "then every answer counts as another worker's",
    ),
    ("label", "the value in words, e.g. `Depicted`"),
)


def crowdkit_fits(selection: Selection) -> None:
    """Raises ExportRefused where an attribute would be taken for none of the above."""
    check_attributes(selection.judgements(status=COUNTED, tasks=[TaskKind.DEPICTION]))


def crowdkit_files(selection: Selection) -> Iterator[File]:
    def lines() -> Iterator[str]:
        yield csv_lines([[name for name, _ in CROWDKIT_COLUMNS]])
        for rows in table.chunks(selection, status=COUNTED):
            yield csv_lines(_crowdkit(dict(zip(table.COLUMNS, row, strict=True))) for row in rows)

    yield File("crowdkit.csv", (text.encode() for text in lines()))


def _crowdkit(row: dict[str, Any]) -> tuple[str, str, str]:
    what = row["attribute"] or NONE_OF_ABOVE
    worker = row["annotator"] or f"response {row['response']}"
    return f"{row['task']}/{row['task_version']}/{row['unit']}/{what}", worker, row["label"]


__all__ = [
    "CROWDKIT_COLUMNS",
    "crowdkit_files",
    "crowdkit_fits",
    "long_csv",
    "long_jsonl",
]
