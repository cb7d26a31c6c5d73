"""Scores with their intervals, as the sentences about a study have them."""

from metrics.core.numbers import plain
from metrics.models import Score


def number(score: Score | None, digits: int = 2) -> str:
    """The value with its interval in brackets: '1.20 [0.80, 1.75]'."""
    if score is None or score.low is None:
        return plain(score.value if score else None, digits)
    return f"{plain(score.value, digits)} [{plain(score.low, digits)}, {plain(score.high, digits)}]"


def percent(score: Score, factor: float) -> str:
    """A share as per cent with its interval: '35 % [31, 40]'; `factor` 100 for shares of 0 to 1, else 1."""
    value, low, high = (None if one is None else factor * one for one in (score.value, score.low, score.high))
    interval = "" if low is None else f" [{plain(low, 0)}, {plain(high, 0)}]"
    return f"{plain(value, 0)} %{interval}"
