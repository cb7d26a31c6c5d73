"""Reader of SeeGULL's files of associations (PROTOCOL §3, §4, §13)."""

import math
from dataclasses import dataclass
from pathlib import Path

from annotation.core.csv_text import text_of_cell
from annotation.imports.readers.oddities import FileRefused, OddityLog, ReadFile
from annotation.imports.readers.tables import FIRST_ROW, read_csv

IN_VOTES = ("region_stereo", "region_nonstereo", "region_unsure")
OUT_VOTES = ("NA_stereo", "NA_nonstereo", "NA_unsure")
RATINGS = ("Annotation1", "Annotation2", "Annotation3")
MEAN_NATIONALITY, MEAN_STATES = "mean offensiveness_score", "offensiveness_score"
NOT_RATED = frozenset({"", "na", "nan", "n/a"})
LOWEST, HIGHEST = -1.0, 4.0
VOTERS = 3
LONGEST_NAME, LONGEST_ATTRIBUTE = 120, 200
MOST_VOTES = 32_767  # what the database's small integer holds
# Printed means are rounded, some to three decimals.
ROUNDING = 1e-3


@dataclass(frozen=True, slots=True)
class AssociationRow:
    """One association. Votes are (stereotypical, non-stereotypical, unsure); `out_votes` is None if the file
    has none. `ratings`: the ratings given, from -1 to 4. `mean`: the printed mean, None if nobody rated."""

    row: int
    identity: str
    attribute: str
    in_votes: tuple[int, int, int]
    out_votes: tuple[int, int, int] | None
    ratings: tuple[float, ...]
    mean: float | None

    @property
    def content(self) -> tuple[object, ...]:
        """All values, for comparison with another row."""
        return (self.in_votes, self.out_votes, self.ratings, self.mean)


AssociationFile = ReadFile[AssociationRow]


def read_associations(path: Path, *, states: bool) -> AssociationFile:
    """Read a SeeGULL file. `states`: whether it is one of the two state files.

    Attributes are returned trimmed and lower-case, identities trimmed. Raises FileRefused.
    """
    columns = ["identity", "attribute", *IN_VOTES, *(() if states else OUT_VOTES), *RATINGS]
    columns.append(MEAN_STATES if states else MEAN_NATIONALITY)
    hint = (
        "Leave out --states if this is the file of nationalities."
        if states
        else "Add --states if this is a file of US or Indian states."
    )
    table = read_csv(path, columns, hint=hint)
    rows: list[AssociationRow] = []
    seen: dict[tuple[str, str], AssociationRow] = {}
    for number, cells in enumerate(table.rows, start=FIRST_ROW):
        if not any(cell.strip() for cell in cells):
            table.log.note("row_blank", row=number, example="(empty)", not_stored=1)
            continue
        row = _Cells(path, number, dict(zip(columns, cells, strict=True)), table.log).row(states)
        earlier = seen.setdefault((row.identity, row.attribute), row)
        if earlier is row:
            rows.append(row)
        elif earlier.content == row.content:
            example = f"{row.identity}, {row.attribute}: as row {earlier.row}"
            table.log.note("row_repeated", row=number, example=example, not_stored=1)
        else:
            raise FileRefused(
                path,
                f"'{row.identity}, {row.attribute}' is in row {earlier.row} too, with other values.",
                "Keep one of the two rows.",
                row=number,
            )
    if not rows:
        raise FileRefused(path, "there are no rows below the header.", "Fetch it again.")
    return table.read_file(rows, rows_stored=len(rows))


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of one row by column name, and how to read each of them."""

    path: Path
    number: int
    cells: dict[str, str]
    log: OddityLog

    def row(self, states: bool) -> AssociationRow:
        identity, attribute = self._identity(), self._attribute()
        in_votes = self._votes(IN_VOTES)
        out_votes = None if states else self._votes(OUT_VOTES)
        totals = [sum(votes) for votes in (in_votes, out_votes) if votes is not None]
        example = f"{identity}, {attribute}: {' and '.join(map(str, totals))} votes"
        if max(totals) > VOTERS:
            self._note("votes_merged", example)
        if min(totals) < VOTERS:
            self._note("votes_fewer", example)
        ratings, mean = self._ratings(identity, attribute)
        return AssociationRow(self.number, identity, attribute, in_votes, out_votes, ratings, mean)

    def _note(self, code: str, example: str) -> None:
        self.log.note(code, row=self.number, example=example)

    def _refuse(self, column: str, problem: str, fix: str) -> FileRefused:
        return FileRefused(self.path, problem, fix, row=self.number, column=column)

    def _identity(self) -> str:
        raw = text_of_cell(self.cells["identity"])
        trimmed = raw.strip()
        name = trimmed.strip(",.; ")
        if name != trimmed:
            self._note("identity_stray_mark", f"'{raw}' stored as '{name}'")
        elif trimmed != raw:
            self._note("identity_trimmed", f"'{raw}'")
        return self._text("identity", name, LONGEST_NAME)

    def _attribute(self) -> str:
        raw = text_of_cell(self.cells["attribute"])
        text = raw.strip().lower()
        if text != raw:
            self._note("attribute_normalised", f"'{raw}'")
        return self._text("attribute", text, LONGEST_ATTRIBUTE)

    def _text(self, column: str, text: str, longest: int) -> str:
        if not text:
            raise self._refuse(column, "the cell is empty.", "Fill it in, or remove the row.")
        if len(text) > longest:
            raise self._refuse(column, f"{len(text)} characters, more than {longest}.", "Shorten it.")
        return text

    def _votes(self, columns: tuple[str, str, str]) -> tuple[int, int, int]:
        first, second, third = (self._count(column) for column in columns)
        return first, second, third

    def _count(self, column: str) -> int:
        text = self.cells[column].strip()
        if not (text.isascii() and text.isdigit()) or int(text) > MOST_VOTES:
            raise self._refuse(
                column, f"'{text}' is not a number of votes.", "Write a whole number from 0 up."
            )
        return int(text)

    def _number(self, column: str) -> float | None:
        """A number on the offensiveness scale, or None if the cell says that nobody rated."""
        text = self.cells[column].strip()
        if text.lower() in NOT_RATED:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not LOWEST <= value <= HIGHEST:
            raise self._refuse(
                column,
                f"'{text}' is not on the scale from -1 to 4.",
                "Write such a number, or NA for not rated.",
            )
        return value

    def _ratings(self, identity: str, attribute: str) -> tuple[tuple[float, ...], float | None]:
        ratings = tuple(value for column in RATINGS if (value := self._number(column)) is not None)
        column = MEAN_STATES if MEAN_STATES in self.cells else MEAN_NATIONALITY
        mean = self._number(column)
        what = f"{identity}, {attribute}"
        if not ratings:
            if mean is not None:
                self._note("rating_missing", f"{what}: mean {mean:g} printed")
            return ratings, None
        if mean is None:
            raise self._refuse(column, "there is no mean, although there are ratings.", "Fill it in.")
        if len(ratings) < len(RATINGS):
            self._note("rating_partly_missing", f"{what}: {len(ratings)} of 3 ratings")
        if any(not value.is_integer() for value in ratings):
            self._note("rating_decimal", f"{what}: {', '.join(f'{value:g}' for value in ratings)}")
        if abs(sum(ratings) / len(ratings) - mean) > ROUNDING:
            printed = f"{', '.join(f'{value:g}' for value in ratings)} with mean {mean:g}"
            self._note("mean_not_of_ratings", f"{what}: {printed}")
        return ratings, mean
