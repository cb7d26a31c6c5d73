"""Sums over pairs of ratings for many parts of a table at once, such as attributes (PROTOCOL §10).

Each of thousands of small tables would cost dozens of numpy calls; one table sorted by part costs as many in
total. The sums of a part equal those of `rated_pairs.within` for its rows alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.agreement.stats import rated_pairs
from metrics.agreement.stats.rated_pairs import Cells, Ratings
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Bools, Floats, Ints
from metrics.core.stats.grouped_sums import distinct

# rows summed at once (more for a single larger part): about 100 MB of cells, whatever the study's size
_AT_ONCE = 500_000
_Number = TypeVar("_Number", np.float64, np.int64)


@dataclass(frozen=True)
class Parts:
    """For each of P parts: `total` (P, F) of its pairs, number of rated `units` (P,) and of `ratings` (P,),
    whether all units have the same number of ratings (`regular`), and whether its pairs are from more than
    one cluster (`several`). `same_person` (P, V, V): as `pairs_of_one` gives it."""

    total: Floats
    same_person: Floats
    units: Ints
    ratings: Ints
    regular: Bools
    several: Bools
    _cells: Cells
    _bounds: Ints

    def cells(self, part: int) -> Cells:
        """The pairs of one part, to be resampled."""
        return self._cells.of(slice(*self._bounds[part : part + 2].tolist()))


def in_parts(table: Ratings, part_of: ArrayLike, parts: int) -> Iterator[Parts]:
    """All parts in order, some at a time.

    `part_of` (R,): the part of each row, from 0 to `parts` - 1. Raises ValueError for another shape or
    number.

    Examples
    --------
    >>> nobody = np.array([rated_pairs.UNKNOWN_ANNOTATOR] * 3)
    >>> table = Ratings(np.array([[2, 0], [1, 1], [0, 3]]), np.arange(3), np.arange(3), nobody)
    >>> [(some.units.tolist(), some.ratings.tolist()) for some in in_parts(table, [0, 1, 0], 2)]
    [([2, 1], [5, 2])]
    """
    for _, some, place, number in tables(table, part_of, parts):
        yield _summed(some, place, number)


def tables(
    table: Ratings, part_of: ArrayLike, parts: int
) -> Iterator[tuple[Ints | slice, Ratings, Ints, int]]:
    """The rows of some parts at a time, in order: which rows, the table of these sorted by part, in which
    every cluster is of one part, the part of each row, from 0, and the number of parts.

    Arguments as for `in_parts`.

    Examples
    --------
    >>> nobody = np.array([rated_pairs.UNKNOWN_ANNOTATOR] * 3)
    >>> table = Ratings(np.array([[2, 0], [1, 1], [0, 3]]), np.arange(3), np.arange(3), nobody)
    >>> [(rows.tolist(), place.tolist()) for rows, _, place, _ in tables(table, [0, 1, 0], 2)]
    [([0, 2, 1], [0, 0, 1])]
    """
    place = np.asarray(part_of, dtype=np.int64)
    if place.shape != table.units.shape:
        raise ValueError(f"part_of has shape {place.shape}; {table.units.shape} is needed.")
    if len(place) and not 0 <= place.min() <= place.max() < parts:
        raise ValueError(f"part_of reaches from {place.min()} to {place.max()}; there are {parts} parts.")
    order = np.argsort(place, kind="stable") if parts > 1 else None
    place = place if order is None else place[order]
    ends = np.searchsorted(place, np.arange(parts), side="right")
    first = begin = 0
    while first < parts:
        last = max(first + 1, int(np.searchsorted(ends, begin + _AT_ONCE, side="right")))
        end = int(ends[last - 1])
        own = place[begin:end]
        rows = slice(None) if order is None else order[begin:end]
        some = table if isinstance(rows, slice) else _clusters_by_part(table, rows, own)
        yield rows, some, own - first, last - first
        first, begin = last, end


def cells_by_part(cells: Cells, table: Ratings, place: Ints, parts: int) -> tuple[Cells, Ints]:
    """The cells of a table that `tables` gave, sorted by part, and where each part begins, (parts + 1,).

    Examples
    --------
    >>> nobody = np.array([rated_pairs.UNKNOWN_ANNOTATOR] * 3)
    >>> table = Ratings(np.array([[2, 0], [1, 1], [0, 3]]), np.arange(3), np.arange(3), nobody)
    >>> cells_by_part(rated_pairs.within(table), table, np.array([0, 0, 1]), 2)[1].tolist()
    [0, 2, 3]
    """
    # each cluster belongs to one part, and clusters are sorted by part
    begins = np.flatnonzero(_starts(table.clusters))
    own = place[begins][np.searchsorted(table.clusters[begins], cells.clusters)]
    order = np.argsort(own, kind="stable")
    bounds = np.concatenate([[0], np.searchsorted(own[order], np.arange(parts), side="right")])
    return cells.of(order), bounds


def pairs_of_one(table: Ratings, place: Ints, parts: int) -> Floats:
    """The pairs of two ratings by the same person in each part, in either order and each rating with itself
    among them, (parts, V, V). Only ratings of units with several count. Without an identified annotator,
    each rating is taken to be another person's. `place` (R,): the part of each row.

    Examples
    --------
    >>> table = Ratings(np.eye(2, dtype=int)[[0, 1, 0, 0]], np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]),
    ...                 np.array([7, 8, 7, -1]))
    >>> pairs_of_one(table, np.zeros(4, dtype=int), 1).tolist()
    [[[5.0, 0.0], [0.0, 1.0]]]
    """
    paired = table.ratings_of_unit > 1
    known = table.raters != UNKNOWN_ANNOTATOR
    found = np.zeros((parts, table.counts.shape[1], table.counts.shape[1]))
    alone = place[paired & ~known]
    for value, given in enumerate(table.counts[paired & ~known].T):
        found[:, value, value] = np.bincount(alone, weights=given, minlength=parts)
    chosen = paired & known
    people, person = distinct(table.raters[chosen])
    keys, of_key = distinct(place[chosen] * max(len(people), 1) + person)
    each = np.array([np.bincount(of_key, given, len(keys)) for given in table.counts[chosen].T])
    part = keys // max(len(people), 1)
    for one, first in enumerate(each):
        for other, second in enumerate(each):
            found[:, one, other] += np.bincount(part, weights=first * second, minlength=parts)
    return found


def _clusters_by_part(table: Ratings, rows: Ints, place: Ints) -> Ratings:
    """The rows, with a separate cluster for each part that shares one."""
    clusters = table.clusters[rows]
    new = _starts(place, clusters)
    return Ratings(table.counts[rows], table.units[rows], np.cumsum(new), table.raters[rows])


def _summed(table: Ratings, place: Ints, parts: int) -> Parts:
    cells, bounds = cells_by_part(rated_pairs.within(table), table, place, parts)
    unit_begins = np.flatnonzero(_starts(table.numbered))
    rated = np.bincount(table.numbered, weights=table.counts.sum(axis=1)).astype(np.int64)
    of_unit = place[unit_begins][rated > 0]
    rated = rated[rated > 0]
    unit_bounds = np.concatenate([[0], np.searchsorted(of_unit, np.arange(parts), side="right")])
    return Parts(
        total=_reduced(np.add, cells.sums, bounds),
        same_person=pairs_of_one(table, place, parts),
        units=np.diff(unit_bounds),
        ratings=_reduced(np.add, rated, unit_bounds),
        regular=_all_equal(rated, unit_bounds),
        several=~_all_equal(cells.clusters, bounds),
        _cells=cells,
        _bounds=bounds,
    )


def _starts(*columns: Ints) -> Bools:
    """Whether each row is the first or differs from the one before it."""
    new = np.ones(len(columns[0]), dtype=np.bool_)
    new[1:] = False
    for column in columns:
        new[1:] |= np.diff(column) != 0
    return new


def _reduced(by: np.ufunc, values: NDArray[_Number], bounds: Ints) -> NDArray[_Number]:
    """`by` over the rows of each part; 0 without rows."""
    found = np.zeros((len(bounds) - 1, *values.shape[1:]), dtype=values.dtype)
    some = np.diff(bounds) > 0
    found[some] = by.reduceat(values, bounds[:-1][some], axis=0)
    return found


def _all_equal(values: Ints, bounds: Ints) -> Bools:
    """Whether all values of each part are equal."""
    return np.asarray(_reduced(np.minimum, values, bounds) == _reduced(np.maximum, values, bounds))
