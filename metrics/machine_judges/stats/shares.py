"""What a machine judge answered where people gave an answer, and how stable it is (PROTOCOL §16)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.agreement.stats.cell_influences import cell_influences
from metrics.agreement.stats.coincidences import ratio
from metrics.agreement.stats.estimates import Estimate, with_intervals
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.ratios import ratio_intervals
from metrics.core.stats.scales import SHARE
from metrics.machine_judges.stats.agreement import judge_cells


@dataclass(frozen=True)
class Confused:
    """Of the `answers` of people with one value, to `number` the judge answered another (or the same): the
    columns of both."""

    people: int
    judge: int
    answers: int
    number: int
    share: Estimate


def confusion(people: Ratings, verdicts: ArrayLike, *, clustered: bool = False) -> list[Confused]:
    """The share of people's answers of each value to which the judge gave each value; none for a value that
    no person gave. Arguments as for `agreement.beside_each`.

    Examples
    --------
    >>> people = Ratings(np.array([[1, 0], [0, 1]]), np.array([0, 0]), np.array([4, 4]), np.array([7, 8]))
    >>> [(each.people, each.judge, each.share.value) for each in confusion(people, [1, 1])]
    [(0, 0, 0.0), (0, 1, 1.0), (1, 0, 0.0), (1, 1, 1.0)]
    """
    cells = judge_cells(people, verdicts)
    width = people.counts.shape[1]
    square = cells.total[: width**2].reshape(width, width)
    found: list[Confused] = []
    for column in np.flatnonzero(square.sum(axis=0)).tolist():
        places = np.arange(width) * width + column
        given = cells.sums[:, places].sum(axis=1)
        own = cells.of(np.flatnonzero(given))

        def shares(sums: Floats, places: Ints = places) -> Floats:
            there = sums[..., places]
            return ratio(there, there.sum(axis=-1, keepdims=True))

        drawn = None
        if clustered:
            units = len(np.unique(people.numbered[people.counts[:, column] > 0]))
            drawn = cell_influences(own, shares, mass=given[given > 0], step=np.full(width, 1 / units))
        estimates = with_intervals(shares(own.total), drawn, 0, (SHARE,) * width)
        found += [
            Confused(column, row, round(float(given.sum())), round(float(square[row, column])), estimate)
            for row, estimate in enumerate(estimates)
        ]
    return found


def share_alike(same: ArrayLike, clusters: ArrayLike, *, clustered: bool = False) -> Estimate:
    """The share of N comparisons that are the `same` (N,), each of one of `clusters` (N,), such as images.
    NaN without any.

    Examples
    --------
    >>> share_alike([True, True, False, True], [4, 4, 5, 6]).value
    0.75
    """
    equal, labels = np.asarray(same, dtype=np.float64), np.asarray(clusters)
    if not len(equal):
        return Estimate(float("nan"))
    value = float(equal.mean())
    if not clustered:
        return Estimate(value)
    _, place = np.unique(labels, return_inverse=True)
    top, bottom = np.bincount(place, weights=equal), np.bincount(place)
    return Estimate(value, ratio_intervals(top[:, None], bottom, SHARE, step=1 / len(equal))[0])


def later_and_first(items: ArrayLike, samples: ArrayLike, values: ArrayLike) -> tuple[Ints, Ints]:
    """Of answers (N,) about the same item, those after the first: their places, and whether each is equal to
    the first (1 or 0). `samples` (N,): the order in which they were given.

    Examples
    --------
    >>> later, same = later_and_first([5, 5, 6, 5], [1, 2, 1, 3], [0, 1, 1, 0])
    >>> later.tolist(), same.tolist()
    ([1, 3], [0, 1])
    """
    item, value = np.asarray(items), np.asarray(values)
    order = np.lexsort((np.asarray(samples), item))
    sorted_items = item[order]
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = sorted_items[1:] != sorted_items[:-1]
    first = order[np.flatnonzero(starts)][np.cumsum(starts) - 1] if len(order) else order
    same = (value[order] == value[first]).astype(np.int64)
    return order[~starts], same[~starts]
