"""Scores with their intervals and names, as the sentences about a study have them."""

from django.utils.translation import get_language_bidi

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


def quoted(name: str) -> str:
    """A name in quotes, for a sentence."""
    return isolated(f"“{name}”")


def isolated(text: str) -> str:
    """A text that runs from left to right in a sentence of the reader's language: where that runs from right
    to left, its quotes, and the parts of a date, would change places."""
    return f"\N{LEFT-TO-RIGHT ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}" if get_language_bidi() else text
