"""Stored places of models or groups, and the p and q beside them."""

from metrics.models import Score

CHANCE = 0.05
"""Below this, p and q count as more than chance."""


def places(place: Score | None) -> str:
    """The places that one can have, e.g. '2–7'; empty without."""
    if place is None or place.low is None or place.high is None:
        return ""
    low, high = round(place.low), round(place.high)
    return f"{low}" if low == high else f"{low}–{high}"


def beyond_chance(probability: Score | None) -> bool:
    """Whether p or q is below CHANCE."""
    return probability is not None and probability.value is not None and probability.value < CHANCE
