"""Read files of records: JSON lines or CSV, perhaps compressed with gzip. Pure: no Django.

A file is read from its start to its end, one record at a time. What is wrong with a record comes with it, so
that a reader can list several errors at once.
"""

import csv
import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from generation.core.file_errors import FileUnusable

LONGEST = 64 * 2**20
"""Bytes of a line, which must fit into memory."""
_GZIP = b"\x1f\x8b"
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(slots=True)
class Record:
    """A line of JSON, or a row of a CSV file. `place`: 'line 3' or 'row 3', from 1. `problem`: why it cannot
    be used, with the cure; "" if it can."""

    place: str
    values: dict[str, Any]
    problem: str = ""


def records(path: Path) -> Iterator[Record]:
    """The records of the file. Raises FileUnusable for a file that cannot be read on, or has no columns."""
    try:
        with _opened(path) as file:
            yield from (_json_lines if _is_json(path, file) else _csv_rows)(path, file)
    except _BROKEN as error:
        raise FileUnusable(
            path, [f"The compressed file is damaged ({error}). Compress or copy it again."]
        ) from error
    except OSError as error:
        raise FileUnusable(path, [f"The file cannot be read: {error.strerror or error}."]) from error


def digest(path: Path) -> str:
    """SHA-256 of the content, in hex; compressed or not, the same content has the same."""
    hashed = hashlib.sha256()
    try:
        with _opened(path) as file:
            while part := file.read(2**20):
                hashed.update(part)
    except _BROKEN as error:
        raise FileUnusable(
            path, [f"The compressed file is damaged ({error}). Compress or copy it again."]
        ) from error
    except OSError as error:
        raise FileUnusable(path, [f"The file cannot be read: {error.strerror or error}."]) from error
    return hashed.hexdigest()


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as raw:
        compressed = raw.read(2) == _GZIP
        raw.seek(0)
        if not compressed:
            yield raw
            return
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield unpacked  # type: ignore[misc]


def _is_json(path: Path, file: IO[bytes]) -> bool:
    """By the name, else by the first character."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in (".jsonl", ".ndjson", ".json", ".csv"):
        return suffixes[-1] != ".csv"
    start = file.read(1000)
    file.seek(0)
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def _lines(path: Path, file: IO[bytes]) -> Iterator[tuple[int, str, str]]:
    """Number, text and problem of each line."""
    number = 0
    while raw := file.readline(LONGEST + 1):
        number += 1
        if len(raw) > LONGEST:
            raise FileUnusable(
                path,
                [f"line {number}: it is longer than {LONGEST // 2**20} MB. Put one record on each line."],
            )
        if number == 1:
            if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise FileUnusable(path, ["line 1: the file is UTF-16. Save it as UTF-8."])
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        problem = ""
        if b"\0" in raw:
            problem = "it holds a NUL character, which no text has. Remove it."
        try:
            yield number, raw.decode(), problem
        except UnicodeDecodeError as error:
            problem = f"it is not UTF-8 (byte {error.start + 1}). Save the file as UTF-8."
            yield number, raw.decode(errors="replace"), problem


def _json_lines(path: Path, file: IO[bytes]) -> Iterator[Record]:
    decode = _decoder()
    for number, text, problem in _lines(path, file):
        place = f"line {number}"
        if problem:
            yield Record(place, {}, problem)
            continue
        if not text.strip():
            continue
        try:
            values = decode(text)
        except (ValueError, RecursionError) as error:
            yield Record(place, {}, f"it is not JSON ({error}). Write one object on each line.")
            continue
        if not isinstance(values, dict):
            yield Record(place, {}, 'it is no object. Write {"prompt": ..., "text": ...} on each line.')
        elif "\\u" in text and not _is_storable(values):
            yield Record(place, {}, "it holds \\u0000 or half a character, which no text has. Remove it.")
        else:
            yield Record(place, values)


def _decoder() -> Callable[[str], Any]:
    """Decodes strict JSON in which no object names a field twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a field is there twice")
        return found

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no number of JSON")

    return json.JSONDecoder(object_pairs_hook=once, parse_constant=refuse).decode


def _is_storable(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= one <= "\udfff" for one in value)
    if isinstance(value, dict):
        return all(_is_storable(key) and _is_storable(each) for key, each in value.items())
    return all(map(_is_storable, value)) if isinstance(value, list) else True


def _csv_rows(path: Path, file: IO[bytes]) -> Iterator[Record]:
    problems: list[str] = []

    def texts() -> Iterator[str]:
        for _number, text, problem in _lines(path, file):
            if problem:
                problems.append(problem)
            yield text

    limit = csv.field_size_limit(LONGEST)
    try:
        rows = csv.reader(texts(), strict=True)
        columns: list[str] | None = None
        number = 0
        while True:
            try:
                cells = next(rows, None)
            except csv.Error as error:
                cure = "Put a cell with a quotation mark into quotation marks, and double those in it."
                raise FileUnusable(path, [f"row {number + 1}: it is not CSV ({error}). {cure}"]) from error
            if cells is None:
                return
            number += 1
            problem = problems[0] if problems else ""
            problems.clear()
            if columns is None:
                columns = _columns(path, cells, problem)
            elif any(cells):
                yield _row(number, columns, cells, problem)
    finally:
        csv.field_size_limit(limit)


def _columns(path: Path, cells: list[str], problem: str) -> list[str]:
    columns = [cell.strip() for cell in cells]
    if problem:
        raise FileUnusable(path, [f"row 1: {problem}"])
    if "" in columns:
        raise FileUnusable(path, ["row 1: a column has no name. Name it or remove it."])
    if repeated := sorted({name for name in columns if columns.count(name) > 1}):
        raise FileUnusable(path, [f"row 1: the column {repeated[0]!r} is there twice. Rename or remove one."])
    return columns


def _row(number: int, columns: list[str], cells: list[str], problem: str) -> Record:
    if not problem and len(cells) != len(columns):
        problem = (
            f"it has {len(cells)} cells, and the first row has {len(columns)}. Put a cell with a comma into "
            "quotation marks."
        )
    values = dict(zip(columns, cells, strict=False))
    return Record(f"row {number}", values, problem)
