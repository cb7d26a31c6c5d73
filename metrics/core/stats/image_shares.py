"""Shares of texts about images, with intervals over whole images (PROTOCOL §12)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, checks
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.percentiles import percentile_intervals
from metrics.core.stats.ratios import ratio_intervals
from metrics.core.stats.scales import SHARE


@dataclass(frozen=True)
class Share:
    """`k` of `n` texts, with a 95 % interval; NaN where there is none."""

    k: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        return self.k / self.n if self.n else float("nan")


def shares_of_images(
    k: ArrayLike, n: ArrayLike, *, resamples: int | None, rng: np.random.Generator
) -> list[Share]:
    """The share sum(k) / sum(n) of each of C kinds of text, with intervals.

    `k` (I, C): how many texts of each image are of each kind; `n` (I,): how many texts each image has. An
    image is a cluster of all its texts, which are alike. `resamples`: of the bootstrap over images; None for
    clustered intervals, 0 for none. One image has no interval. Raises ValueError for other shapes, or more
    texts of a kind than there are.

    Examples
    --------
    >>> [found] = shares_of_images([[2], [0]], [2, 2], resamples=0, rng=np.random.default_rng(0))
    >>> found.value, found.k, found.n
    (0.5, 2, 4)
    """
    of_kind, of_image = checks.counts("k", k, ndim=2), checks.counts("n", n, ndim=1)
    if of_kind.shape[0] != len(of_image):
        raise ValueError(f"k has {of_kind.shape[0]} images and n {len(of_image)}; they need the same.")
    if bool((of_kind > of_image[:, None]).any()):
        raise ValueError("k counts more texts of an image than n.")
    total = of_kind.sum(axis=0)
    estimates = _ratio(total[None, :], of_image.sum(keepdims=True))[0]
    lows = highs = [float("nan")] * len(total)
    if resamples is None:
        bounds = ratio_intervals(of_kind, of_image, SHARE, step=1 / max(int(of_image.sum()), 1))
        lows, highs = [each.low for each in bounds], [each.high for each in bounds]
    elif resamples and len(of_image) > 1:
        drawn = np.empty((resamples, len(total)))
        for part in bootstrap.chunks(resamples, len(of_image)):
            weights = bootstrap.cluster_weights(len(of_image), part.stop - part.start, rng)
            drawn[part] = _ratio(weights @ of_kind, weights @ of_image)
        bounds = percentile_intervals(drawn, estimates)
        lows, highs = [each.low for each in bounds], [each.high for each in bounds]
    return [
        Share(int(number), int(of_image.sum()), low, high)
        for number, low, high in zip(total, lows, highs, strict=True)
    ]


def _ratio(top: Ints, bottom: Ints) -> Floats:
    """(B, C) over (B,); NaN over 0."""
    under = np.broadcast_to(bottom[:, None], top.shape)
    return np.asarray(np.divide(top, under, out=np.full(top.shape, np.nan), where=under > 0))
