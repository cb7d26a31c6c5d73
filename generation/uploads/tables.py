"""The table that says what finished pictures are: one row a picture. Pure: no Django."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from annotation.imports.readers.oddities import FileRefused
from generation.recipes.prompts import PromptSet
from generation.uploads.bundles import Bundle

COLUMNS = (
    "file",
    "group",
    "prompt",
    "prompt_set",
    "attribute",
    "seed",
    "model",
    "revision",
    "note",
)
"""`file` and `group` are needed; every other column and cell may be missing."""
_NEEDED = ("file", "group")
_LONGEST = {
    "file": 500,
    "group": 120,
    "prompt": 500,
    "attribute": 200,
    "model": 200,
    "revision": 80,
    "note": 10_000,
}
_MOST_SEED = 2**63 - 1
_DESCRIBED = (PromptSet.STEREOTYPICAL, PromptSet.NON_STEREOTYPICAL)
LARGEST_TABLE = 100_000_000


@dataclass(frozen=True, slots=True)
class Row:
    """One picture as its table describes it. `number` is the row a spreadsheet shows; `at` is the file's
    name in the bundle, `file` what the table calls it."""

    number: int
    at: str
    file: str
    group: str
    prompt: str = ""
    prompt_set: str = ""
    attribute: str = ""
    seed: int | None = None
    model: str = ""
    revision: str = ""
    note: str = ""


@dataclass(frozen=True)
class Finished:
    """A table and the files it names. `unlisted`: pictures that no row names; `ignored`: further columns."""

    table: str
    rows: tuple[Row, ...]
    unlisted: tuple[str, ...]
    ignored: tuple[str, ...]


def read_table(bundle: Bundle, *, table: Path | None = None) -> Finished:
    """The rows of `table`, or of the one CSV file in `bundle`, with the files of the bundle they name.

    Files are named as they stand in the bundle, or beside the table in it. Raises FileRefused naming the
    row and the column.
    """
    names = bundle.names()
    if table is None:
        name, folder, raw = _inside(bundle, names)
    else:
        name, folder, raw = table.name, "", _raw(table)
    header, records = _records(name, raw)
    present = set(names)
    rows: list[Row] = []
    named: dict[str, int] = {}
    for number, record in records:
        cells = dict(zip(header, (cell.strip() for cell in record), strict=True))
        row = _row(name, number, cells, folder=folder, present=present, bundle=bundle.name)
        if row.at in named:
            raise FileRefused(
                name,
                f"'{row.file}' is named in row {named[row.at]} already.",
                "Name each file once.",
                row=number,
                column="file",
            )
        named[row.at] = number
        rows.append(row)
    if not rows:
        raise FileRefused(name, "there are no rows below the header.", "Add a row for each picture.")
    unlisted = tuple(each for each in names if each not in named and not each.lower().endswith(".csv"))
    return Finished(name, tuple(rows), unlisted, tuple(each for each in header if each not in COLUMNS))


def _inside(bundle: Bundle, names: Sequence[str]) -> tuple[str, str, bytes]:
    tables = [name for name in names if name.lower().endswith(".csv")]
    if len(tables) != 1:
        problem = (
            f"it has {len(tables)} CSV files ({', '.join(tables[:3])})." if tables else "it has no CSV file."
        )
        raise FileRefused(
            bundle.name, problem, "Put one in that says of each picture at least: file, group. Or name it."
        )
    folder = str(PurePosixPath(tables[0]).parent)
    raw = bundle.read(tables[0], most=LARGEST_TABLE)
    return tables[0], "" if folder == "." else f"{folder}/", raw


def _raw(path: Path) -> bytes:
    if not path.is_file():
        raise FileRefused(path, f"there is no such file ({path}).", "Check the path.")
    with path.open("rb") as file:
        return file.read(LARGEST_TABLE + 1)


def _records(name: str, raw: bytes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header, and each row with anything in it under the number a spreadsheet gives it."""
    if len(raw) > LARGEST_TABLE:
        raise FileRefused(name, f"it is larger than {LARGEST_TABLE / 1e6:.0f} MB.", "Part it.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileRefused(name, "the file is not UTF-8.", "Save it as 'CSV UTF-8'.", row=line) from error
    if "\0" in text:
        raise FileRefused(name, "this is no text file.", "Save it as 'CSV UTF-8'.")
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise FileRefused(name, f"this is not comma-separated text ({error}).", "Save it as CSV.") from error
    header = [cell.strip().lower() for cell in lines[0]] if lines else []
    for column in _NEEDED:
        if column not in header:
            raise FileRefused(
                name,
                f"there is no column '{column}'. The first row has: {', '.join(header) or 'nothing'}.",
                f"The columns are: {', '.join(COLUMNS)}.",
                row=1,
            )
    for column in header:
        if header.count(column) > 1:
            raise FileRefused(
                name, "there are two columns of this name.", "Remove one.", row=1, column=column
            )
    records = []
    for number, record in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in record):
            continue
        if len(record) != len(header):
            raise FileRefused(
                name,
                f"{len(record)} cells where the header has {len(header)}.",
                "Check commas and quotation marks in this row.",
                row=number,
            )
        records.append((number, record))
    return header, records


def _row(
    name: str, number: int, cells: dict[str, str], *, folder: str, present: set[str], bundle: str
) -> Row:
    def refuse(column: str, problem: str, cure: str) -> FileRefused:
        return FileRefused(name, problem, cure, row=number, column=column)

    for column in _NEEDED:
        if not cells[column]:
            raise refuse(column, "the cell is empty.", "Every picture needs it.")
    for column, longest in _LONGEST.items():
        if len(cells.get(column, "")) > longest:
            raise refuse(column, f"it has more than {longest} characters.", "Shorten it.")
    file = cells["file"].removeprefix("./")
    at = next((each for each in (f"{folder}{file}", file) if each in present), None)
    if at is None:
        raise refuse(
            "file",
            f"there is no file '{file}' in {bundle}.",
            "Write the name as it stands there, folders too.",
        )
    prompt_set, attribute = cells.get("prompt_set", "").lower(), " ".join(cells.get("attribute", "").split())
    if prompt_set and prompt_set not in list(PromptSet):
        raise refuse("prompt_set", f"'{prompt_set}' is none of {', '.join(PromptSet)}.", "Name one, or none.")
    if bool(attribute) != (prompt_set in _DESCRIBED) and prompt_set:
        raise refuse(
            "attribute",
            f"pictures of '{prompt_set}' have {'an' if prompt_set in _DESCRIBED else 'no'} attribute.",
            "It is what the person is 'described as' in the two such sets, and empty in the others.",
        )
    seed = cells.get("seed", "")
    if seed and not (seed.isascii() and seed.isdigit() and len(seed) < 20 and int(seed) <= _MOST_SEED):
        raise refuse("seed", f"'{seed}' is no whole number from 0 to 2^63 - 1.", "Leave it out if unknown.")
    return Row(
        number=number,
        at=at,
        file=file,
        group=cells["group"],
        prompt=cells.get("prompt", ""),
        prompt_set=prompt_set,
        attribute=attribute.lower(),
        seed=int(seed) if seed else None,
        model=cells.get("model", ""),
        revision=cells.get("revision", ""),
        note=cells.get("note", ""),
    )


__all__ = ["COLUMNS", "Finished", "Row", "read_table"]
