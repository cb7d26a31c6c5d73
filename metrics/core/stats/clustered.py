"""Intervals and p from influences: standard errors of clustered answers, and t (PROTOCOL §10)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Floats
from metrics.core.stats.influence import Influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import Scale

NONE = Interval(float("nan"), float("nan"))
"""The interval of a score that has none."""


def intervals(
    values: ArrayLike,
    influences: Influences,
    scales: Scale | Sequence[Scale],
    *,
    centres: ArrayLike | None = None,
    level: float = 0.95,
) -> list[Interval]:
    r"""The interval of each score.

    On the scale g of the score, :math:`g(x) \pm t_{df} \, g'(x) \, se`, transformed back. At an end of a
    scale of finite width the other bound is that of Clopper & Pearson (1934, doi:10.1093/biomet/26.4.404) for
    0 of n, at 0 of a ratio that of a Poisson number of 0; n is width / step (1 / step of a ratio), made
    smaller for few clusters as by Korn & Graubard (1998, Survey Methodology 24(2)).

    `values` (M,); an undefined (NaN) or infinite value has no interval, nor has one that cannot be another or
    has a standard error of 0, nor have any if there is a single image or annotator. `scales`: one for all,
    or M. `centres` (M,): what the intervals of biased scores lie around, though each holds its score; NaN
    where that is the centre.

    Examples
    --------
    >>> from metrics.core.stats.influence import influences
    >>> from metrics.core.stats.scales import SHARE
    >>> found = influences([[-0.25], [0.25], [0.25], [-0.25]], images=[1, 2, 3, 4], annotators=[-1] * 4)
    >>> [interval] = intervals([0.5], found, SHARE)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.001, 0.999)
    """
    points = np.asarray(values, dtype=np.float64)
    each = [scales] * len(points) if isinstance(scales, Scale) else list(scales)
    se, freedom = influences.standard_errors()
    quantiles = _t_quantiles(1 - (1 - level) / 2, freedom)
    middle = middle_of(points, centres)
    numbers = np.stack([points, middle, se, quantiles, influences.step], axis=1).tolist()
    return [
        around(value, _interval(centre, error, t, scale.width / step if step else float("inf"), scale, level))
        for (value, centre, error, t, step), scale in zip(numbers, each, strict=True)
    ]


def separate_intervals(
    values: ArrayLike, influences: Sequence[Influences], scale: Scale, *, level: float = 0.95
) -> list[Interval]:
    """`intervals` of scores that do not depend on the same answers: `values` (M,), and M times the influences
    of one score.

    Examples
    --------
    >>> from metrics.core.stats.influence import influences
    >>> from metrics.core.stats.scales import SHARE
    >>> separate_intervals([0.5], [influences([[0.0]], images=[1], annotators=[-1])], SHARE)[0].low
    nan
    """
    points = np.asarray(values, dtype=np.float64).tolist()
    return [
        intervals([value], each, scale, level=level)[0]
        for value, each in zip(points, influences, strict=True)
    ]


def two_sided_p(values: ArrayLike, influences: Influences) -> Floats:
    """The p (M,) of each of `values` (M,) being 0, by t; NaN if undefined or infinite, or with a
    standard error of 0."""
    # imported here because it takes 0.1 s
    from scipy import special

    points = np.asarray(values, dtype=np.float64)
    se, freedom = influences.standard_errors()
    sizes = np.where(np.isinf(points), np.nan, np.abs(points))
    t = np.divide(sizes, se, out=np.full(se.shape, np.nan), where=se > 0)
    return np.asarray(2 * special.stdtr(freedom, -t))


def middle_of(values: Floats, centres: ArrayLike | None) -> Floats:
    """The centres (M,) of the intervals of M values: themselves without `centres`, and where these are NaN.

    Examples
    --------
    >>> middle_of(np.array([0.5, 0.5]), [0.6, float("nan")]).tolist()
    [0.6, 0.5]
    """
    return values if centres is None else np.where(np.isnan(centres), values, centres)


def around(value: float, interval: Interval) -> Interval:
    """The interval, with the value in it however its ends were rounded.

    Examples
    --------
    >>> around(0.5, Interval(0.1, 0.499))
    Interval(low=0.1, high=0.5, infinite=None, undefined=None)
    """
    if np.isnan(interval.low):
        return interval
    return Interval(min(interval.low, value), max(interval.high, value))


def _interval(value: float, se: float, t: float, n: float, scale: Scale, level: float) -> Interval:
    if not np.isfinite(value) or not se > 0 or scale.low == scale.high:
        return NONE
    low, high = scale.low, scale.high
    if np.isinf(low):
        return Interval(value - t * se, value + t * se)
    if np.isinf(high):
        if value <= low:
            return Interval(low, low - float(np.log((1 - level) / 2)) / _fewer(n, t, level))
        factor = float(np.exp(min(t * se / (value - low), 700.0)))
        return Interval(low + (value - low) / factor, low + (value - low) * factor)
    width = high - low
    share = min(max((value - low) / width, 0.0), 1.0)
    if not 1e-12 < share < 1 - 1e-12:
        bound = _zero_of(_fewer(n, t, level), level)
        shares = (0.0, bound) if share < 0.5 else (1 - bound, 1.0)
        return Interval(low + width * shares[0], low + width * shares[1])
    centre, reach = np.log(share / (1 - share)), t * se / width / (share * (1 - share))
    ends = [1 / (1 + np.exp(-np.clip(each, -700, 700))) for each in (centre - reach, centre + reach)]
    return Interval(low + width * float(ends[0]), low + width * float(ends[1]))


def _fewer(n: float, t: float, level: float) -> float:
    """n answers, made smaller where few clusters make t larger than for a normal distribution."""
    return max(n * (float(_t_quantiles(1 - (1 - level) / 2, np.array([1e9]))[0]) / t) ** 2, 1.0)


def _zero_of(n: float, level: float) -> float:
    """The upper bound of Clopper and Pearson for 0 of n: 1 - (1 - level) / 2 ^ (1 / n)."""
    return float(1 - ((1 - level) / 2) ** (1 / n))


def _t_quantiles(share: float, freedom: Floats) -> Floats:
    # imported here because it takes 0.1 s
    from scipy import special

    return np.asarray(special.stdtrit(freedom, share))
