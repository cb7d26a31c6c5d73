"""Filters that format shares of answers and texts."""

import math

from django import template

register = template.Library()


@register.filter
def per_cent_1(share: float | None) -> str:
    """A share from 0 to 1 as a percentage with one decimal; – for undefined."""
    return "–" if share is None or math.isnan(share) else f"{100 * share:.1f} %"


@register.filter
def p_value(value: float | None) -> str:
    """A p or q with three decimals; – for undefined."""
    if value is None or math.isnan(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
