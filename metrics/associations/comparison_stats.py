"""Shares, means and Jaccard's index with intervals over descriptors (PROTOCOL §11). Pure: no Django.

A descriptor is a cluster of all its pairs, which are alike since they are about the same people.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap
from metrics.core.stats.percentiles import percentile_intervals
from metrics.core.stats.ratios import ratio_intervals
from metrics.core.stats.scales import SHARE, Scale


@dataclass(frozen=True)
class Estimate:
    """A sum `k` over its number `n`: a share or a mean. `value` is None if n is 0; `low` and `high`, its 95 %
    interval, are None as well with one descriptor, which says nothing about others."""

    value: float | None
    low: float | None
    high: float | None
    k: float
    n: int


def ratio(
    sums: ArrayLike,
    numbers: ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int | None = None,
    scale: Scale = SHARE,
) -> Estimate:
    r"""The sum of `sums` over that of `numbers`, each (D,), a row for each descriptor, with its interval.

    .. math:: \frac{\sum_d w_d k_d}{\sum_d w_d n_d}

    `resamples`: of the bootstrap, which draws descriptors w times; None for clustered intervals on `scale`, 0
    for none.

    Examples
    --------
    >>> found = ratio([1, 3], [2, 4], rng=np.random.default_rng(0), resamples=1000)
    >>> round(found.value, 3), found.low, found.high, found.n
    (0.667, 0.5, 0.75, 6)
    """
    both = np.column_stack([np.asarray(sums, dtype=np.float64), np.asarray(numbers, dtype=np.float64)])
    both = both[both[:, 1] > 0]
    k, n = (float(each) for each in both.sum(axis=0))
    if not len(both):
        return Estimate(None, None, None, k, 0)
    value = k / n
    if resamples is None and len(both) > 1:
        [bounds] = ratio_intervals(both[:, :1], both[:, 1], scale, step=1 / n)
        return Estimate(value, bounds.low, bounds.high, k, round(n))
    if len(both) < 2 or not resamples:
        return Estimate(value, None, None, k, round(n))
    drawn = np.empty(resamples)
    for rows in bootstrap.chunks(resamples, len(both)):
        weights = bootstrap.cluster_weights(len(both), rows.stop - rows.start, rng)
        top, bottom = (weights @ both).T
        drawn[rows] = top / bottom
    [bounds] = percentile_intervals(drawn[:, None], [value])
    return Estimate(value, bounds.low, bounds.high, k, round(n))


def ratio_by(
    rows: Iterable[tuple[Hashable, float]],
    *,
    rng: np.random.Generator,
    resamples: int | None = None,
    scale: Scale = SHARE,
) -> Estimate:
    """The mean of values with their descriptors, (descriptor, value), as `ratio`. Descriptors are drawn in
    the order of their names.

    Examples
    --------
    >>> ratio_by([("a", True), ("a", False), ("b", True)], rng=np.random.default_rng(0)).k
    2.0
    """
    counted: dict[Hashable, list[float]] = {}
    for descriptor, value in rows:
        both = counted.setdefault(descriptor, [0.0, 0.0])
        both[0] += value
        both[1] += 1
    ordered = [counted[each] for each in sorted(counted, key=str)]
    sums, numbers = [k for k, _ in ordered], [n for _, n in ordered]
    return ratio(sums, numbers, rng=rng, resamples=resamples, scale=scale)


def jaccard(
    here: Set[tuple[str, str]],
    there: Set[tuple[str, str]],
    *,
    rng: np.random.Generator,
    resamples: int | None = None,
) -> Estimate:
    """Jaccard's index of two sets of pairs (descriptor, word): shared pairs over all pairs.

    Examples
    --------
    >>> jaccard({("old", "slow"), ("old", "wise")}, {("old", "slow")}, rng=np.random.default_rng(0)).value
    0.5
    """
    return ratio_by(
        ((pair[0], pair in here and pair in there) for pair in here | there), rng=rng, resamples=resamples
    )


def split(here: Set[tuple[str, str]], there: Set[tuple[str, str]]) -> Mapping[str, Sequence[tuple[str, str]]]:
    """The pairs that are `shared`, `only_here` and `only_there`, each in order."""
    return {
        "shared": sorted(here & there),
        "only_here": sorted(here - there),
        "only_there": sorted(there - here),
    }
