"""Mean brightness, and its change in per cent, with intervals over images (PROTOCOL §12). Pure: no Django."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, checks
from metrics.core.stats.checks import Floats
from metrics.core.stats.percentiles import percentile_intervals
from metrics.core.stats.ratios import ratio_intervals
from metrics.core.stats.scales import Scale

BRIGHTEST = 255.0
_NAN = float("nan")


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; the bounds are NaN without one, all are NaN if undefined."""

    value: float
    low: float = _NAN
    high: float = _NAN

    @property
    def has_interval(self) -> bool:
        return self.low == self.low


UNDEFINED = Estimate(_NAN)


def mean(
    values: ArrayLike, clusters: ArrayLike, *, resamples: int | None, rng: np.random.Generator
) -> Estimate:
    """The mean of `values` (n,), 0 to 255, with an interval over `clusters` (n,), any labels.

    What a model makes of one image several times is alike. One cluster says nothing about others, so that its
    mean has no interval. `resamples`: of the bootstrap over clusters; None for clustered intervals, 0 for
    none.

    Examples
    --------
    >>> mean([100.0, 110.0], [1, 2], resamples=0, rng=np.random.default_rng(0)).value
    105.0
    """
    found = np.asarray(values, dtype=np.float64)
    return _ratio(found, np.ones_like(found), clusters, resamples, rng, Scale(0.0, BRIGHTEST))


def change(
    made: ArrayLike,
    initial: ArrayLike,
    clusters: ArrayLike,
    *,
    resamples: int | None,
    rng: np.random.Generator,
) -> Estimate:
    r"""How much brighter images are than those that they were made from, in per cent.

    .. math:: 100 \left(\frac{\sum_i r_i}{\sum_i r_{initial(i)}} - 1\right)

    `made` and `initial` (n,): the brightness of each image, and of the one that it was made from; `clusters`
    as in `mean`. It is the change of the mean, as published, so that a dark image does not outweigh others.
    Undefined if all initial images are black.

    Examples
    --------
    >>> change([120.0, 90.0], [100.0, 100.0], [1, 2], resamples=0, rng=np.random.default_rng(0)).value
    5.0
    """
    top, bottom = np.asarray(made, dtype=np.float64), np.asarray(initial, dtype=np.float64)
    if top.shape != bottom.shape:
        raise ValueError(f"made has the shape {top.shape}, initial {bottom.shape}; each image needs both.")
    # of the difference, so that no change is exactly 0
    found = _ratio(top - bottom, bottom, clusters, resamples, rng, Scale(-1.0))
    return Estimate(100 * found.value, 100 * found.low, 100 * found.high)


def _ratio(
    top: Floats,
    bottom: Floats,
    clusters: ArrayLike,
    resamples: int | None,
    rng: np.random.Generator,
    scale: Scale,
) -> Estimate:
    """sum(top) / sum(bottom), with its interval; `scale`: that of a clustered one."""
    of = checks.labels("clusters", clusters, length=len(top))
    if not len(top):
        return UNDEFINED
    sums = np.stack([np.bincount(of, weights=each) for each in (top, bottom)], axis=1)
    value = _divided(sums.sum(axis=0, keepdims=True))[0]
    if resamples is None and value == value:
        [bounds] = ratio_intervals(sums[:, :1], sums[:, 1], scale)
        return Estimate(float(value), bounds.low, bounds.high)
    if len(sums) < 2 or not resamples or value != value:
        return Estimate(float(value))
    drawn = np.empty(resamples)
    for rows in bootstrap.chunks(resamples, len(sums)):
        weights = bootstrap.cluster_weights(len(sums), rows.stop - rows.start, rng)
        drawn[rows] = _divided(weights.astype(np.float64) @ sums)
    [bounds] = percentile_intervals(drawn[:, None], [value])
    return Estimate(float(value), bounds.low, bounds.high)


def _divided(sums: Floats) -> Floats:
    """The first column by the second, NaN where that is 0."""
    top, bottom = sums.T
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))
