"""Measures of agreement with their intervals (PROTOCOL §10)."""

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.core.stats import spread
from metrics.core.stats.checks import Floats
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import Scale
from metrics.core.stats.spread import Spread


@dataclass(frozen=True)
class Estimate:
    """A number (NaN if undefined) and its interval (None if none was computed)."""

    value: float
    interval: Interval | None = None


def with_intervals(
    points: Floats, drawn: Spread | None, resamples: int, scales: Sequence[Scale]
) -> list[Estimate]:
    """The numbers (M,) with intervals from their influences, or from resamples (B, M) if `resamples` > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from metrics.core.stats.scales import SHARE
    >>> with_intervals(np.array([0.5]), None, 0, [SHARE])
    [Estimate(value=0.5, interval=None)]
    """
    if drawn is None and not resamples:
        return [Estimate(value) for value in points.tolist()]
    if drawn is None:
        # a single image says nothing about the variation between images
        nothing = Interval(float("nan"), float("nan"), 0, resamples)
        return [Estimate(value, nothing) for value in points.tolist()]
    found = spread.intervals(drawn, points, scales)
    return [Estimate(value, interval) for value, interval in zip(points.tolist(), found, strict=True)]
