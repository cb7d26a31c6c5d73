"""CSV in which no spreadsheet runs a formula. Pure: no Django."""

import csv
import io
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

# Characters at which a spreadsheet starts a formula (OWASP, CSV injection).
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def safe_cell(text: str) -> str:
    """`text` with an apostrophe in front if it would start a formula, or if it already has an apostrophe
    there. `text_of_cell` undoes it."""
    return f"'{text}" if text.lstrip("'").startswith(FORMULA_STARTS) else text


def text_of_cell(cell: str) -> str:
    """The original text of a cell written by `safe_cell`."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA_STARTS) else cell


def csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    """`rows` as CSV: formulas disarmed, None empty, booleans yes or no, times in ISO 8601, lists as JSON."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return safe_cell(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return json.dumps(value)
    return value.isoformat() if isinstance(value, datetime) else value
