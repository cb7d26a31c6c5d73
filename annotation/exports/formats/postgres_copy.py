"""The long table as CSV and as JSON lines from PostgreSQL's own COPY, which writes the finished cells.

Python only passes the lines on, several times as fast as it could make them; Parquet's columns are read from
those of CSV. Everywhere else `table` makes the rows. Both ways give the same; tests hold them together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Func, TextField, Value
from django.db.models.sql.compiler import SQLCompiler

from annotation.core import csv_text, scales
from annotation.exports import table
from annotation.exports.formats import text
from annotation.exports.packing import File
from annotation.exports.selection import Selection
from annotation.models import Box, OptionRole, Purpose

# Numbers as they are; every other column as an expression of its own.
_NUMBERS = {
    "task_version": "response__task_version",
    "unit": "response__unit__position",
    "image_index": "response__unit__image__index",
    "response": "response_id",
    "value": "value",
    "shown_position": "position",
    "active_ms": "response__active_ms",
    "idle_ms": "response__idle_ms",
    "revision": "response__revision",
}
_STARTS = ", ".join(f"'{start}'" for start in csv_text.FORMULA_STARTS)
# As csv_text.safe_cell has it. What is empty is null: COPY writes an empty text in quotation marks.
_SAFE = f"CASE WHEN left(ltrim({{0}}, ''''), 1) IN ({_STARTS}) THEN '''' || {{0}} ELSE nullif({{0}}, '') END"
_PLAIN = "nullif({0}, '')"
_YES = "CASE WHEN {0} THEN 'yes' ELSE 'no' END"
# PostgreSQL and Python escape the same in JSON: quotation marks, backslashes, control characters.
_JSON_TEXT = "coalesce(to_json({0}::text)::text, '\"\"')"
_JSON_KNOWN = "coalesce({0}::text, 'null')"
_JSON_YES = "CASE WHEN {0} THEN 'true' ELSE 'false' END"
_SECONDS = 'YYYY-MM-DD"T"HH24:MI:SS'
_TIME = (
    "to_char({0} AT TIME ZONE 'UTC', CASE WHEN {0} = date_trunc('second', {0}) "
    f"THEN '{_SECONDS}\"+00:00\"' ELSE '{_SECONDS}.US\"+00:00\"' END)"
)
# A whole number has its '.0', as in JSON that Python writes.
_CORNERS = " || ', ' || ".join(
    f"{corner} || CASE WHEN {corner} = trunc({corner}) THEN '.0' ELSE '' END"
    for corner in ("x0", "y0", "x1", "y1")
)
_BOXES = (
    f"coalesce((SELECT '[' || string_agg('[' || {_CORNERS} || ']', ', ' ORDER BY id) || ']' "  # noqa: S608
    f"FROM {Box._meta.db_table} WHERE judgement_id = {{0}}), '[]')"
)


# How each kind of cell is written: in CSV as csv_text.csv_lines would, and in JSON as json.dumps.
_CSV = {"text": _SAFE, "word": "{0}", "number": "{0}", "yes": _YES, "boxes": _BOXES, "time": _TIME}
_CSV_AS_IT_IS = _CSV | {"text": _PLAIN}
_JSON = {
    "text": _JSON_TEXT,
    "word": "'\"' || {0} || '\"'",
    "number": _JSON_KNOWN,
    "yes": _JSON_YES,
    "boxes": _BOXES,
    "time": f"coalesce('\"' || {_TIME} || '\"', 'null')",
}
# Characters that no JSON holds: so COPY finds nothing to quote, and every line is what was asked for.
_NO_QUOTES = "FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02'"


class _Sql(Func):
    """SQL in which `{0}` stands for the first expression, `{1}` for the second ..., as often as need be."""

    def __init__(self, pattern: str, *expressions: Any) -> None:
        super().__init__(*expressions, output_field=TextField())
        self._pattern = pattern

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *args: Any, **extra: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        compiled = [compiler.compile(one) for one in self.get_source_expressions()]
        written: list[str] = []
        parameters: list[Any] = []
        for place, piece in enumerate(re.split(r"\{(\d)\}", self._pattern)):
            if place % 2 == 0:
                written.append(piece)
                continue
            sql, given = compiled[int(piece)]
            written.append(sql)
            parameters.extend(given)
        return f"({''.join(written)})", tuple(parameters)


def csv_files(selection: Selection) -> Iterator[File]:
    yield File("annotations.csv", long_csv(selection))


def long_csv(selection: Selection) -> Iterator[bytes]:
    """The long table as CSV, header first, whole lines at a time."""
    if not is_possible():
        yield from text.long_csv(selection)
        return
    yield csv_text.csv_lines([table.COLUMNS]).encode()
    for batch in lines(selection):
        yield b"\r\n".join((*batch, b""))
        selection.read(len(batch))


def jsonl_files(selection: Selection) -> Iterator[File]:
    yield File("annotations.jsonl", long_jsonl(selection))


def long_jsonl(selection: Selection) -> Iterator[bytes]:
    """The long table as JSON lines, whole lines at a time."""
    if not is_possible():
        yield from text.long_jsonl(selection)
        return
    cells = _cells(selection, _JSON)
    parts: list[Any] = []
    for place, name in enumerate(table.COLUMNS):
        parts += [Value(f'{", " if place else "{"}"{name}": ', output_field=TextField()), cells[name]]
    whole = Func(*parts, Value("}", output_field=TextField()), function="concat", output_field=TextField())
    for batch in _copied(selection, [whole], how=_NO_QUOTES):
        yield b"\n".join((*batch, b""))
        selection.read(len(batch))


def is_possible() -> bool:
    """Whether the database can copy."""
    return connection.vendor == "postgresql"


def lines(selection: Selection, *, defused: bool = True) -> Iterator[list[bytes]]:
    """The rows as lines of CSV without their ends, table.CHUNK at a time. What is empty and what is not known
    are the same. `defused`: as a spreadsheet may open it."""
    cells = _cells(selection, _CSV if defused else _CSV_AS_IT_IS)
    return _copied(selection, [cells[name] for name in table.COLUMNS], how="FORMAT csv")


def _copied(selection: Selection, cells: list[Any], *, how: str) -> Iterator[list[bytes]]:
    query, parameters = table.ordered(selection).values_list(*cells).query.sql_with_params()
    with (
        connection.cursor() as cursor,
        # psycopg's own cursor: Django's for debugging takes no parameters here
        cursor.cursor.copy(f"COPY ({query}) TO STDOUT ({how})", parameters) as copy,
    ):
        # libpq hands over one row at a time, with the line feed at its end
        copied = iter(copy)
        while batch := [bytes(line[:-1]) for line in islice(copied, table.CHUNK)]:
            yield batch


def _cells(selection: Selection, how: Mapping[str, str]) -> dict[str, Any]:
    """What COPY writes for each column. `how`: kind of cell -> its SQL."""
    unit, image = "response__unit", "response__unit__image"
    associated = f"{unit}__association"
    name = _Sql(
        "coalesce(nullif({0}, ''), regexp_replace({1}, '^.*/', ''))", f"{image}__reference", f"{image}__file"
    )
    identity = _Sql("coalesce({0}, {1})", f"{image}__group__name", f"{associated}__group__name")
    axis = _Sql("coalesce({0}, {1})", f"{image}__group__axis", f"{associated}__group__axis")
    stimulus = _Sql(
        "CASE WHEN {0} IS NOT NULL THEN {1} WHEN {2} IS NOT NULL THEN {2} || ': ' || {3} ELSE {4} END",
        f"{unit}__image_id",
        name,
        identity,
        f"{associated}__attribute__text",
        f"{unit}__attribute__text",
    )
    texts = {
        "study": Value(selection.study.name, output_field=TextField()),
        "unit_name": F(f"{unit}__source_name"),
        "stimulus": stimulus,
        "image": name,
        "image_set": F(f"{image}__image_set__name"),
        "axis": axis,
        "identity": identity,
        "attribute": _Sql(
            f"CASE WHEN {{0}} <> '{OptionRole.NONE_OF_ABOVE.value}' THEN {{1}} END",
            "option__role",
            "option__attribute__text",
        ),
        "annotator": F("response__annotator__pseudonym"),
        "stratum": F("response__slot__stratum"),
        "justification": F("justification"),
        "language": F("response__language"),
    }
    words = {
        "task": F(f"{unit}__task__kind"),
        "purpose": F(f"{unit}__purpose"),
        "role": F("option__role"),
        "label": _Sql(_labels(), f"{unit}__task__kind", "value"),
    }
    numbers: dict[str, Any] = {column: F(field) for column, field in _NUMBERS.items()}
    numbers["page"] = _Sql("CASE WHEN {0} IS NOT NULL THEN {1} END", f"{unit}__image_id", f"{unit}__page")
    truths = {
        "simulated": _Sql("{0} OR {1}", Value(selection.study.simulated), "response__annotator__simulated"),
        "whole_image": F("whole_image"),
        "current": F("response__current"),
        "surplus": _Sql(
            f"{{0}} IS NULL AND {{1}} = '{Purpose.DATA.value}'", "response__slot_id", f"{unit}__purpose"
        ),
    }
    kinds: dict[str, Mapping[str, Any]] = {
        "text": texts,
        "word": words,
        "number": numbers,
        "yes": truths,
        "boxes": {"boxes": F("pk")},
        "time": {name: F(f"response__{name}") for name in ("started_at", "submitted_at")},
    }
    return {column: _Sql(how[kind], cell) for kind, found in kinds.items() for column, cell in found.items()}


def _labels() -> str:
    kinds = (
        f"WHEN '{kind}' THEN CASE {{1}} "
        + " ".join(f"WHEN {one.value} THEN '{one.name}'" for one in scale)
        + " END"
        for kind, scale in scales.SCALES.items()
    )
    return f"CASE {{0}} {' '.join(kinds)} END"


__all__ = ["csv_files", "is_possible", "jsonl_files", "lines", "long_csv", "long_jsonl"]
