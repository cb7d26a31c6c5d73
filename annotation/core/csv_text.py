"""CSV that every spreadsheet opens and none runs. Pure: no Django."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

# What a spreadsheet takes for the start of a formula (OWASP, CSV injection).
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def safe_cell(text: str) -> str:
    """`text` as no spreadsheet runs it: an apostrophe goes before what would start a formula, and before what
    looks as if one had. `text_of_cell` gives the text back."""
    return f"'{text}" if text.lstrip("'").startswith(FORMULA_STARTS) else text


def text_of_cell(cell: str) -> str:
    """The text that `safe_cell` made into this cell."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA_STARTS) else cell


def csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    """`rows` as CSV: texts defused, nothing for None, yes and no, times in ISO 8601, lists as JSON."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return safe_cell(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return json.dumps(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return value
