"""Percentile intervals from resamples (PROTOCOL §10)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Floats


@dataclass(frozen=True)
class Interval:
    """A 95 % interval; `low` and `high` are NaN if there is none.

    `infinite` and `undefined` count the resamples with an infinite value and with none; None if nothing was
    resampled.
    """

    low: float
    high: float
    infinite: int | None = None
    undefined: int | None = None


def percentile_intervals(samples: ArrayLike, estimates: ArrayLike, *, level: float = 0.95) -> list[Interval]:
    """Percentile interval of each column.

    `samples` (B, M), `estimates` (M,); an undefined (NaN) estimate has no interval. Bounds are values that
    occurred (Efron 1981, doi:10.2307/3314608), without interpolation, which is impossible with infinite
    values. Undefined (NaN) resamples are left out, infinite ones are kept; both are counted. An interval
    without its estimate is widened to contain it. Raises ValueError for other shapes or levels.

    Examples
    --------
    >>> percentile_intervals([[1.0], [2.0], [3.0], [float("inf")]], [2.0], level=0.5)
    [Interval(low=1.0, high=3.0, infinite=1, undefined=0)]
    """
    drawn, point = np.asarray(samples, dtype=np.float64), np.asarray(estimates, dtype=np.float64)
    if drawn.ndim != 2 or point.shape != (drawn.shape[1],):
        raise ValueError(
            f"samples has shape {drawn.shape} and estimates {point.shape}; (B, M) and (M,) are needed."
        )
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; a coverage lies between 0 and 1.")
    ordered = np.sort(drawn, axis=0)  # NaN last
    undefined = np.isnan(drawn).sum(axis=0)
    infinite = np.isinf(drawn).sum(axis=0)
    tail = (1 - level) / 2
    found = []
    for column, estimate in enumerate(point.tolist()):
        valid = len(drawn) - int(undefined[column])
        low = high = float("nan")
        if valid and estimate == estimate:
            low = min(float(ordered[_rank(tail, valid), column]), estimate)
            high = max(float(ordered[_rank(1 - tail, valid), column]), estimate)
        found.append(Interval(low, high, int(infinite[column]), int(undefined[column])))
    return found


def recentred(shares: ArrayLike, estimate: float) -> Floats:
    """Resampled shares, moved so that their mean is the estimate, and clipped to between 0 and 1.

    A resample contains about 63 % of the distinct clusters, which biases shares of things seen at least once
    or stated by at least two; only their spread is needed (tests/metrics/captions/test_caption_pairs.py shows
    the coverage). NaN if the share is NaN; all NaN if the estimate is. Raises ValueError outside 0 to 1.

    Examples
    --------
    >>> recentred([0.2, 0.4, float("nan")], 0.5).round(6).tolist()
    [0.4, 0.6, nan]
    """
    values = np.asarray(shares, dtype=np.float64)
    if bool(((values < 0) | (values > 1)).any()):
        raise ValueError("A share lies between 0 and 1.")
    known = ~np.isnan(values)
    if not known.any():
        return values
    return np.asarray(np.clip(values - values[known].mean() + estimate, 0.0, 1.0))


def _rank(share: float, number: int) -> int:
    """Index of the smallest of `number` ordered values that `share` of them do not exceed."""
    return max(0, int(np.ceil(round(share * number, 9))) - 1)
