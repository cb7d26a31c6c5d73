"""The long table as CSV and JSON lines, written by PostgreSQL's COPY: several times as fast as building the
lines in Python, with the same bytes. On other databases `table` builds the rows."""

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

# Numbers are copied as they are; every other column has an expression of its own.
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
# The rule of csv_text.safe_cell. Empty text becomes null: COPY would write it in quotation marks.
_SAFE = f"CASE WHEN left(ltrim({{0}}, ''''), 1) IN ({_STARTS}) THEN '''' || {{0}} ELSE nullif({{0}}, '') END"
_PLAIN = "nullif({0}, '')"
_YES = "CASE WHEN {0} THEN 'yes' ELSE 'no' END"
# PostgreSQL and Python escape the same characters in JSON: quotation marks, backslashes, control characters.
_JSON_TEXT = "coalesce(to_json({0}::text)::text, '\"\"')"
_JSON_KNOWN = "coalesce({0}::text, 'null')"
_JSON_YES = "CASE WHEN {0} THEN 'true' ELSE 'false' END"
_SECONDS = 'YYYY-MM-DD"T"HH24:MI:SS'
_TIME = (
    "to_char({0} AT TIME ZONE 'UTC', CASE WHEN {0} = date_trunc('second', {0}) "
    f"THEN '{_SECONDS}\"+00:00\"' ELSE '{_SECONDS}.US\"+00:00\"' END)"
)
# Whole numbers end in '.0', as in JSON written by Python.
_CORNERS = " || ', ' || ".join(
    f"{corner} || CASE WHEN {corner} = trunc({corner}) THEN '.0' ELSE '' END"
    for corner in ("x0", "y0", "x1", "y1")
)
_BOXES = (
    f"coalesce((SELECT '[' || string_agg('[' || {_CORNERS} || ']', ', ' ORDER BY id) || ']' "  # noqa: S608
    f"FROM {Box._meta.db_table} WHERE judgement_id = {{0}}), '[]')"
)
# SQL templates for each kind of cell: CSV as in csv_text.csv_lines, JSON as in json.dumps.
_CSV = {"text": _SAFE, "word": "{0}", "number": "{0}", "yes": _YES, "boxes": _BOXES, "time": _TIME}
_CSV_UNESCAPED = _CSV | {"text": _PLAIN}
_JSON = {
    "text": _JSON_TEXT,
    "word": "'\"' || {0} || '\"'",
    "number": _JSON_KNOWN,
    "yes": _JSON_YES,
    "boxes": _BOXES,
    "time": f"coalesce('\"' || {_TIME} || '\"', 'null')",
}
# Control characters never occur in JSON, so COPY finds nothing to quote and each line is the JSON itself.
_NO_QUOTES = "FORMAT csv, QUOTE E'\\x01', DELIMITER E'\\x02'"


class _Sql(Func):
    """SQL in which `{0}` stands for the first expression, `{1}` for the second and so on, any number of
    times."""

    def __init__(self, pattern: str, *expressions: Any) -> None:
        super().__init__(*expressions, output_field=TextField())
        self._pattern = pattern

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, *args: Any, **extra: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        compiled = [compiler.compile(one) for one in self.get_source_expressions()]
        parts: list[str] = []
        parameters: list[Any] = []
        for index, piece in enumerate(re.split(r"\{(\d)\}", self._pattern)):
            if index % 2 == 0:
                parts.append(piece)
                continue
            sql, sql_parameters = compiled[int(piece)]
            parts.append(sql)
            parameters.extend(sql_parameters)
        return f"({''.join(parts)})", tuple(parameters)


def csv_files(selection: Selection) -> Iterator[File]:
    yield File("annotations.csv", long_csv(selection))


def long_csv(selection: Selection) -> Iterator[bytes]:
    """The long table as CSV, header first, whole lines at a time."""
    if not is_supported():
        yield from text.long_csv(selection)
        return
    yield csv_text.csv_lines([table.COLUMNS]).encode()
    for lines in copy_lines(selection):
        yield b"\r\n".join((*lines, b""))
        selection.count_rows(len(lines))


def jsonl_files(selection: Selection) -> Iterator[File]:
    yield File("annotations.jsonl", long_jsonl(selection))


def long_jsonl(selection: Selection) -> Iterator[bytes]:
    """The long table as JSON lines, whole lines at a time."""
    if not is_supported():
        yield from text.long_jsonl(selection)
        return
    cells = _cells(selection, _JSON)
    parts: list[Any] = []
    for index, name in enumerate(table.COLUMNS):
        parts += [Value(f'{", " if index else "{"}"{name}": ', output_field=TextField()), cells[name]]
    whole = Func(*parts, Value("}", output_field=TextField()), function="concat", output_field=TextField())
    for lines in _copy(selection, [whole], options=_NO_QUOTES):
        yield b"\n".join((*lines, b""))
        selection.count_rows(len(lines))


def is_supported() -> bool:
    """Whether the database has COPY."""
    return connection.vendor == "postgresql"


def copy_lines(selection: Selection, *, formula_safe: bool = True) -> Iterator[list[bytes]]:
    """The rows as lines of CSV without line ends, table.CHUNK at a time. Empty and unknown values look the
    same. `formula_safe`: escape text that a spreadsheet would run as a formula."""
    cells = _cells(selection, _CSV if formula_safe else _CSV_UNESCAPED)
    return _copy(selection, [cells[name] for name in table.COLUMNS], options="FORMAT csv")


def _copy(selection: Selection, cells: list[Any], *, options: str) -> Iterator[list[bytes]]:
    query, parameters = table.ordered_judgements(selection).values_list(*cells).query.sql_with_params()
    with (
        connection.cursor() as cursor,
        # psycopg's own cursor: Django's debug cursor takes no parameters here
        cursor.cursor.copy(f"COPY ({query}) TO STDOUT ({options})", parameters) as copy,
    ):
        # libpq returns one row at a time, with a line feed at its end
        rows = iter(copy)
        while lines := [bytes(row[:-1]) for row in islice(rows, table.CHUNK)]:
            yield lines


def _cells(selection: Selection, templates: Mapping[str, str]) -> dict[str, Any]:
    """The expression that COPY writes for each column. `templates`: kind of cell -> its SQL."""
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
    flags = {
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
        "yes": flags,
        "boxes": {"boxes": F("pk")},
        "time": {name: F(f"response__{name}") for name in ("started_at", "submitted_at")},
    }
    return {
        column: _Sql(templates[kind], cell) for kind, cells in kinds.items() for column, cell in cells.items()
    }


def _labels() -> str:
    kinds = (
        f"WHEN '{kind}' THEN CASE {{1}} "
        + " ".join(f"WHEN {one.value} THEN '{one.name}'" for one in scale)
        + " END"
        for kind, scale in scales.SCALES.items()
    )
    return f"CASE {{0}} {' '.join(kinds)} END"
