"""Filters for the data table of a figure."""

from typing import Any

from django import template

from metrics.core.numbers import UNDEFINED, plain

register = template.Library()


@register.filter
def heading(column: str) -> str:
    """A column name as a heading: `n_random` becomes 'n random'."""
    return column.replace("_", " ")


@register.filter
def cell(value: Any) -> str:
    """A readable value; the CSV file has every digit."""
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
