"""Means of ratings, and their two-way cluster bootstrap (PROTOCOL §4, §10)."""

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, checks
from metrics.core.stats.checks import Bools, Floats

LOWEST, HIGHEST = -1.0, 4.0
"""The scale on which people rate how offensive something is (PROTOCOL §4)."""


def means(values: ArrayLike, chosen: ArrayLike) -> Floats:
    """Mean (M,) of the `values` (R,) that each column of `chosen` (R, M), booleans, chooses; NaN if there is
    none. NaN among the values is left out.

    Examples
    --------
    >>> means([1.0, 3.0, float("nan")], [[True, False], [True, False], [True, True]]).tolist()
    [2.0, nan]
    """
    value, used = _checked(values, chosen)
    return _ratio(value @ used, used.sum(axis=0))


def resampled_means(
    values: ArrayLike,
    chosen: ArrayLike,
    items: ArrayLike,
    annotators: ArrayLike | None = None,
    *,
    resamples: int,
    rng: np.random.Generator,
) -> Floats:
    r"""`means` in each resample of items and annotators.

    .. math:: m_{bj} = \frac{\sum_r u_{b,item(r)} \, v_{b,annotator(r)} \, x_r c_{rj}}
                            {\sum_r u_{b,item(r)} \, v_{b,annotator(r)} \, c_{rj}}

    Items and annotators are drawn independently, with replacement, as many as there are: the pigeonhole
    bootstrap (Owen 2007, doi:10.1214/07-AOAS122), as in `bootstrap.resampled_likelihoods`. `items` and
    `annotators` (R,): any labels; equal labels are one cluster. Without annotators only items are drawn, and
    the interval does not include the variation between annotators. The means, (resamples, M), are NaN if a
    resample contains none of the chosen values. Raises ValueError without a rating.

    Examples
    --------
    >>> resampled_means([2.0, 2.0], [[True], [True]], ["a", "b"], resamples=2,
    ...                 rng=np.random.default_rng(0)).tolist()
    [[2.0], [2.0]]
    """
    value, used = _checked(values, chosen)
    if not len(value):
        raise ValueError("There is no rating to resample.")
    item_of = checks.labels("items", items, length=len(value))
    item_weights = bootstrap.cluster_weights(int(item_of.max()) + 1, resamples, rng)
    annotator_of = annotator_weights = None
    if annotators is not None:
        annotator_of = checks.labels("annotators", annotators, length=len(value))
        annotator_weights = bootstrap.cluster_weights(int(annotator_of.max()) + 1, resamples, rng)
    # All ratings of one item by one annotator have the same weight.
    pairs = np.column_stack([item_of, np.zeros_like(item_of) if annotator_of is None else annotator_of])
    cells, cell_of = np.unique(pairs, axis=0, return_inverse=True)
    both = np.zeros((len(cells), 2 * used.shape[1]))
    np.add.at(both, cell_of.ravel(), np.hstack([used * value[:, None], used]))
    sums = np.empty((resamples, both.shape[1]))
    for rows in bootstrap.chunks(resamples, len(cells)):
        weights = item_weights[rows][:, cells[:, 0]]
        if annotator_weights is not None:
            weights = weights * annotator_weights[rows][:, cells[:, 1]]
        sums[rows] = weights.astype(np.float64) @ both
    return _ratio(sums[:, : used.shape[1]], sums[:, used.shape[1] :])


def _checked(values: ArrayLike, chosen: ArrayLike) -> tuple[Floats, Floats]:
    """The values with 0 for missing ones, and the selections as numbers, with missing values deselected."""
    value, mask = np.asarray(values, dtype=np.float64), np.asarray(chosen)
    if value.ndim != 1 or mask.ndim != 2 or len(mask) != len(value):
        raise ValueError(
            f"values has shape {value.shape} and chosen {mask.shape}; (R,) and (R, M) are needed."
        )
    if mask.size and mask.dtype.kind != "b":
        raise ValueError("chosen must be True or False for each value and selection.")
    if bool(np.isinf(value).any()):
        raise ValueError("values holds an infinite rating.")
    known: Bools = ~np.isnan(value)
    return np.where(known, value, 0.0), (mask.astype(np.bool_) & known[:, None]).astype(np.float64)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.asarray(np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0))
