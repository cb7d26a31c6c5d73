"""Reader of one's own pairs of identity and attribute: a CSV file, a spreadsheet, typed lines, or JSON.

Every wrong line is found, not only the first: people correct a whole file at once.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.core.csv_text import safe_cell, text_of_cell
from annotation.imports.readers.oddities import FileRefused
from annotation.imports.readers.pair_tables import (
    cells_of_file,
    cells_of_text,
    column_name,
    first_filled,
    is_header,
)

IN_VOTES = ("in_stereotypical", "in_nonstereotypical", "in_unsure")
OUT_VOTES = ("out_stereotypical", "out_nonstereotypical", "out_unsure")
RATINGS = "offensiveness"
COLUMNS = ("identity", "attribute", *IN_VOTES, *OUT_VOTES, RATINGS)
MAX_BYTES = 2_000_000
"""Of pairs that are sent in one request, file or text; the command import_pairs takes more."""
LONGEST_NAME, LONGEST_ATTRIBUTE = 120, 200
MOST_VOTES = 32_767  # what the database's small integer holds
MOST_RATINGS = 100
LOWEST, HIGHEST = -1.0, 4.0
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")

Votes = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PairRow:
    """One pair. Votes are (stereotypical, non-stereotypical, unsure), None if nobody was asked. `ratings`: of
    the offensiveness, -1 to 4."""

    row: int
    identity: str
    attribute: str
    in_votes: Votes | None = None
    out_votes: Votes | None = None
    ratings: tuple[float, ...] = ()

    @property
    def content(self) -> tuple[object, ...]:
        return self.in_votes, self.out_votes, self.ratings


@dataclass(frozen=True, slots=True)
class LineError:
    """What is wrong in a line, and what to do. `row`: as in a spreadsheet, or the number of the line."""

    row: int
    problem: str
    cure: str
    column: str = ""


@dataclass
class PairFile:
    """What was read. `blank`: lines without anything in them, which are left out."""

    rows: list[PairRow] = field(default_factory=list)
    errors: list[LineError] = field(default_factory=list)
    blank: int = 0


def read_file(content: bytes, *, name: str) -> PairFile:
    """The pairs of a CSV file (UTF-8) or a spreadsheet whose first row names the columns.

    Raises FileRefused if no line of it can be read: another encoding or format, unknown or missing columns.
    """
    return _read(cells_of_file(content, name), name)


def read_typed(text: str) -> PairFile:
    """Pairs typed in: `identity, attribute` on each line, or a table with a header as in a file."""
    name = "the text"
    if not text.strip():
        raise FileRefused(name, "there are no pairs in it.", "Write one a line: identity, attribute")
    records = cells_of_text(text.replace("\0", " "), name)
    if is_header(records[first_filled(records, name)]):
        return _read(records, name)
    file, reader = PairFile(), _Reader()
    for number, record in enumerate(records, start=1):
        cells = [cell for cell in record if cell.strip()]
        if not cells:
            file.blank += 1
        elif len(record) == 2 or len(cells) == 2:
            reader.add(file, number, dict(zip(COLUMNS, record, strict=False)))
        else:
            many = "one value" if len(cells) == 1 else f"{len(record)} values"
            cure = (
                'Write: identity, attribute. Put a text with a comma in quotation marks: "poor, but happy".'
            )
            file.errors.append(LineError(number, f"{many} instead of two.", cure))
    return file


def read_given(pairs: Iterable[Mapping[str, Any]]) -> PairFile:
    """Pairs as a program gives them: identity, attribute, and lists of votes and ratings; rows from 1."""
    file, reader = PairFile(), _Reader()
    for number, pair in enumerate(pairs, start=1):
        cells = {"identity": pair["identity"], "attribute": pair["attribute"]}
        for key, columns in (("in_votes", IN_VOTES), ("out_votes", OUT_VOTES)):
            for column, votes in zip(columns, pair.get(key) or (), strict=False):
                cells[column] = str(votes)
        cells[RATINGS] = " ".join(str(rating) for rating in pair.get(RATINGS) or ())
        reader.add(file, number, cells)
    return file


def as_csv(rows: Sequence[PairRow]) -> str:
    """The same pairs as a CSV that `read_file` reads, with the columns that they need."""
    voted_in, voted_out = any(row.in_votes for row in rows), any(row.out_votes for row in rows)
    rated = any(row.ratings for row in rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["identity", "attribute", *(IN_VOTES * voted_in), *(OUT_VOTES * voted_out), *([RATINGS] * rated)]
    )
    for row in rows:
        cells: list[object] = [safe_cell(row.identity), safe_cell(row.attribute)]
        cells += (row.in_votes or ("", "", "")) if voted_in else ()
        cells += (row.out_votes or ("", "", "")) if voted_out else ()
        cells += [" ".join(f"{rating:g}" for rating in row.ratings)] if rated else []
        writer.writerow(cells)
    return out.getvalue()


def _read(records: Sequence[list[str]], name: str) -> PairFile:
    """The pairs below the header, which is the first line with something in it."""
    start = first_filled(records, name)
    header = [column_name(cell) for cell in records[start]]
    while header and not header[-1]:
        header.pop()
    _check_header(header, name, start + 1)
    file, reader = PairFile(blank=start), _Reader()
    for number, record in enumerate(records[start + 1 :], start=start + 2):
        if not any(cell.strip() for cell in record):
            file.blank += 1
        elif len(record) < len(header) or any(cell.strip() for cell in record[len(header) :]):
            problem = f"{len(record)} values where the header has {len(header)}."
            cure = "Put a text with a separator in quotation marks, and leave no value out."
            file.errors.append(LineError(number, problem, cure))
        else:
            reader.add(file, number, dict(zip(header, record, strict=False)))
    if not file.rows and not file.errors:
        raise FileRefused(name, "there are no rows below the header.", "Add the pairs.")
    return file


def _check_header(header: Sequence[str], name: str, row: int) -> None:
    for column in ("identity", "attribute"):
        if column not in header:
            raise FileRefused(
                name,
                f"there is no column '{column}'. The first row has: {', '.join(header) or 'nothing'}.",
                "The first row names the columns: identity,attribute, and if there are votes or ratings: "
                f"{', '.join(COLUMNS[2:])}.",
                row=row,
            )
    for column in header:
        if column not in COLUMNS:
            cure = f"Remove it, or rename it to one of: {', '.join(COLUMNS)}."
            raise FileRefused(name, f"there is no use for the column '{column}'.", cure, row=row)
        if header.count(column) > 1:
            raise FileRefused(
                name, "there are two columns with this name.", "Remove one.", row=row, column=column
            )
    for columns in (IN_VOTES, OUT_VOTES):
        missing = [column for column in columns if column not in header]
        if missing and len(missing) < len(columns):
            cure = f"Give all three of {', '.join(columns)}, or none."
            raise FileRefused(name, f"there is no column '{missing[0]}'.", cure, row=row)


class _Wrong(Exception):
    def __init__(self, column: str, problem: str, cure: str) -> None:
        super().__init__(problem)
        self.column, self.problem, self.cure = column, problem, cure


class _Reader:
    """Reads the cells of one line after the other. Of a line with several errors the first is told."""

    def add(self, file: PairFile, number: int, cells: Mapping[str, str]) -> None:
        try:
            file.rows.append(
                PairRow(
                    row=number,
                    identity=self._words(cells, "identity", LONGEST_NAME),
                    attribute=self._words(cells, "attribute", LONGEST_ATTRIBUTE).lower(),
                    in_votes=self._votes(cells, IN_VOTES),
                    out_votes=self._votes(cells, OUT_VOTES),
                    ratings=self._ratings(cells),
                )
            )
        except _Wrong as wrong:
            file.errors.append(LineError(number, wrong.problem, wrong.cure, wrong.column))

    def _words(self, cells: Mapping[str, str], column: str, longest: int) -> str:
        """The text with single spaces, in Unicode's usual form, so that the same words are the same text."""
        text = " ".join(unicodedata.normalize("NFC", text_of_cell(cells.get(column, ""))).split())
        if not text:
            raise _Wrong(column, "the cell is empty.", "Fill it in, or remove the line.")
        # lower case can be longer
        if len(text.lower()) > longest:
            raise _Wrong(column, f"{len(text)} characters, more than {longest}.", "Shorten it.")
        if not text.isprintable():
            raise _Wrong(column, "there is a character in it that cannot be shown.", "Type it again.")
        return text

    def _votes(self, cells: Mapping[str, str], columns: Sequence[str]) -> Votes | None:
        texts = [cells.get(column, "").strip() for column in columns]
        if not any(texts):
            return None
        for column, text in zip(columns, texts, strict=True):
            if not (text.isascii() and text.isdigit()) or len(text) > 5 or int(text) > MOST_VOTES:
                problem = f"'{text[:40]}' is not a number of votes." if text else "the cell is empty."
                raise _Wrong(
                    column, problem, "Write whole numbers from 0 up in all three columns, or leave all empty."
                )
        first, second, third = (int(text) for text in texts)
        return first, second, third

    def _ratings(self, cells: Mapping[str, str]) -> tuple[float, ...]:
        texts = re.split(r"[;,\s]+", cells.get(RATINGS, "").strip().strip("[]").strip())
        ratings = []
        for text in texts if texts != [""] else []:
            rating = float(text) if _NUMBER.fullmatch(text) and text.isascii() and len(text) < 20 else None
            if rating is None or not LOWEST <= rating <= HIGHEST:
                cure = "Write numbers from -1 (not offensive) to 4 (extremely), with spaces between them."
                raise _Wrong(RATINGS, f"'{text[:40]}' is not a rating.", cure)
            ratings.append(rating)
        if len(ratings) > MOST_RATINGS:
            raise _Wrong(RATINGS, f"more than {MOST_RATINGS} ratings.", "Keep fewer.")
        return tuple(ratings)
