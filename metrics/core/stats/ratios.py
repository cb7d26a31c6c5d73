"""Ratios of sums over clusters, such as shares of the texts about images: influences and intervals."""

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import clustered
from metrics.core.stats.influence import Influences, influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import Scale


def ratio_influences(
    top: ArrayLike, bottom: ArrayLike, *, step: float | None = None, width: float = 1.0
) -> Influences:
    r"""The influences of clusters on C ratios :math:`R = \sum_i t_i / \sum_i b_i`.

    .. math:: d_i = (t_i - R \, b_i) / \sum_i b_i

    `top` (I, C), `bottom` (I,), of which some are above 0. `step`: by how much one unit can change a ratio
    of units from 0 to 1, such as a text a share of texts, by default not known; where clusters do not differ
    at all, 1 / I, because nothing then says how alike the units of a cluster are. `width` of the scale: a
    unit can change a ratio so many times as much. Raises ValueError for other shapes.

    Examples
    --------
    >>> ratio_influences([[1], [0]], [1, 1]).images.change.round(3).tolist()
    [[0.354], [-0.354]]
    """
    over = np.asarray(top, dtype=np.float64)
    under = np.asarray(bottom, dtype=np.float64)
    if over.ndim != 2 or under.shape != over.shape[:1]:
        raise ValueError(f"top has shape {over.shape} and bottom {under.shape}; (I, C) and (I,) are needed.")
    used = (under > 0) | (over != 0).any(axis=1)
    over, under = over[used], under[used]
    ratios = over.sum(axis=0) / under.sum()
    d = (over - under[:, None] * ratios) / under.sum()
    still = np.abs(d).max(axis=0) <= 1e-12 * np.maximum(np.abs(ratios), 1.0)
    least = np.where(still, 1 / len(under), 0.0 if step is None else step)
    return influences(
        np.where(still, 0.0, d),
        images=np.arange(len(under)),
        annotators=np.full(len(under), -1),
        mass=under,
        step=width * least,
        least=least,
    )


def ratio_intervals(
    top: ArrayLike, bottom: ArrayLike, scale: Scale, *, step: float | None = None
) -> list[Interval]:
    """The clustered interval of each ratio; none with a single cluster. Arguments as for `ratio_influences`.

    Examples
    --------
    >>> [found] = ratio_intervals([[0], [0], [0]], [2, 2, 2], Scale(0.0, 1.0))
    >>> found.low, found.high > 0.5
    (0.0, True)
    """
    over, under = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    if not bool((under > 0).any()):
        return [clustered.NONE] * over.shape[1]
    found = ratio_influences(over, under, step=step, width=scale.width)
    return clustered.intervals(over.sum(axis=0) / under.sum(), found, scale)
