"""Charts checked against the schema of Vega-Lite, which the program leaves out since it takes seconds."""

from __future__ import annotations

import json
from typing import Any

import altair

from metrics.core.charts import figure

unchecked = figure._specification
_known: set[str] = set()


def specification(chart: Any, *more: Any) -> dict[str, Any]:
    """In the place of `metrics.core.charts.figure._specification`. Of data the first row is checked; charts
    that differ in no more than that, words of titles and numbers are checked once."""
    found = unchecked(chart, *more)
    shape = _with_one_row(found)
    kind = altair.VConcatChart if isinstance(chart, list) else type(chart)
    seen = json.dumps([kind.__name__, _form(shape)], sort_keys=True)
    if seen not in _known:
        kind.validate(shape)
        _known.add(seen)
    return found


def _with_one_row(part: Any) -> Any:
    if isinstance(part, list | tuple):
        return [_with_one_row(each) for each in part]
    if not isinstance(part, dict):
        return part
    shape = {name: _with_one_row(each) for name, each in part.items() if name not in ("data", "datasets")}
    if "data" in part:
        shape["data"] = {name: each[:1] if name == "values" else each for name, each in part["data"].items()}
    if "datasets" in part:
        shape["datasets"] = {name: rows[:1] for name, rows in part["datasets"].items()}
    return shape


_WORDS = frozenset({"title", "text", "subtitle"})


def _form(part: Any, name: str = "") -> Any:
    """What the schema can tell apart: of a number whether it is whole, and below 0, 0, or above 1."""
    if isinstance(part, dict):
        return {each: _form(value, each) for each, value in part.items()}
    if isinstance(part, list | tuple):
        return [_form(each, name) for each in part]
    if isinstance(part, int | float) and not isinstance(part, bool):
        return [float(part).is_integer(), part > 0, part < 0, part > 1]
    return "" if isinstance(part, str) and name in _WORDS else part
