"""Reading a release from its folder (docs/releases.md). Pure: no Django. Errors name the file, the row
(counted as in a spreadsheet) and the column of the wrong cell."""

import csv
import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from annotation.core import csv_text
from annotation.imports.readers.oddities import FileRefused, check_is_file, sha256_of
from annotation.releases import columns

_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S.*)")
_FETCH = "Download the release again."
_REQUIRED = (*columns.COLUMNS, columns.ABOUT)


@dataclass(frozen=True)
class Row:
    """One row of a table. Its methods raise FileRefused, naming the cell, for an invalid value."""

    file: Path
    number: int
    cells: Mapping[str, str]

    def refused(self, column: str, problem: str, cure: str = _FETCH) -> FileRefused:
        return FileRefused(self.file, problem, cure, row=self.number, column=column)

    def text(self, column: str, *, needed: bool = False, longest: int = 0) -> str:
        cell = csv_text.text_of_cell(self.cells.get(column, ""))
        if needed and not cell:
            raise self.refused(column, "the cell is empty.")
        if longest and len(cell) > longest:
            raise self.refused(column, f"the text has {len(cell)} characters; at most {longest} are allowed.")
        return cell

    def one_of(self, column: str, allowed: Collection[str]) -> str:
        cell = self.text(column)
        if cell not in allowed:
            raise self.refused(column, f"'{cell}' is not one of: {', '.join(allowed)}.")
        return cell

    def integer_or_none(self, column: str, *, least: int = 0) -> int | None:
        cell = self.cells.get(column, "")
        if not cell:
            return None
        if not re.fullmatch(r"-?\d{1,9}", cell):
            raise self.refused(column, f"'{cell}' is not a whole number.")
        if int(cell) < least:
            raise self.refused(column, f"{cell} is below {least}.")
        return int(cell)

    def integer(self, column: str, *, least: int = 0) -> int:
        number = self.integer_or_none(column, least=least)
        if number is None:
            raise self.refused(column, "a whole number is missing.")
        return number

    def decimal_or_none(self, column: str) -> float | None:
        cell = self.cells.get(column, "")
        if not cell:
            return None
        if not re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", cell):
            raise self.refused(column, f"'{cell}' is not a number.")
        return float(cell)

    def boolean_or_none(self, column: str) -> bool | None:
        cell = self.cells.get(column, "")
        if cell not in ("", "yes", "no"):
            raise self.refused(column, f"'{cell}' is neither 'yes' nor 'no'.")
        return cell == "yes" if cell else None

    def boolean(self, column: str) -> bool:
        return bool(self.boolean_or_none(column))

    def numbers(self, column: str, *, each: int = 0) -> list[Any]:
        """A JSON list of numbers or, with `each`, of lists of that many numbers."""
        cell = self.cells.get(column, "")
        try:
            parsed = json.loads(cell)
        except ValueError:
            parsed = None
        lists = [parsed] if not each else parsed
        if not isinstance(parsed, list) or not all(
            isinstance(one, list) and all(_is_number(number) for number in one) for one in lists
        ):
            raise self.refused(column, f"'{cell[:40]}' is not a list of numbers.")
        if each and any(len(one) != each for one in parsed):
            raise self.refused(column, f"'{cell[:40]}' does not have {each} numbers in each list.")
        return parsed


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


@dataclass(frozen=True)
class Release:
    """A release with valid checksums. `metadata` is its release.json; `checksum` is that of the file of
    checksums, and so identifies the whole release."""

    folder: Path
    metadata: Mapping[str, Any]
    checksum: str

    def rows(self, file: str) -> Iterator[Row]:
        """The rows of a table, one at a time; raises FileRefused."""
        path = self.folder / file
        required = [name for name in columns.names(file) if name not in columns.OPTIONAL]
        with _opened(path) as text:
            reader = csv.reader(text, strict=True)
            number = 1
            try:
                header = next(reader, [])
                _check_is_text(path, 1, header)
                for name in required:
                    if name not in header:
                        raise FileRefused(path, f"there is no column '{name}'.", _FETCH, row=1)
                for number, cells in enumerate(reader, start=2):
                    _check_is_text(path, number, cells)
                    if len(cells) != len(header):
                        problem = f"{len(cells)} cells where the header has {len(header)}."
                        raise FileRefused(path, problem, _FETCH, row=number)
                    yield Row(path, number, dict(zip(header, cells, strict=True)))
            except csv.Error as error:
                problem = f"this is not comma-separated text ({error})."
                raise FileRefused(path, problem, _FETCH, row=number + 1) from error

    def fields(self) -> list[str]:
        """The profile fields that it publishes."""
        with _opened(self.folder / columns.ANNOTATORS) as text:
            header = next(csv.reader(text), [])
        return [name for name in header if name not in columns.names(columns.ANNOTATORS)]

    def refused(self, key: str, problem: str) -> FileRefused:
        """The error for a wrong value in release.json."""
        return FileRefused(self.folder / columns.ABOUT, f"{key}: {problem}", _FETCH)


def _opened(path: Path) -> TextIO:
    """The file as text. What is not UTF-8 becomes lone surrogates: Python decodes many rows at once, and an
    error would name none of them."""
    return path.open(encoding="utf-8", errors="surrogateescape", newline="")


def _check_is_text(path: Path, number: int, cells: Sequence[str]) -> None:
    try:
        "".join(cells).encode()
    except UnicodeEncodeError as error:
        raise FileRefused(path, "the file is not UTF-8.", _FETCH, row=number) from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def read_release(folder: Path) -> Release:
    """Check the folder of a release. Raises FileRefused for a missing or changed file."""
    checksum = _verify_checksums(folder)
    path = folder / columns.ABOUT
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except ValueError as error:
        raise FileRefused(path, f"this is not JSON ({error}).", _FETCH) from error
    if not isinstance(metadata, dict) or metadata.get("schema") != columns.SCHEMA:
        schema = metadata.get("schema") if isinstance(metadata, dict) else None
        raise FileRefused(
            path,
            f"its schema is {schema}; this program reads {columns.SCHEMA}.",
            "Use the version of the program that made the release; see 'made_with'.",
        )
    for key, kind in (("study", dict), ("tasks", list), ("sources", list), ("image_sets", list)):
        if not isinstance(metadata.get(key), kind):
            raise FileRefused(path, f"'{key}' is missing or of the wrong type.", _FETCH)
    return Release(folder=folder, metadata=metadata, checksum=checksum)


def _verify_checksums(folder: Path) -> str:
    if not folder.is_dir():
        raise FileRefused(folder, "there is no such folder.", "Name the folder of an unpacked release.")
    path = folder / columns.CHECKSUMS
    check_is_file(path)
    text = path.read_text(encoding="utf-8", errors="replace")
    digests: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise FileRefused(path, "this is not 'checksum  file'.", _FETCH, row=number)
        digest, name = match.groups()
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise FileRefused(path, f"'{name}' is not a file of the release.", _FETCH, row=number)
        digests[name] = digest
    for name in _REQUIRED:
        if name not in digests:
            raise FileRefused(path, f"there is no line for '{name}'.", _FETCH)
    for name, digest in digests.items():
        check_is_file(folder / name)
        if sha256_of(folder / name) != digest:
            raise FileRefused(
                folder / name,
                "the file does not match checksums.sha256: it was changed or damaged.",
                "Download it again; if you changed it on purpose, update its line there (docs/releases.md).",
            )
    return hashlib.sha256(text.encode()).hexdigest()
