"""Where a machine judge and people answered differently: items by disagreement (PROTOCOL §16). Pure: no
Django."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metrics.core.stats.checks import Floats, Ints

UNSURE = 0.5
"""Disagreement of an answer without a place on the scale (Unsure) and one with a place."""


@dataclass(frozen=True)
class Ranking:
    """Items (I,), the most disagreement first: their `places` in `Items`, the judge's `values`, the number of
    `people` who answered, how many of them are `differing` from the judge, and the `disagreement` from 0 to 1
    (nan without people)."""

    places: Ints
    values: Ints
    people: Ints
    differing: Ints
    disagreement: Floats


def rank(
    places: Ints, values: Ints, people_places: Ints, people_values: Ints, *, levels: Sequence[int] = ()
) -> Ranking:
    """Rank items by the disagreement of people with the judge.

    Parameters
    ----------
    places, values : (I,)
        The items that the judge answered, each once, and its values.
    people_places, people_values : (R,)
        The answers of people. Those about other items are left out.
    levels
        Of a scale, the values that have a place on it, rising: the disagreement is the mean distance in
        levels, divided by the longest possible. A value that is none of them is `UNSURE` away from all
        others. Without levels it is the share of answers that differ.

    Returns
    -------
    Ranking
        By disagreement, then by the number of people, both falling, then by place. Items without people come
        last.

    Raises
    ------
    ValueError
        If an item occurs twice.

    Examples
    --------
    >>> places, values = np.array([0, 1, 2]), np.array([1, 1, 0])
    >>> found = rank(places, values, np.array([0, 0, 1, 1, 1]), np.array([1, 0, 0, 0, 1]))
    >>> found.places.tolist(), found.differing.tolist(), found.people.tolist()
    ([1, 0, 2], [2, 1, 0], [3, 2, 0])
    """
    if len(np.unique(places)) < len(places):
        raise ValueError("An item occurs twice.")
    order = np.argsort(places)
    places, values = places[order], values[order]
    at = np.minimum(np.searchsorted(places, people_places), max(len(places) - 1, 0))
    known = places[at] == people_places if len(places) else np.zeros(len(at), dtype=np.bool_)
    at, answers = at[known], people_values[known]
    differs = answers != values[at]
    # whole numbers, so that equal disagreement is equal to the last digit
    longest = len(levels) - 1 if levels else 1
    distance = _distances(answers, values[at], levels) if levels else 2 * differs
    people = np.bincount(at, minlength=len(places))
    total = np.bincount(at, weights=distance, minlength=len(places))
    with np.errstate(invalid="ignore"):
        disagreement = total / (2 * longest * people)
    differing = np.bincount(at[differs], minlength=len(places))
    falling = np.where(people > 0, -disagreement, np.inf)
    ranked = np.lexsort((places, -people, falling))
    return Ranking(places[ranked], values[ranked], people[ranked], differing[ranked], disagreement[ranked])


def _distances(answers: Ints, verdicts: Ints, levels: Sequence[int]) -> Ints:
    """In halves of a level."""
    rising = np.array(levels, dtype=np.int64)
    steps = np.abs(np.searchsorted(rising, answers) - np.searchsorted(rising, verdicts))
    placed = np.isin(answers, rising) & np.isin(verdicts, rising)
    apart = np.where(answers == verdicts, 0, len(rising) - 1)
    return np.where(placed, 2 * steps, apart)
