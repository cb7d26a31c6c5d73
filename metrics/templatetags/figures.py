"""How the numbers of a figure stand in the table beside it."""

from __future__ import annotations

from typing import Any

from django import template

from metrics.templatetags.scores import UNDEFINED, plain

register = template.Library()


@register.filter
def heading(column: str) -> str:
    """The name of a column as a heading: `n_random` is 'n random'."""
    return column.replace("_", " ")


@register.filter
def cell(value: Any) -> str:
    """A value as people read it; the CSV file has every digit."""
    if value is None or value == "":
        return UNDEFINED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return plain(value, 3)
    return f"{value:,}" if isinstance(value, int) else str(value)


@register.filter
def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
