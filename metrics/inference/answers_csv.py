"""Read the answers of an inference model that were made elsewhere (PROTOCOL §15). Pure: no Django.

A row is a pair of sentences. The file is read once and kept as columns of numbers, about 50 bytes a row.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from annotation.core.csv_text import text_of_cell
from annotation.imports.readers.oddities import FileRefused
from metrics.inference.labels import LABELS

WORDS = ("source", "identity", "attribute", "verb", "object")
COLUMNS = (*WORDS, *LABELS)
AXIS = "axis"
"""A column that may be there: the axis of the identity, where its name is used on several."""
MOST_ERRORS = 20
_LONGEST: Mapping[str, int] = {"source": 80, "identity": 120, "attribute": 200, "verb": 80, "object": 80}
_TOLERANCE = 0.02
"""How far a row's probabilities may be from 1 in sum: they may be printed with two digits."""


RowError = tuple[int, str]
"""The number of a row, and what is wrong with it."""


class RowsRefused(FileRefused):
    """Rows with errors. The message lists the first MOST_ERRORS of them, each with its row and column.
    `number`: how many there are, if `errors` are the first of them. `table`: the rows without errors."""

    def __init__(
        self, file: Path | str, errors: list[RowError], table: AnswerTable, number: int | None = None
    ) -> None:
        self.errors = sorted(errors, key=lambda error: error[0])
        self.table, self.number = table, len(errors) if number is None else number
        self._file = file
        shown = [f"row {row}: {text}" for row, text in self.errors[:MOST_ERRORS]]
        more = [f"... and {self.number - len(shown)} more."] if self.number > len(shown) else []
        rows = "1 error" if self.number == 1 else f"{self.number:,} errors"
        super().__init__(
            file, f"{rows}; nothing was stored.", "\n".join(["Correct the file:", *shown, *more])
        )

    def with_more(self, errors: list[RowError]) -> RowsRefused:
        """The same with further errors."""
        return RowsRefused(self._file, [*self.errors, *errors], self.table, self.number + len(errors))


@dataclass(frozen=True, slots=True)
class PairRow:
    """One row. `number`: as in a spreadsheet; the others are places in the lists of AnswerTable, and
    probabilities in the order of LABELS."""

    number: int
    source: int
    identity: int
    attribute: int
    verb: int
    object: int
    probabilities: tuple[float, float, float]


@dataclass
class _Column:
    """The distinct texts of a column, and the place of each row's in them."""

    places: dict[str, int] = field(default_factory=dict)
    rows: array[int] = field(default_factory=lambda: array("I"))

    def add(self, text: str) -> None:
        self.rows.append(self.places.setdefault(text, len(self.places)))


class AnswerTable:
    """The rows of a file. `identities`: (axis, name), the axis "" where the file has none. `ignored`: columns
    that are not read."""

    def __init__(self, name: str, ignored: tuple[str, ...] = ()) -> None:
        self.name, self.ignored = name, ignored
        self._columns = {column: _Column() for column in WORDS}
        self._probabilities = tuple(array("d") for _ in LABELS)
        self._numbers = array("I")

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, number: int, cells: Mapping[str, str], probabilities: Mapping[str, float]) -> None:
        self._numbers.append(number)
        for column, text in cells.items():
            if column in self._columns:
                self._columns[column].add(f"{cells.get(AXIS, '')}\n{text}" if column == "identity" else text)
        for label, values in zip(LABELS, self._probabilities, strict=True):
            values.append(probabilities[label])

    def repeated(self) -> list[tuple[int, int]]:
        """(number of a row, number of an earlier row about the same pair of the same source)."""
        rows = np.stack([np.asarray(self._columns[column].rows) for column in WORDS])
        order = np.lexsort(rows)  # stable: of equal rows, the earlier first
        same = (rows[:, order[1:]] == rows[:, order[:-1]]).all(axis=0)
        numbers = np.asarray(self._numbers)[order]
        return sorted(zip(numbers[1:][same].tolist(), numbers[:-1][same].tolist(), strict=True))

    def texts(self, column: str) -> tuple[str, ...]:
        """The distinct texts of a column, in order of first appearance."""
        return tuple(self._columns[column].places)

    @property
    def identities(self) -> list[tuple[str, str]]:
        return [(axis, name) for axis, _, name in (text.partition("\n") for text in self.texts("identity"))]

    def first_row(self, column: str, place: int) -> int:
        """The number of the first row with that text."""
        return self._numbers[self._columns[column].rows.index(place)]

    def pairs_of(self, first: str, second: str) -> set[tuple[int, int]]:
        """Which texts of two columns are in a row together."""
        return set(zip(self._columns[first].rows, self._columns[second].rows, strict=True))

    def __iter__(self) -> Iterator[PairRow]:
        columns = (self._columns[column].rows for column in WORDS)
        for number, *places, one, two, three in zip(
            self._numbers, *columns, *self._probabilities, strict=True
        ):
            source, identity, attribute, verb, thing = places
            yield PairRow(number, source, identity, attribute, verb, thing, (one, two, three))


def read_answers(path: Path) -> AnswerTable:
    """The rows of a CSV file with the columns COLUMNS, in any order; others are ignored.

    Raises FileRefused if it is no CSV file in UTF-8 with these columns and a row, and RowsRefused for all
    rows with errors together: an empty or long cell, a probability that is none, three that are not 1 in
    sum, a pair that is there twice.
    """
    if not path.is_file():
        raise FileRefused(path, f"there is no such file ({path}).", "Check the path.")
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            raise FileRefused(
                path, "this is an Excel or zip file, not a CSV file.", "Save it as CSV (UTF-8)."
            )
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _read(path, csv.reader(file, strict=True))
    except UnicodeDecodeError as error:
        raise FileRefused(path, "the file is not UTF-8.", "Save it as 'CSV UTF-8'.") from error


def _read(path: Path, records: Iterator[list[str]]) -> AnswerTable:
    numbered = enumerate(_checked(path, records), start=1)
    header = [cell.strip().lower() for cell in next(numbered, (1, []))[1]]
    _check_header(path, header)
    known = [(name, header.index(name)) for name in (*COLUMNS, AXIS) if name in header]
    table = AnswerTable(path.name, tuple(name for name in header if name and name not in dict(known)))
    errors: list[RowError] = []
    wrong = 0
    for number, record in numbered:
        if not any(cell.strip() for cell in record):
            continue
        if len(record) != len(header):
            problems = [
                f"{len(record)} cells where the header has {len(header)}; check commas and quotation marks"
            ]
        else:
            cells = {name: text_of_cell(record[place].strip()) for name, place in known}
            problems = _add(table, number, cells)
        wrong += len(problems)
        errors += [(number, f"{problem}.") for problem in problems[: MOST_ERRORS - len(errors)]]
    repeated = table.repeated()
    errors += [
        (number, f"the same pair of the same source is in row {earlier} already.")
        for number, earlier in repeated[:MOST_ERRORS]
    ]
    if wrong + len(repeated):
        raise RowsRefused(path, errors, table, wrong + len(repeated))
    if not len(table):
        raise FileRefused(path, "there are no rows below the header.", "Add a row for each pair.")
    return table


def _add(table: AnswerTable, number: int, cells: dict[str, str]) -> list[str]:
    """Add a row, unless something is wrong with it: then say what."""
    cells["attribute"] = cells["attribute"].lower()
    probabilities, problems = _probabilities(cells)
    for name, longest in _LONGEST.items():
        if not cells[name]:
            problems.append(f"column '{name}': it is empty")
        elif len(cells[name]) > longest:
            problems.append(f"column '{name}': {len(cells[name])} characters, at most {longest} are possible")
        elif "\0" in cells[name] or "\n" in cells[name]:
            problems.append(f"column '{name}': it has a line break or a character that is none")
    if problems:
        return problems
    table.add(number, cells, probabilities)
    return []


def _probabilities(cells: Mapping[str, str]) -> tuple[dict[str, float], list[str]]:
    found, problems = {}, []
    for label in LABELS:
        try:
            value = float(cells[label])
        except ValueError:
            value = float("nan")
        # written so that NaN fails too
        if not 0 <= value <= 1:
            problems.append(f"column '{label}': '{cells[label][:40]}' is no probability from 0 to 1")
        found[label] = value
    total = sum(found.values())
    if not problems and abs(total - 1) > _TOLERANCE:
        problems.append(
            f"the probabilities are {total:.4g} in sum, and not 1: give those after softmax, not logits"
        )
    return found, problems


def _checked(path: Path, records: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        yield from records
    except csv.Error as error:
        raise FileRefused(path, f"this is not comma-separated text ({error}).", "Save it again.") from error


def _check_header(path: Path, header: list[str]) -> None:
    for column in COLUMNS:
        if header.count(column) != 1:
            problem = (
                "there are two columns with this name." if column in header else "there is no such column."
            )
            raise FileRefused(
                path,
                problem,
                f"The first row must have {','.join(COLUMNS)}; it has {','.join(header)[:200] or 'nothing'}.",
                row=1,
                column=column,
            )
