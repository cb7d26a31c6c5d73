"""The CSV table that describes uploaded images, one row per image. Pure: no Django."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from annotation.imports.readers.oddities import FileRefused, refuse_rows
from generation.recipes.prompts import PromptSet
from generation.uploads.bundles import Bundle

COLUMNS = ("file", "group", "prompt", "prompt_set", "attribute", "seed", "model", "revision", "note")
"""`file` and `group` are required; every other column and cell may be missing."""
_REQUIRED = ("file", "group")
_MAX_LENGTHS = {
    "file": 500,
    "group": 120,
    "prompt": 500,
    "attribute": 200,
    "model": 200,
    "revision": 80,
    "note": 10_000,
}
_MAX_SEED = 2**63 - 1
_WITH_ATTRIBUTE = (PromptSet.STEREOTYPICAL, PromptSet.NON_STEREOTYPICAL)
MAX_TABLE_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table. `number`: as in a spreadsheet; `path`: the file's name in the bundle; `file`: its
    name in the table."""

    number: int
    path: str
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
class ImageTable:
    """A table and its files. `unlisted`: files without a row; `ignored`: unknown columns."""

    name: str
    rows: tuple[Row, ...]
    unlisted: tuple[str, ...]
    ignored: tuple[str, ...]


def read_table(bundle: Bundle, *, table: Path | None = None) -> ImageTable:
    """The rows of `table`, or of the one CSV file in `bundle`, with their files.

    File names are relative to the bundle, or to the folder of the table in it. Raises FileRefused, which
    names the rows and the columns.
    """
    names = bundle.names()
    if table is None:
        name, folder, data = _find_table(bundle, names)
    else:
        name, folder, data = table.name, "", _read(table)
    header, records = _records(name, data)
    present = set(names)
    rows: list[Row] = []
    row_of: dict[str, int] = {}
    problems: list[FileRefused] = []
    for number, record in records:
        try:
            cells = _cells(name, number, header, record)
            row = _row(name, number, cells, folder=folder, present=present, bundle=bundle.name)
            if row.path in row_of:
                raise FileRefused(
                    name,
                    f"'{row.file}' is already in row {row_of[row.path]}.",
                    "List each file once.",
                    row=number,
                    column="file",
                )
        except FileRefused as refused:
            problems.append(refused)
            continue
        row_of[row.path] = number
        rows.append(row)
    refuse_rows(problems)
    if not rows:
        raise FileRefused(name, "there are no rows below the header.", "Add a row for each picture.")
    unlisted = tuple(each for each in names if each not in row_of and not each.lower().endswith(".csv"))
    return ImageTable(name, tuple(rows), unlisted, tuple(each for each in header if each not in COLUMNS))


def _find_table(bundle: Bundle, names: Sequence[str]) -> tuple[str, str, bytes]:
    tables = [name for name in names if name.lower().endswith(".csv")]
    if len(tables) != 1:
        problem = (
            f"it has {len(tables)} CSV files ({', '.join(tables[:3])})." if tables else "it has no CSV file."
        )
        raise FileRefused(
            bundle.name, problem, "Add one with at least the columns file and group. Or name the table."
        )
    folder = str(PurePosixPath(tables[0]).parent)
    data = bundle.read(tables[0], limit=MAX_TABLE_BYTES)
    return tables[0], "" if folder == "." else f"{folder}/", data


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise FileRefused(path, f"there is no such file ({path}).", "Check the path.")
    with path.open("rb") as file:
        return file.read(MAX_TABLE_BYTES + 1)


def _records(name: str, data: bytes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header, and the non-empty rows with their numbers as in a spreadsheet."""
    if len(data) > MAX_TABLE_BYTES:
        raise FileRefused(name, f"it is larger than {MAX_TABLE_BYTES / 1e6:.0f} MB.", "Split it.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileRefused(name, "the file is not UTF-8.", "Save it as 'CSV UTF-8'.", row=line) from error
    if "\0" in text:
        raise FileRefused(name, "this is not a text file.", "Save it as 'CSV UTF-8'.")
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise FileRefused(name, f"this is not comma-separated text ({error}).", "Save it as CSV.") from error
    header = [cell.strip().lower() for cell in lines[0]] if lines else []
    for column in _REQUIRED:
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
    numbered = enumerate(lines[1:], start=2)
    return header, [(number, record) for number, record in numbered if any(cell.strip() for cell in record)]


def _cells(name: str, number: int, header: Sequence[str], record: Sequence[str]) -> dict[str, str]:
    if len(record) != len(header):
        raise FileRefused(
            name,
            f"{len(record)} cells where the header has {len(header)}.",
            "Check commas and quotation marks in this row.",
            row=number,
        )
    return dict(zip(header, (cell.strip() for cell in record), strict=True))


def _row(
    name: str, number: int, cells: dict[str, str], *, folder: str, present: set[str], bundle: str
) -> Row:
    def refuse(column: str, problem: str, cure: str) -> FileRefused:
        return FileRefused(name, problem, cure, row=number, column=column)

    for column in _REQUIRED:
        if not cells[column]:
            raise refuse(column, "the cell is empty.", "Every image needs it.")
    for column, longest in _MAX_LENGTHS.items():
        if len(cells.get(column, "")) > longest:
            raise refuse(column, f"it has more than {longest} characters.", "Shorten it.")
    file = cells["file"].removeprefix("./")
    path = next((each for each in (f"{folder}{file}", file) if each in present), None)
    if path is None:
        raise refuse(
            "file",
            f"there is no file '{file}' in {bundle}.",
            "Write the name as in the bundle, including folders.",
        )
    prompt_set, attribute = cells.get("prompt_set", "").lower(), " ".join(cells.get("attribute", "").split())
    if prompt_set and prompt_set not in list(PromptSet):
        raise refuse(
            "prompt_set", f"'{prompt_set}' is none of {', '.join(PromptSet)}.", "Use one of these, or none."
        )
    if bool(attribute) != (prompt_set in _WITH_ATTRIBUTE) and prompt_set:
        raise refuse(
            "attribute",
            f"images of '{prompt_set}' have {'an' if prompt_set in _WITH_ATTRIBUTE else 'no'} attribute.",
            "It is the attribute after 'described as'; the other prompt sets have none.",
        )
    seed = cells.get("seed", "")
    if seed and not (seed.isascii() and seed.isdigit() and len(seed) < 20 and int(seed) <= _MAX_SEED):
        raise refuse(
            "seed", f"'{seed}' is not a whole number from 0 to 2^63 - 1.", "Leave it out if unknown."
        )
    plain = {column: cells.get(column, "") for column in ("group", "prompt", "model", "revision", "note")}
    return Row(
        number=number,
        path=path,
        file=file,
        prompt_set=prompt_set,
        attribute=attribute.lower(),
        seed=int(seed) if seed else None,
        **plain,
    )
