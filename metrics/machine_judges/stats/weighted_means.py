"""Means of ratings with weights, such as means over items of the means of their ratings (PROTOCOL §16)."""

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.grouped_sums import distinct
from metrics.core.stats.influence import Influences, influences
from metrics.core.stats.scales import Scale


def equal_weights(items: ArrayLike, times: ArrayLike) -> Floats:
    """The weight (R,) of each rating in a mean over items, each of which weighs 1: the share of its item's
    ratings, if each counts so many `times` (R,).

    Examples
    --------
    >>> equal_weights(["a", "b", "a"], [1, 1, 1]).tolist()
    [0.5, 1.0, 0.5]
    >>> equal_weights(["a", "b", "a"], [3, 2, 1]).tolist()
    [0.75, 1.0, 0.25]
    """
    number = np.asarray(times, dtype=np.float64)
    _, item_of = np.unique(items, return_inverse=True)
    place = item_of.ravel()
    return np.asarray(number / np.bincount(place, weights=number)[place])


def weighted_mean(
    values: ArrayLike,
    weights: ArrayLike,
    items: ArrayLike,
    annotators: ArrayLike,
    scale: Scale,
    *,
    strata: ArrayLike | None = None,
) -> tuple[float, Influences]:
    r"""The mean of R ratings, and its influences

    .. math:: d_r = w_r (x_r - m), \qquad m = \sum_r w_r x_r

    with weights that add up to 1. With equal ones those of `means.mean_influences`; but images are the
    `items` (R,) by their own labels, so that two means can be of the same items. `values`, `weights` (R,);
    `annotators` (R,): those below 0 are not identified. Raises ValueError without ratings.

    `strata` (R,): samples that were drawn separately, such as those of identity groups. Then

    .. math:: d_r = f_{s(r)} w_r (x_r - m_{s(r)}), \qquad
              f_s = \sqrt{\frac{k_s}{k_s - 1} \frac{k - 1}{k}}

    with the mean :math:`m_s` of the stratum and its number :math:`k_s` of the k items, as the jackknife of a
    stratified sample has it; undefined for a stratum of one item.

    Examples
    --------
    >>> mean, found = weighted_mean([1, 3, 5], [0.5, 0.5, 1], [7, 7, 8], [1, 2, 1], Scale(1, 5))
    >>> mean, found.images.labels.tolist(), found.images.change.round(3).tolist()
    (3.5, [7, 8], [[-1.061], [1.061]])
    """
    x, w = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if not len(x):
        raise ValueError("There is no rating to take the mean of.")
    w = w / w.sum()
    item, sample = np.asarray(items), np.zeros(len(x)) if strata is None else np.asarray(strata)
    _, of, number = np.unique(sample, return_inverse=True, return_counts=True)
    of = of.ravel()
    share = np.bincount(of, weights=w)
    centre = np.bincount(of, weights=w * x) / share
    least = np.array([(share / number).max()])
    found = influences(
        (_corrections(item, of)[of] * w * (x - centre[of]))[:, None],
        images=item,
        annotators=annotators,
        mass=w,
        step=scale.width * least,
        least=least,
    )
    return float(w @ x), found


def _corrections(items: ArrayLike, strata: Ints) -> Floats:
    """f of each stratum; 1 if there is one."""
    if not strata.any():
        return np.ones(1)
    labels, item_of = distinct(np.asarray(items))
    whole = len(labels)
    both, _ = distinct(strata * whole + item_of)
    number = np.bincount(both // whole).astype(np.float64)
    ratio = np.divide(number, number - 1, out=np.full_like(number, np.nan), where=number > 1)
    return np.asarray(np.sqrt(ratio * (whole - 1) / whole))
