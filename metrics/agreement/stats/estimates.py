"""Measures of agreement with their intervals (PROTOCOL §10)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from metrics.agreement.stats import rated_pairs
from metrics.agreement.stats.cell_influences import Statistics, cell_influences, influences_across
from metrics.agreement.stats.rated_pairs import Cells
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
    points: Floats,
    drawn: Spread | None,
    resamples: int,
    scales: Sequence[Scale],
    *,
    centres: Floats | None = None,
) -> list[Estimate]:
    """The numbers (M,) with intervals from their influences, or from resamples (B, M) if `resamples` > 0.
    `centres` (M,) as in `clustered.intervals`.

    Examples
    --------
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
    found = spread.intervals(drawn, points, scales, centres=centres)
    return [Estimate(value, interval) for value, interval in zip(points.tolist(), found, strict=True)]


def estimates_of(
    cells: Cells,
    statistics: Statistics,
    resamples: int,
    rng: np.random.Generator | None,
    *,
    clustered: bool,
    mass: Floats,
    step: ArrayLike,
    least: ArrayLike | None = None,
    scales: Sequence[Scale],
    across: bool = False,
) -> list[Estimate]:
    """The `statistics` of the sums of `cells`, with intervals: from influences if `clustered`, with `mass`,
    `step` and `least` as in `cell_influences`, or from resamples. `across`: the pairs are of people of two
    groups. Raises ValueError for resamples without `rng`."""
    check_rng(resamples, rng)
    drawn: Spread | None = None
    if clustered and mass.any():
        influences = influences_across if across else cell_influences
        found = influences(cells, statistics, mass=mass, step=step, least=least)
        drawn = replace(found, many_items=True)
    elif rng is not None and resamples and cells.several_clusters:
        drawn = statistics(rated_pairs.resampled(cells, resamples=resamples, rng=rng))
    return with_intervals(statistics(cells.total), drawn, resamples, scales)


def check_rng(resamples: int, rng: object) -> None:
    """Raises ValueError for resamples without a generator."""
    if resamples and rng is None:
        raise ValueError("An interval needs a random generator: give rng.")
