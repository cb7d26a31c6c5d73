"""Means of ratings, and how they vary with items and annotators (PROTOCOL §4, §10)."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, checks
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.clustered import NONE, around
from metrics.core.stats.influence import Influences, influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import SHARE, Scale

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


def mean_influences(
    values: ArrayLike,
    chosen: ArrayLike,
    items: ArrayLike,
    annotators: ArrayLike | None = None,
    *,
    scale: Scale = SHARE,
) -> list[Influences]:
    r"""Influences on `means`, one for each column of `chosen`, because each chooses other items.

    .. math:: d_r = (x_r - m) / n

    for the n chosen ratings, of which one can change a mean by the width of the `scale` over n; ratings that
    differ by 1 change it by 1 / n, the least standard error. `items` (R,): any labels; `annotators` (R,):
    those below 0 are not identified. Without annotators the intervals do not include the variation between
    annotators. Those of a mean of no ratings are undefined.

    Examples
    --------
    >>> [found] = mean_influences([1.0, 3.0], [[True], [True]], ["a", "b"])
    >>> found.images.change.round(3).tolist(), found.step.tolist()
    ([[-0.707], [0.707]], [0.5])
    """
    value, used = _checked(values, chosen)
    item_of = checks.labels("items", items, length=len(value))
    who = np.full(len(value), -1) if annotators is None else np.asarray(annotators)
    found = []
    for column in used.T.astype(np.bool_):
        x = value[column]
        if len(x):
            d = (x - x.mean()) / len(x)
            least = np.array([1 / len(x)])
            of_column = influences(
                d[:, None],
                images=item_of[column],
                annotators=who[column],
                step=scale.width * least,
                least=least,
            )
            found.append(replace(of_column, many_items=True))
        else:
            found.append(influences([[np.nan]], images=[0], annotators=[-1]))
    return found


def item_intervals(
    values: ArrayLike, items: Ints, annotators: ArrayLike, scale: Scale, *, level: float = 0.95
) -> list[Interval]:
    r"""The interval of the mean rating of each item, with a variance that all items share.

    Ratings of one item by one annotator are averaged first. With m the mean of an item, n its annotators and
    low to high the scale, the variance within an item is taken to be

    .. math:: \varphi (m - low)(high - m), \qquad
              \varphi = \frac{\sum_i (n_i - 1) s_i^2}
                        {\sum_i (n_i - 1) \left((m_i - low)(high - m_i) + s_i^2 / n_i\right)},

    and the interval holds all means :math:`\mu` with
    :math:`n (m - \mu)^2 \le t^2 \varphi (\mu - low)(high - \mu)`, as Wilson (1927, doi:10.2307/2276774) for
    shares; t has :math:`\sum_i (n_i - 1)` degrees of freedom. It never leaves the scale. The annotators are
    taken to be others for each item, and items to be equally clear.

    `items` (R,): from 0, each with at least one rating. An item with one annotator has no interval, nor has
    any if all annotators of each item agree.

    Examples
    --------
    >>> found = item_intervals([1, 2, 4, 4], np.array([0, 0, 1, 1]), [5, 6, 5, 6], Scale(1, 5))
    >>> [(round(each.low, 2), round(each.high, 2)) for each in found]
    [(1.05, 3.39), (2.23, 4.81)]
    """
    # imported here because it takes 0.6 s
    from scipy import stats

    value = np.asarray(values, dtype=np.float64)
    cells, cell_of = np.unique(np.column_stack([items, annotators]), axis=0, return_inverse=True)
    by_cell = np.bincount(cell_of.ravel(), weights=value) / np.bincount(cell_of.ravel())
    n = np.bincount(cells[:, 0])
    centre = np.bincount(items, weights=value) / np.bincount(items)
    within = np.bincount(cells[:, 0], weights=by_cell) / n
    squares = np.bincount(cells[:, 0], weights=(by_cell - within[cells[:, 0]]) ** 2)
    room = (within - scale.low) * (scale.high - within)
    freedom = int((n - 1).sum())
    if not squares.any():
        return [NONE] * len(n)
    shared = squares.sum() / ((n - 1) * room + squares / n).sum()
    a = stats.t.ppf(1 - (1 - level) / 2, freedom) ** 2 * shared / n
    share = (centre - scale.low) / (scale.high - scale.low)
    middle = (share + a / 2) / (1 + a)
    reach = np.sqrt(np.maximum(a * share * (1 - share) + a**2 / 4, 0.0)) / (1 + a)
    low, high = (
        scale.low + (scale.high - scale.low) * np.clip(middle + sign * reach, 0.0, 1.0) for sign in (-1, 1)
    )
    return [
        around(mean, Interval(*bounds)) if people > 1 else NONE
        for mean, *bounds, people in zip(
            centre.tolist(), low.tolist(), high.tolist(), n.tolist(), strict=True
        )
    ]


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
