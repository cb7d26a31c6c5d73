"""Which attributes are visual, and consensus about it (PROTOCOL §2; Jha et al. 2024, ViSAGe, ACL 2024,
figure 6, doi:10.18653/v1/2024.acl-long.667)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import checks
from metrics.core.stats.checks import Bools, Floats, Ints

SCALE = (1, 2, 3, 4, 5)
"""Columns of every count table here: strongly disagree, disagree, unsure, agree, strongly agree."""
_AGREE_COLUMNS = (3, 4)


@dataclass(frozen=True)
class Consensus:
    """For each label of SCALE: number and per cent of the attributes for which enough annotators chose it."""

    units: int
    attributes: tuple[int, ...]
    percent: tuple[float, ...]


def agree_counts(ratings: ArrayLike) -> Ints:
    """How many annotators chose Agree or Strongly agree, shape (U,)."""
    table = _table(ratings)
    return np.asarray(table[:, _AGREE_COLUMNS].sum(axis=1))


def is_visual(ratings: ArrayLike, *, at_least: int | None = None) -> Bools:
    """Whether each attribute is visual, shape (U,): whether `at_least` annotators agreed (None: all of them).
    There is no majority vote unless it is requested.

    `ratings` (U, 5): how many annotators gave each attribute each score of SCALE. Missing ratings are not
    counted; an attribute without ratings is not visual.

    Examples
    --------
    >>> is_visual([[0, 0, 0, 1, 2], [0, 1, 0, 0, 2]]).tolist()
    [True, False]
    >>> is_visual([[0, 0, 0, 1, 2], [0, 1, 0, 0, 2]], at_least=2).tolist()
    [True, True]
    """
    table = _table(ratings)
    if at_least is not None and at_least < 1:
        raise ValueError(f"at_least is {at_least}; a rule asks for at least 1 annotator.")
    total = table.sum(axis=1)
    needed = total if at_least is None else np.full(len(table), at_least)
    return np.asarray((total > 0) & (agree_counts(table) >= needed))


def mean_scores(ratings: ArrayLike) -> Floats:
    """Mean score of each attribute, 1 to 5 (Unsure is the middle, 3); NaN without ratings.

    Examples
    --------
    >>> mean_scores([[1, 0, 0, 0, 1], [0, 0, 0, 0, 0]]).tolist()
    [3.0, nan]
    """
    table = _table(ratings)
    total = table.sum(axis=1)
    return np.asarray(
        np.divide(table @ np.asarray(SCALE), total, out=np.full(len(table), np.nan), where=total > 0)
    )


def is_visual_by_mean(ratings: ArrayLike, *, at_least: float) -> Bools:
    """Whether each attribute is visual by its mean score: at least `at_least`.

    Examples
    --------
    >>> is_visual_by_mean([[0, 0, 0, 2, 1], [1, 0, 0, 1, 1]], at_least=4).tolist()
    [True, False]
    """
    if not SCALE[0] <= at_least <= SCALE[-1]:
        raise ValueError(f"at_least is {at_least}; scores go from {SCALE[0]} to {SCALE[-1]}.")
    # NaN compares as False: an attribute without ratings is not visual
    return np.asarray(mean_scores(ratings) >= at_least)


def consensus(ratings: ArrayLike, *, at_least: int = 2) -> Consensus:
    """For each label, the share of attributes for which at least `at_least` annotators chose it.

    Labels are not merged, so the shares need not add up to 100: three annotators with three different
    labels count for none. With more than three annotators an attribute can count for several labels.
    `ratings` (U, 5) as in `is_visual`; attributes without ratings are not counted.

    Examples
    --------
    >>> consensus([[0, 0, 0, 1, 2], [3, 0, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 3]]).percent
    (25.0, 0.0, 0.0, 0.0, 50.0)
    """
    table = _table(ratings)
    if at_least < 1:
        raise ValueError(f"at_least is {at_least}; at least 1 annotator is needed.")
    table = table[table.sum(axis=1) > 0]
    found = (table >= at_least).sum(axis=0)
    units = len(table)
    percent = found * 100 / units if units else np.full(len(SCALE), np.nan)
    return Consensus(units, tuple(found.tolist()), tuple(percent.tolist()))


def _table(ratings: ArrayLike) -> Ints:
    table = checks.counts("ratings", ratings, ndim=2)
    if table.shape[1] != len(SCALE):
        raise ValueError(f"ratings has {table.shape[1]} columns; one for each score of {SCALE} is needed.")
    return table
