"""Cells of a table of pairs: from a CSV file, a spreadsheet or typed lines (pairs.py reads what they say)."""

import csv
import io
import zipfile
from collections.abc import Sequence

from python_calamine import CalamineError, CalamineWorkbook

from annotation.core.zip_files import UNREADABLE
from annotation.imports.readers.oddities import FileRefused

_UNPACKED = 100_000_000
"""Most bytes of an unpacked spreadsheet."""
_DELIMITERS = ",;\t"


def cells_of_file(content: bytes, name: str) -> list[list[str]]:
    """The cells of a CSV file (UTF-8) or of the only filled sheet of a spreadsheet. Raises FileRefused."""
    if not content.strip():
        raise FileRefused(name, "the file is empty.", "Choose another one.")
    if content.startswith((b"PK", b"\xd0\xcf\x11\xe0")):
        return _sheet(content, name)
    return cells_of_text(_text(content, name), name)


def _text(content: bytes, name: str) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileRefused(name, "the file is not UTF-8.", "Save it as 'CSV UTF-8'.", row=line) from error
    if "\0" in text:
        raise FileRefused(name, "the file is not UTF-8 (it looks like UTF-16).", "Save it as 'CSV UTF-8'.")
    return text


def cells_of_text(text: str, name: str) -> list[list[str]]:
    """The cells of each line. Commas, semicolons or tabs separate them: what the first line has."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = next((mark for mark in _DELIMITERS if is_header(first.split(mark))), "")
    delimiter = delimiter or next((mark for mark in _DELIMITERS if mark in first), ",")
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    try:
        return list(reader)
    except csv.Error as error:
        raise FileRefused(
            name, f"this line cannot be read ({error}).", "Check its quotation marks.", row=reader.line_num
        ) from error


def _sheet(content: bytes, name: str) -> list[list[str]]:
    """The cells of the only sheet with content."""
    damaged = "Save it again as .xlsx, or as 'CSV UTF-8'."
    try:
        if content.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(content)) as packed:
                if sum(member.file_size for member in packed.infolist()) > _UNPACKED:
                    raise FileRefused(name, "it unpacks to more than 100 MB.", "Save it as 'CSV UTF-8'.")
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(content))
        sheets = [workbook.get_sheet_by_name(sheet) for sheet in workbook.sheet_names]
        filled = [sheet.to_python(skip_empty_area=False) for sheet in sheets if sheet.height]
    except (CalamineError, *UNREADABLE) as error:
        if isinstance(error, FileRefused):
            raise
        raise FileRefused(name, f"this is not a spreadsheet that can be read ({error}).", damaged) from error
    if len(filled) != 1:
        problem = "has nothing in it" if not filled else f"has {len(filled)} sheets with something in them"
        raise FileRefused(name, f"it {problem}.", "Keep one sheet, with the pairs.")
    return [[_cell(value) for value in row] for row in filled[0]]


def _cell(value: object) -> str:
    # Excel has no whole numbers
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def first_filled(cells: Sequence[Sequence[str]], name: str) -> int:
    """The index of the first line with something in it. Raises FileRefused if there is none."""
    for index, record in enumerate(cells):
        if any(cell.strip() for cell in record):
            return index
    raise FileRefused(name, "there are no rows: every cell is empty.", "Choose another file.")


def is_header(cells: Sequence[str]) -> bool:
    return {"identity", "attribute"} <= {column_name(cell) for cell in cells}


def column_name(cell: str) -> str:
    return cell.strip().strip('"').strip().lower()
