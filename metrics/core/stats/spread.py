"""How much scores vary by chance: resamples of the bootstrap, or influences. One of the two, wherever scores
are averaged, compared and given intervals."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import clustered, differences, influence
from metrics.core.stats.checks import Bools, Floats
from metrics.core.stats.differences import Difference
from metrics.core.stats.influence import Influences
from metrics.core.stats.percentiles import Interval, percentile_intervals
from metrics.core.stats.scales import NUMBER, Scale

Spread = Floats | Influences
"""The resamples (B, M) of M scores, or their influences."""


def intervals(
    spread: Spread | None,
    values: ArrayLike,
    scales: Scale | Sequence[Scale] = NUMBER,
    *,
    centres: ArrayLike | None = None,
) -> list[Interval | None]:
    """The interval of each of `values` (M,); M times None without a spread, or with one of no resamples.
    `centres` as in `clustered.intervals`; those from resamples do not need them."""
    if isinstance(spread, Influences):
        return [*clustered.intervals(values, spread, scales, centres=centres)]
    if spread is None or not len(spread):
        return [None] * np.size(values)
    return [*percentile_intervals(spread, values)]


def columns(spread: Spread, places: ArrayLike) -> Spread:
    """Of the scores at these places only.

    Examples
    --------
    >>> columns(np.array([[1.0, 2.0]]), [1]).tolist()
    [[2.0]]
    """
    if isinstance(spread, Influences):
        return spread.columns(places)
    return np.asarray(spread[:, np.asarray(places)])


def mean(spreads: Sequence[Spread], known: Bools) -> Spread:
    """Of the unweighted means over G groups; `known` (G, M): which groups have a value of each score.
    Resamples are averaged over the groups that have a value in them."""
    linear = [each for each in spreads if isinstance(each, Influences)]
    if linear:
        weights = known / np.maximum(known.sum(axis=0), 1)
        return influence.total(list(zip(weights, linear, strict=True)), over_groups=True)
    stacked = np.stack([each for each in spreads if not isinstance(each, Influences)])
    there = ~np.isnan(stacked)
    sums, number = np.where(there, stacked, 0.0).sum(axis=0), there.sum(axis=0)
    return np.asarray(np.divide(sums, number, out=np.full(sums.shape, np.nan), where=number > 0))


def difference(
    first: ArrayLike,
    second: ArrayLike,
    spreads: tuple[Spread, Spread],
    scales: tuple[Sequence[Scale], Sequence[Scale]] | None = None,
) -> list[Difference]:
    """`first` minus `second` (M,) for each score, with interval and p. The resamples of both are of the same
    draws; of influences, images and annotators with the same labels are the same. With the `scales` of both,
    an interval does not leave what their difference can be."""
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    a, b = spreads
    if isinstance(a, Influences) and isinstance(b, Influences):
        return linear_difference(one, other, influence.total([(1.0, a), (-1.0, b)]), scales)
    assert not isinstance(a, Influences)
    assert not isinstance(b, Influences)
    return [
        differences.difference(x, y, first_samples=a[:, place], second_samples=b[:, place])
        for place, (x, y) in enumerate(zip(one.tolist(), other.tolist(), strict=True))
    ]


def linear_difference(
    first: ArrayLike,
    second: ArrayLike,
    apart: Influences,
    scales: tuple[Sequence[Scale], Sequence[Scale]] | None = None,
    *,
    centres: ArrayLike | None = None,
) -> list[Difference]:
    """`difference` from the influences on `first` minus `second` themselves. `centres` (M,): the differences
    without bias, as in `clustered.intervals`; p is of them.

    Examples
    --------
    >>> found = influence.influences([[0.5], [-0.5]], images=[3, 4], annotators=[-1, -2])
    >>> [one] = linear_difference([0.5], [0.25], found)
    >>> one.value, one.interval.low < 0 < one.interval.high
    (0.25, True)
    """
    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        values = one - other
    found = clustered.intervals(values, apart, NUMBER, centres=centres)
    if scales is not None:
        found = [
            clustered.around(value, _within(*each))
            for value, each in zip(values.tolist(), zip(found, *scales, strict=True), strict=True)
        ]
    p = clustered.two_sided_p(clustered.middle_of(values, centres), apart)
    return [
        Difference(value, interval, chance)
        for value, interval, chance in zip(values.tolist(), found, p.tolist(), strict=True)
    ]


def _within(interval: Interval, first: Scale, second: Scale) -> Interval:
    low, high = first.low - second.high, first.high - second.low
    return Interval(float(np.maximum(interval.low, low)), float(np.minimum(interval.high, high)))
