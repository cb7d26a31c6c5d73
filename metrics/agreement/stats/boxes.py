"""Agreement of boxes drawn by different annotators (PROTOCOL §10)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Floats, Ints

# pairs of boxes compared at once
_AT_ONCE = 1_000_000
_FIELDS = ("items", "first", "second", "values")


@dataclass(frozen=True)
class BoxPairs:
    """The match (0 to 1) of the boxes of two annotators, `first` and `second`, for each of `items`."""

    items: Ints
    first: Ints
    second: Ints
    values: Floats


def iou(first: ArrayLike, second: ArrayLike) -> Floats:
    """Intersection over union (N,) of each box of `first` with the box of `second` at the same index: 0
    (apart) to 1 (the same box). Boxes (N, 4): x0, y0, x1, y1 with x0 < x1 and y0 < y1, in pixels.

    Examples
    --------
    >>> iou([[0, 0, 2, 2]] * 3, [[0, 0, 2, 2], [1, 0, 3, 2], [5, 5, 6, 6]]).round(3).tolist()
    [1.0, 0.333, 0.0]
    """
    a, b = _boxes("first", first), _boxes("second", second)
    if a.shape != b.shape:
        raise ValueError(f"first has shape {a.shape} and second {b.shape}; they must be the same.")
    corner, opposite = np.maximum(a[:, :2], b[:, :2]), np.minimum(a[:, 2:], b[:, 2:])
    overlap = np.clip(opposite - corner, 0, None).prod(axis=1)
    areas_a, areas_b = (a[:, 2:] - a[:, :2]).prod(axis=1), (b[:, 2:] - b[:, :2]).prod(axis=1)
    return np.asarray(overlap / (areas_a + areas_b - overlap))


def box_agreement(items: ArrayLike, annotators: ArrayLike, boxes: ArrayLike) -> BoxPairs:
    r"""Mean best-match IoU of any two annotators who drew boxes for the same attribute of the same image,

    .. math:: \tfrac12 \Big( \frac1{|A|} \sum_{a \in A} \max_{b \in B} IoU(a, b)
       + \frac1{|B|} \sum_{b \in B} \max_{a \in A} IoU(a, b) \Big)

    so that the order of the two does not matter and an extra box lowers the value (IoU: Everingham et al.
    2010, doi:10.1007/s11263-009-0275-4).

    `items` and `annotators` (N,): what each box was drawn for (an attribute of an image), and by whom (a
    response). An item with a single annotator makes no pair. `boxes` (N, 4) as in `iou`.

    Examples
    --------
    >>> found = box_agreement([3, 3, 3], [7, 8, 8], [[0, 0, 2, 2], [0, 0, 2, 2], [5, 5, 6, 6]])
    >>> found.first.tolist(), found.second.tolist(), found.values.tolist()
    ([7], [8], [0.75])
    """
    item, annotator, corners = np.asarray(items), np.asarray(annotators), _boxes("boxes", boxes)
    if item.shape != (len(corners),) or annotator.shape != (len(corners),):
        raise ValueError(f"There are {len(corners)} boxes; each needs an item and an annotator.")
    order = np.lexsort((annotator, item))
    item, annotator, corners = item[order], annotator[order], corners[order]
    ends = np.searchsorted(item, item, side="right")
    starts = np.searchsorted(item, item, side="left")
    pieces = [
        _matched(item, annotator, corners, starts[rows], ends[rows], rows.start)
        for rows in _blocks(starts, ends)
    ]
    if not pieces:
        none = np.zeros(0, dtype=np.int64)
        return BoxPairs(none, none, none, np.zeros(0))
    return BoxPairs(*(np.concatenate([getattr(each, name) for each in pieces]) for name in _FIELDS))


def _matched(item: Ints, annotator: Ints, corners: Floats, starts: Ints, ends: Ints, offset: int) -> BoxPairs:
    """Pairs for the boxes from `offset` on, each compared with all boxes of its item, starts to ends."""
    many = ends - starts
    one = np.repeat(np.arange(offset, offset + len(many)), many)
    other = np.arange(len(one)) - np.repeat(np.cumsum(many) - many, many) + np.repeat(starts, many)
    apart = annotator[one] != annotator[other]
    one, other = one[apart], other[apart]
    # rows of one box and one other annotator are adjacent: take the best match of each, then the mean
    best, first = _reduced(np.maximum, iou(corners[one], corners[other]), one, annotator[other])
    one, other = one[first], other[first]
    total, first = _reduced(np.add, best, item[one], annotator[one], annotator[other], sort=True)
    number, _ = _reduced(np.add, np.ones(len(best)), item[one], annotator[one], annotator[other], sort=True)
    one, other, means = one[first], other[first], total / number
    low, high = np.minimum(annotator[one], annotator[other]), np.maximum(annotator[one], annotator[other])
    both, first = _reduced(np.add, means, item[one], low, high, sort=True)
    return BoxPairs(item[one[first]], low[first], high[first], both / 2)


def _reduced(by: np.ufunc, values: Floats, *keys: Ints, sort: bool = False) -> tuple[Floats, Ints]:
    """`values` reduced over equal keys, and the input index of the first of each."""
    order = np.lexsort(keys[::-1]) if sort else np.arange(len(values))
    if not len(order):
        return values, order
    new = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    starts = np.concatenate([[0], np.flatnonzero(new) + 1])
    return np.asarray(by.reduceat(values[order], starts)), order[starts]


def _blocks(starts: Ints, ends: Ints) -> Iterator[slice]:
    """Slices of whole items with about a million pairs of boxes each."""
    made = np.cumsum(ends - starts)
    start = 0
    while start < len(starts):
        done = made[start - 1] if start else 0
        end = int(ends[min(np.searchsorted(made, done + _AT_ONCE), len(ends) - 1)])
        yield slice(start, end)
        start = end


def _boxes(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(f"{name} has shape {array.shape}; (M, 4) is needed: x0, y0, x1, y1.")
    wrong = (array[:, 0] >= array[:, 2]) | (array[:, 1] >= array[:, 3]) | ~np.isfinite(array).all(axis=1)
    if bool(wrong.any()):
        raise ValueError(f"{name} holds the box {array[wrong][0].tolist()}; x0 < x1 and y0 < y1 are needed.")
    return array
