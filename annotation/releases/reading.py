"""Reading a release back (docs/releases.md): a folder in, checked tables out. Pure: no Django.

Nothing is believed before the checksums were right; every cell that is wrong is named with its file, row
(as a spreadsheet counts) and column.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.core import csv_text
from annotation.imports.readers.oddities import FileRefused, check_is_file, sha256_of
from annotation.releases import columns

_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S.*)")
_FETCH = "Fetch the release again."
_NEEDED = (*columns.COLUMNS, columns.ABOUT)


@dataclass(frozen=True)
class Row:
    """One row of a table. Each reading names the cell if it is not what it should be: FileRefused."""

    file: Path
    number: int
    cells: Mapping[str, str]

    def refused(self, column: str, problem: str, cure: str = _FETCH) -> FileRefused:
        return FileRefused(self.file, problem, cure, row=self.number, column=column)

    def text(self, column: str, *, needed: bool = False, longest: int = 0) -> str:
        said = csv_text.text_of_cell(self.cells.get(column, ""))
        if needed and not said:
            raise self.refused(column, "this is empty.")
        if longest and len(said) > longest:
            raise self.refused(column, f"this has {len(said)} characters; {longest} is the most.")
        return said

    def one_of(self, column: str, allowed: Collection[str]) -> str:
        said = self.text(column)
        if said not in allowed:
            raise self.refused(column, f"'{said}' is none of: {', '.join(allowed)}.")
        return said

    def whole_or_none(self, column: str, *, least: int = 0) -> int | None:
        said = self.cells.get(column, "")
        if not said:
            return None
        if not re.fullmatch(r"-?\d{1,9}", said):
            raise self.refused(column, f"'{said}' is not a whole number.")
        if int(said) < least:
            raise self.refused(column, f"{said} is below {least}.")
        return int(said)

    def whole(self, column: str, *, least: int = 0) -> int:
        found = self.whole_or_none(column, least=least)
        if found is None:
            raise self.refused(column, "a whole number is missing.")
        return found

    def decimal_or_none(self, column: str) -> float | None:
        said = self.cells.get(column, "")
        if not said:
            return None
        if not re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", said):
            raise self.refused(column, f"'{said}' is not a number.")
        return float(said)

    def flag_or_none(self, column: str) -> bool | None:
        said = self.cells.get(column, "")
        if said not in ("", "yes", "no"):
            raise self.refused(column, f"'{said}' is neither 'yes' nor 'no'.")
        return said == "yes" if said else None

    def flag(self, column: str) -> bool:
        return bool(self.flag_or_none(column))

    def numbers(self, column: str, *, each: int = 0) -> list[Any]:
        """A JSON list of numbers or, with `each`, of lists of so many."""
        said = self.cells.get(column, "")
        try:
            found = json.loads(said)
        except ValueError:
            found = None
        inner = [found] if not each else found
        if not isinstance(found, list) or not all(
            isinstance(one, list) and all(_is_number(number) for number in one) for one in inner or []
        ):
            raise self.refused(column, f"'{said[:40]}' is not a list of numbers.")
        if each and any(len(one) != each for one in found):
            raise self.refused(column, f"'{said[:40]}' does not have {each} numbers in each list.")
        return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


@dataclass(frozen=True)
class Release:
    """A release whose checksums are right. `about` is its release.json; `checksum` stands for all of it."""

    folder: Path
    about: Mapping[str, Any]
    checksum: str

    def rows(self, file: str) -> Iterator[Row]:
        """The rows of a table, one at a time; raises FileRefused."""
        path = self.folder / file
        wanted = [name for name in columns.names(file) if name != columns.JUSTIFICATION]
        with path.open(encoding="utf-8", newline="") as text:
            reader = csv.reader(text, strict=True)
            number = 1
            try:
                header = next(reader, [])
                for name in wanted:
                    if name not in header:
                        raise FileRefused(path, f"there is no column '{name}'.", _FETCH, row=1)
                for number, cells in enumerate(reader, start=2):
                    if len(cells) != len(header):
                        problem = f"{len(cells)} cells where the header has {len(header)}."
                        raise FileRefused(path, problem, _FETCH, row=number)
                    yield Row(path, number, dict(zip(header, cells, strict=True)))
            except UnicodeDecodeError as error:
                raise FileRefused(path, "the file is not UTF-8.", _FETCH, row=number + 1) from error
            except csv.Error as error:
                problem = f"this is not comma-separated text ({error})."
                raise FileRefused(path, problem, _FETCH, row=number + 1) from error

    def fields(self) -> list[str]:
        """The profile fields that its annotators are told of."""
        with (self.folder / columns.ANNOTATORS).open(encoding="utf-8", newline="") as text:
            header = next(csv.reader(text), [])
        return [name for name in header if name not in columns.names(columns.ANNOTATORS)]

    def refused(self, key: str, problem: str) -> FileRefused:
        """What is said of a wrong value in release.json."""
        return FileRefused(self.folder / columns.ABOUT, f"{key}: {problem}", _FETCH)


def read_release(folder: Path) -> Release:
    """Check a folder that `release` made; raises FileRefused for what is missing or was changed."""
    checksum = _checked(folder)
    path = folder / columns.ABOUT
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileRefused(path, f"this is not JSON ({error}).", _FETCH) from error
    if not isinstance(about, dict) or about.get("schema") != columns.SCHEMA:
        said = about.get("schema") if isinstance(about, dict) else None
        raise FileRefused(
            path,
            f"its schema is {said}; this program reads {columns.SCHEMA}.",
            "Use the version of the program that made it; 'made_with' names it.",
        )
    for key, kind in (("study", dict), ("tasks", list), ("sources", list), ("image_sets", list)):
        if not isinstance(about.get(key), kind):
            raise FileRefused(path, f"'{key}' is missing or of the wrong kind.", _FETCH)
    return Release(folder=folder, about=about, checksum=checksum)


def _checked(folder: Path) -> str:
    if not folder.is_dir():
        raise FileRefused(folder, "there is no such folder.", "Name the folder of a release, unpacked.")
    path = folder / columns.CHECKSUMS
    check_is_file(path)
    text = path.read_text(encoding="utf-8", errors="replace")
    listed: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            raise FileRefused(path, "this is not 'checksum  file'.", _FETCH, row=number)
        digest, name = found.groups()
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise FileRefused(path, f"'{name}' is not a file of the release.", _FETCH, row=number)
        listed[name] = digest
    for name in _NEEDED:
        if name not in listed:
            raise FileRefused(path, f"there is no line for '{name}'.", _FETCH)
    for name, digest in listed.items():
        check_is_file(folder / name)
        if sha256_of(folder / name) != digest:
            raise FileRefused(
                folder / name,
                "the file is not what checksums.sha256 says: it was changed or damaged.",
                "Fetch it again; if you changed it on purpose, renew its line there (docs/releases.md).",
            )
    return hashlib.sha256(text.encode()).hexdigest()


__all__ = ["Release", "Row", "read_release"]
