"""The table of attributes that a lead uploads with a study's images: `identity group,attribute` and,
optionally, `stereotypical` or votes. Pure: no Django."""

import csv
import io
from dataclasses import dataclass, replace
from typing import Literal

from annotation.imports.readers.oddities import FileRefused
from annotation.imports.readers.pair_tables import cells_of_file, column_name, first_filled
from annotation.imports.readers.pairs import (
    IN_VOTES,
    OUT_VOTES,
    RATINGS,
    LineError,
    PairFile,
    PairRow,
    read_file,
)

STEREOTYPICAL = "stereotypical"
_GROUP_COLUMNS = ("identity group", "identity_group", "group")
"""Other names of the column `identity`."""
_SAYS = {"yes": True, "1": True, "true": True, "no": False, "0": False, "false": False}
_YES, _NO = (1, 0, 0), (0, 1, 0)
_CURE = "The first row names the columns: identity group, attribute and, if you like, stereotypical."


@dataclass(frozen=True)
class AttributeTable:
    """`pairs`: with votes. `voted`: whether the table had votes; otherwise each pair has one out-region vote,
    the lead's: stereotypical or not. `pool`: whose votes make stereotypes: 'in' if there are in-region votes
    alone, or else 'out' (PROTOCOL §3). `identity`: what the table calls the column of groups."""

    pairs: PairFile
    voted: bool
    pool: Literal["in", "out"] = "out"
    identity: str = "identity"


def read_attributes(content: bytes, *, name: str) -> AttributeTable:
    """The pairs of a CSV file or spreadsheet, and its wrong rows. Without columns of votes and without a
    column `stereotypical`, every pair is a stereotype. Raises FileRefused if no row of it can be read."""
    cells = cells_of_file(content, name)
    start = first_filled(cells, name)
    header = [column_name(cell) for cell in cells[start]]
    while header and not header[-1]:
        header.pop()
    typed, header = header, ["identity" if cell in _GROUP_COLUMNS else cell for cell in header]
    identity = next((cell for cell in typed if cell in _GROUP_COLUMNS), "identity")
    cells[start] = header
    voted = any(column in header for column in (*IN_VOTES, *OUT_VOTES))
    if voted and STEREOTYPICAL in header:
        cure = "Keep one: whether a pair is stereotypical, or its votes."
        problem = f"there are votes and a column '{STEREOTYPICAL}'."
        raise FileRefused(name, problem, cure, row=start + 1)
    if voted:
        return replace(_voted(read_file(_as_csv(cells), name=name), name=name), identity=identity)
    _check_header(header, typed=typed, name=name, row=start + 1)
    if STEREOTYPICAL in header:
        file = _said(cells, start=start, name=name)
    else:
        file = _with_votes(read_file(_as_csv(cells), name=name), {})
    return AttributeTable(file, voted=False, identity=identity)


def _check_header(header: list[str], *, typed: list[str], name: str, row: int) -> None:
    """Raise FileRefused unless a table without votes has the columns it needs, each once, and no others."""
    for column, called in (("identity", "identity group"), ("attribute", "attribute")):
        if column not in header:
            has = ", ".join(typed) or "nothing"
            problem = f"there is no column '{called}'. The first row has: {has}."
            raise FileRefused(name, problem, _CURE, row=row)
    for column in header:
        if column not in ("identity", "attribute", STEREOTYPICAL, RATINGS):
            problem = f"there is no use for the column '{column}'."
            raise FileRefused(name, problem, f"Remove or rename it. {_CURE}", row=row)
        if header.count(column) > 1:
            problem = f"there are two columns '{column}'."
            raise FileRefused(name, problem, "Remove one.", row=row)


def _voted(file: PairFile, *, name: str) -> AttributeTable:
    """With the pool that the cells of `file` have. A file of wrong lines alone is let through: they are told
    later."""
    if any(row.out_votes for row in file.rows) or not file.rows:
        return AttributeTable(file, voted=True)
    if any(row.in_votes for row in file.rows):
        return AttributeTable(file, voted=True, pool="in")
    problem = "the columns of votes are empty."
    cure = (
        f"Fill in the in-region or the out-region votes, or remove them and add a column '{STEREOTYPICAL}'."
    )
    raise FileRefused(name, problem, cure)


def _said(cells: list[list[str]], *, start: int, name: str) -> PairFile:
    """The pairs below the header, line `start`, with what the column `stereotypical` says of each. Wrong rows
    are left out and told."""
    header = cells[start]
    at = header.index(STEREOTYPICAL)
    says: dict[int, bool] = {}
    errors: list[LineError] = []
    kept = [*cells[:start], header[:at] + header[at + 1 :]]
    for number, record in enumerate(cells[start + 1 :], start=start + 2):
        filled = any(cell.strip() for cell in record)
        wrong = _wrong(record, header, row=number) if filled else None
        if wrong is not None:
            errors.append(wrong)
        elif filled:
            says[number] = _SAYS[record[at].strip().lower()]
        # an empty line for a wrong one, so that the others keep their numbers
        kept.append(record[:at] + record[at + 1 :] if number in says else [])
    file = PairFile() if errors and not says else read_file(_as_csv(kept), name=name)
    file = _with_votes(file, says)
    return PairFile(file.rows, [*errors, *file.errors], file.blank - len(errors))


def _wrong(record: list[str], header: list[str], *, row: int) -> LineError | None:
    """What is wrong with a line's number of cells or its answer."""
    if len(record) < len(header) or any(cell.strip() for cell in record[len(header) :]):
        problem = f"{len(record)} values where the header has {len(header)}."
        cure = "Put a text with a separator in quotation marks, and leave no value out."
        return LineError(row, problem, cure)
    answer = record[header.index(STEREOTYPICAL)].strip()
    if answer.lower() in _SAYS:
        return None
    problem = f"'{answer[:40]}' is neither yes nor no." if answer else "the cell is empty."
    return LineError(row, problem, "Write yes or no.", STEREOTYPICAL)


def _with_votes(file: PairFile, says: dict[int, bool]) -> PairFile:
    """With the lead's vote for each pair: what `says` of its row, or else yes."""
    rows: list[PairRow] = []
    errors = list(file.errors)
    first: dict[tuple[str, str], PairRow] = {}
    for read in file.rows:
        row = replace(read, out_votes=_YES if says.get(read.row, True) else _NO)
        earlier = first.setdefault((row.identity.casefold(), row.attribute), row)
        if earlier.out_votes == row.out_votes:
            rows.append(row)
            continue
        problem = f"'{row.identity}, {row.attribute}' is in row {earlier.row} too, with the other answer."
        errors.append(LineError(row.row, problem, "Keep one of the two rows.", STEREOTYPICAL))
    return PairFile(rows, errors, file.blank)


def _as_csv(cells: list[list[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(cells)
    return out.getvalue().encode()
