"""Reading CSV files and Excel sheets as rows of cells, with the row numbers of a spreadsheet."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook

from annotation.imports.readers.oddities import (
    FileRefused,
    FileSummary,
    OddityLog,
    ReadFile,
    Row,
    check_is_file,
    sha256_of,
)


@dataclass(frozen=True)
class Table:
    """Cells in the order of the requested columns; `rows[i]` is row i + 2 of the spreadsheet."""

    path: Path
    sheet: str
    rows: list[list[Any]]
    log: OddityLog

    def read_file(self, rows: list[Row], *, rows_stored: int) -> ReadFile[Row]:
        summary = FileSummary(
            name=self.path.name,
            sheet=self.sheet,
            sha256=sha256_of(self.path),
            rows_read=len(self.rows),
            rows_stored=rows_stored,
        )
        return ReadFile(summary=summary, rows=rows, oddities=self.log.found())


FIRST_ROW = 2
"""Row number of the first row below the header, as in a spreadsheet."""


def read_csv(path: Path, columns: Sequence[str], *, hint: str = "") -> Table:
    """Read `columns` of a comma-separated UTF-8 file; every cell is text.

    Raises FileRefused for another encoding or format, a missing column, a row that is too short or too
    long. `hint` is added if columns are missing.
    """
    check_is_file(path)
    raw = path.read_bytes()
    if raw.startswith(b"PK"):
        raise FileRefused(path, "this is an Excel or zip file, not a CSV file.", "Save it as CSV (UTF-8).")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileRefused(path, "the file is not UTF-8.", "Save it as 'CSV UTF-8'.", row=line) from error
    if "\0" in text:
        raise FileRefused(path, "the file is not UTF-8 (it looks like UTF-16).", "Save it as 'CSV UTF-8'.")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        records = list(reader)
    except csv.Error as error:
        raise FileRefused(
            path,
            f"this is not comma-separated text ({error}).",
            "Correct it there, or save the file as CSV (UTF-8) again.",
            row=reader.line_num,
        ) from error
    return _table(path, "", records, columns, hint)


def read_sheet(path: Path, sheet: str, columns: Sequence[str]) -> Table:
    """Read `columns` of one sheet of an Excel file; cells are text, numbers or other calamine values.

    Other sheets are reported as `sheet_ignored`. Raises FileRefused for a file that is not Excel, a
    missing sheet or column, and a sheet without rows.
    """
    check_is_file(path)
    try:
        # Read from bytes, because from a path calamine trusts the file extension.
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(path.read_bytes()))
        names = workbook.sheet_names
        if sheet not in names:
            raise FileRefused(
                path,
                f"there is no sheet '{sheet}'. It has: {', '.join(names)}.",
                "Rename the sheet, or check that this is the right file.",
            )
        # Keep empty rows and columns at the top, so that row numbers match the spreadsheet.
        records = workbook.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    except CalamineError as error:
        raise FileRefused(
            path,
            f"this is not an Excel file that can be read ({error}).",
            "Fetch it again, or save it as .xlsx.",
        ) from error
    table = _table(path, sheet, records, columns, "")
    if not table.rows:
        raise FileRefused(path, "there are no rows below the header.", "Fetch it again.", sheet=sheet)
    for other in names:
        if other != sheet:
            height = workbook.get_sheet_by_name(other).height
            table.log.note("sheet_ignored", row=1, example=f"sheet '{other}', {height} rows")
    return table


def _table(path: Path, sheet: str, records: list[list[Any]], columns: Sequence[str], hint: str) -> Table:
    header = [str(cell).strip() for cell in records[0]] if records else []
    for column in columns:
        if column not in header:
            raise FileRefused(
                path,
                f"there is no column '{column}'. The first row has: {', '.join(header) or 'nothing'}.",
                hint or "Rename the column, or check that this is the right file.",
                sheet=sheet,
                row=1,
            )
        if header.count(column) > 1:
            raise FileRefused(
                path,
                "there are two columns with this name.",
                "Remove one.",
                sheet=sheet,
                row=1,
                column=column,
            )
    log = OddityLog(path, sheet)
    for name in header:
        if name and name not in columns:
            log.note("column_ignored", row=1, example=f"column '{name}'")
    places, width = [header.index(column) for column in columns], len(header)
    for number, record in enumerate(records[1:], start=FIRST_ROW):
        if record and len(record) != width:
            raise FileRefused(
                path,
                f"{len(record)} cells where the header has {width}.",
                "Check commas and quotation marks in this row.",
                sheet=sheet,
                row=number,
            )
    rows = [[record[place] for place in places] if record else [] for record in records[1:]]
    return Table(path=path, sheet=sheet, rows=rows, log=log)
