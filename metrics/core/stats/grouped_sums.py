"""Sums over rows with the same label."""

import numpy as np

from metrics.core.stats.checks import Floats, Ints


def distinct(labels: Ints) -> tuple[Ints, Ints]:
    """The distinct labels in ascending order, and the place of each label among them. A table does it without
    sorting if there are not many more possible labels than labels: contrasts unite the images of all groups
    once for each group.

    Examples
    --------
    >>> found, place = distinct(np.array([7, 5, 7]))
    >>> found.tolist(), place.tolist()
    ([5, 7], [1, 0, 1])
    """
    if not labels.size:
        return labels, np.zeros(0, dtype=np.int64)
    lowest = int(labels.min()) if labels.dtype.kind in "iu" else 0
    if labels.dtype.kind not in "iu" or labels.max() - lowest > 8 * len(labels):
        found, place = np.unique(labels, return_inverse=True)
        return found, place
    offset = labels - lowest
    there = np.zeros(int(offset.max()) + 1, dtype=np.bool_)
    there[offset] = True
    return np.flatnonzero(there) + lowest, (np.cumsum(there) - 1)[offset]


def add_up(values: Floats, index: Ints, number: int) -> Floats:
    """Sums of `values` (R,) or (R, M) by `index` (R,), which has `number` values from 0."""
    if values.ndim == 1:
        return np.asarray(np.bincount(index, weights=values, minlength=number), dtype=np.float64)
    if not len(values):
        return np.zeros((number, values.shape[1]))
    flat = index[:, None] * values.shape[1] + np.arange(values.shape[1])
    sums = np.bincount(flat.ravel(), weights=values.ravel(), minlength=number * values.shape[1])
    return np.asarray(sums.reshape(number, values.shape[1]), dtype=np.float64)
