"""Means of ratings with weights, such as means over items of the means of their ratings (PROTOCOL §16)."""

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Floats
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
    values: ArrayLike, weights: ArrayLike, items: ArrayLike, annotators: ArrayLike, scale: Scale
) -> tuple[float, Influences]:
    r"""The mean of R ratings, and its influences

    .. math:: d_r = w_r (x_r - m), \qquad m = \sum_r w_r x_r

    with weights that add up to 1. With equal ones those of `means.mean_influences`; but images are the
    `items` (R,) by their own labels, so that two means can be of the same items. `values`, `weights` (R,);
    `annotators` (R,): those below 0 are not identified. Raises ValueError without ratings.

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
    mean = float(w @ x)
    least = np.array([1 / len(x)])
    found = influences(
        (w * (x - mean))[:, None],
        images=items,
        annotators=annotators,
        mass=w,
        step=scale.width * least,
        least=least,
    )
    return mean, found
