"""Pairs of ratings of the same unit, as sums that can be resampled over images and annotators (PROTOCOL §10).

A table has one row for each unit and annotator, sorted by cluster (image) and within it by unit. Agreement is
computed from sums over pairs of rows. A resample weights each pair by how often its image and its two
annotators were drawn, so that nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, checks
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Bools, Floats, Ints

_FIELDS = ("sums", "clusters", "first", "second")
# numbers in memory at once: 4 million are 32 MB, whatever the size of the study
_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Cells:
    """`sums` (R, F) over the pairs of one cluster (R,) and two annotators, `first` and `second` (R,)."""

    sums: Floats
    clusters: Ints
    first: Ints
    second: Ints

    def of(self, chosen: Bools | Ints | slice) -> Cells:
        """The chosen rows."""
        return Cells(self.sums[chosen], self.clusters[chosen], self.first[chosen], self.second[chosen])

    @property
    def total(self) -> Floats:
        """The sums of all, shape (F,)."""
        return np.asarray(self.sums.sum(axis=0))

    @property
    def several_clusters(self) -> bool:
        """Whether the pairs are of more than one cluster, so that a resample can differ."""
        return bool((self.clusters != self.clusters[:1]).any())


@dataclass(frozen=True)
class Ratings:
    """`counts` (R, V): how many ratings of each value `raters` (R,) gave `units` (R,) of `clusters` (R,)."""

    counts: Ints
    units: Ints
    clusters: Ints
    raters: Ints

    def __post_init__(self) -> None:
        length = len(checks.counts("counts", self.counts, ndim=2))
        for name in ("units", "clusters", "raters"):
            if np.shape(getattr(self, name)) != (length,):
                raise ValueError(f"{name} has shape {np.shape(getattr(self, name))}; ({length},) is needed.")
        apart = np.diff(self.clusters) != 0
        if bool((np.diff(self.units)[~apart] < 0).any() or (np.diff(self.clusters) < 0).any()):
            raise ValueError("The rows must be sorted by cluster, and within a cluster by unit.")

    @cached_property
    def numbered(self) -> Ints:
        """The unit of each row, numbered 0, 1, ... in the order of the rows."""
        if not len(self.units):
            return np.zeros(0, dtype=np.int64)
        new = (np.diff(self.units) != 0) | (np.diff(self.clusters) != 0)
        return np.concatenate([[0], np.cumsum(new)])

    @cached_property
    def ratings_of_unit(self) -> Floats:
        """How many ratings the unit of each row has in all, (R,)."""
        ratings = np.bincount(self.numbered, weights=self.counts.sum(axis=1))
        return np.asarray(ratings[self.numbered])

    def of(self, chosen: Bools | Ints | slice) -> Ratings:
        """The chosen rows."""
        if isinstance(chosen, slice) and chosen.indices(len(self.units)) == (0, len(self.units), 1):
            return self
        return Ratings(self.counts[chosen], self.units[chosen], self.clusters[chosen], self.raters[chosen])


def within(table: Ratings) -> Cells:
    r"""Pairs of ratings of the same unit.

    `sums` has V·V columns of coincidences, in which each ordered pair of a unit with m ratings counts
    1 / (m − 1), and two more columns: pairs with equal values, and pairs. Units with one rating have none.

    Examples
    --------
    >>> unknown = np.array([UNKNOWN_ANNOTATOR])
    >>> cells = within(Ratings(np.array([[2, 1]]), np.array([0]), np.array([0]), unknown))
    >>> cells.sums.tolist()
    [[1.0, 1.0, 1.0, 0.0, 1.0, 3.0]]
    """
    ratings = table.ratings_of_unit
    weights = np.divide(1.0, ratings - 1, out=np.zeros(len(ratings)), where=ratings > 1)
    found = [_within(table.of(rows), weights[rows]) for rows in _blocks(table)]
    return _gathered(found, table.counts.shape[1] ** 2 + 2)


def _within(table: Ratings, weights: Floats) -> Cells:
    counts, raters = table.counts.astype(np.float64), table.raters
    nobody = np.full(len(raters), UNKNOWN_ANNOTATOR)
    found = [Cells(_coincidences(counts, counts, weights, alone=True), table.clusters, raters, nobody)]
    for one, other in _neighbours(table):
        sums = _coincidences(counts[one], counts[other], weights[one], alone=False)
        low, high = np.minimum(raters[one], raters[other]), np.maximum(raters[one], raters[other])
        # two ratings of one unit by the same annotator are drawn together
        second = np.where(low == high, UNKNOWN_ANNOTATOR, low)
        found.append(Cells(sums, table.clusters[one], high, second))
    with_pairs = [_summed(cells.of(cells.sums[:, -1] > 0)) for cells in found]
    return _gathered(with_pairs, counts.shape[1] ** 2 + 2)


def _coincidences(first: Floats, second: Floats, weights: Floats, *, alone: bool) -> Floats:
    """The columns of `within` for pairs of a rating of `first` (R, V) and one of `second`, in either order;
    or, if `alone`, for pairs of two ratings of the same row."""
    values = first.shape[1]
    sums = np.zeros((len(first), values**2 + 2))
    # column by column: numpy takes several times as long for millions of rows of a few numbers
    for one, other in product(range(values), repeat=2):
        both = first[:, one] * second[:, other]
        if not alone:
            both += first[:, other] * second[:, one]
        elif one == other:
            both -= first[:, one]
        sums[:, one * values + other] = both * weights
        sums[:, -1] += both / 2
        if one == other:
            sums[:, -2] += both / 2
    return sums


def between(table: Ratings, second: ArrayLike) -> Cells:
    """Pairs of ratings of the same unit, one from each of two groups of annotators.

    `second` (R,): which rows belong to the second group. `sums` has V·V columns of pairs (rows: the first
    group's value), V of the first group's ratings and V of the second's. Units without ratings from both
    groups are left out.

    Examples
    --------
    >>> table = Ratings(np.array([[1, 0], [0, 2]]), np.array([0, 0]), np.array([0, 0]), np.array([5, 6]))
    >>> between(table, [False, True]).total.tolist()
    [0.0, 2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0]
    """
    other = checks.mask("second", second, length=len(table.counts))
    number = table.numbered
    met = [np.bincount(number, weights=side * table.counts.sum(axis=1)) > 0 for side in (~other, other)]
    shared = (met[0] & met[1])[number]
    table, other = table.of(shared), other[shared]
    values = table.counts.shape[1]
    return _gathered(
        [_between(table.of(rows), other[rows]) for rows in _blocks(table)], values**2 + 2 * values
    )


def _between(table: Ratings, other: Bools) -> Cells:
    counts = table.counts.astype(np.float64)
    values = counts.shape[1]
    sides = np.concatenate([counts * ~other[:, None], counts * other[:, None]], axis=1)
    sums = np.concatenate([np.zeros((len(counts), values**2)), sides], axis=1)
    nobody = np.full(len(counts), UNKNOWN_ANNOTATOR)
    found = [_summed(Cells(sums, table.clusters, table.raters, nobody))]
    for one, two in _neighbours(table):
        across = other[one] != other[two]
        one, two = one[across], two[across]
        x, y = np.where(other[one], two, one), np.where(other[one], one, two)
        both = (counts[x][:, :, None] * counts[y][:, None, :]).reshape(len(x), values**2)
        sums = np.concatenate([both, np.zeros((len(x), 2 * values))], axis=1)
        found.append(_summed(Cells(sums, table.clusters[x], table.raters[x], table.raters[y])))
    return _gathered(found, values**2 + 2 * values)


def resampled(cells: Cells, *, resamples: int, rng: np.random.Generator) -> Floats:
    r"""The sums of every resample of clusters and annotators,

    .. math:: S_{bf} = \sum_r w_{b,cluster(r)} \, v_{b,first(r)} \, v_{b,second(r)} \, s_{rf}

    shape (resamples, F). Clusters and annotators are drawn independently, each with replacement and as many
    as there are (Owen 2007, doi:10.1214/07-AOAS122). An annotator who is drawn twice is not paired with
    themselves. If no annotator is identified, clusters with equal sums are drawn together from a multinomial
    distribution, which is the same draw. Raises ValueError without pairs.
    """
    images = checks.labels("clusters", cells.clusters, length=len(cells.sums))
    if not len(images):
        raise ValueError("There is no pair to resample.")
    number = int(images.max()) + 1
    people = _people(cells)
    if not len(people):
        return _by_cluster(cells.sums, images, number, resamples, rng)
    sums = np.empty((resamples, cells.sums.shape[1]))
    for rows in bootstrap.chunks(resamples, max(number, len(images))):
        here = rows.stop - rows.start
        by_image = bootstrap.cluster_weights(number, here, rng)
        drawn = bootstrap.cluster_weights(len(people), here, rng)
        sums[rows] = _weighed(cells, by_image[:, images], people, drawn)
    return sums


def paired_resampled(
    first: Cells, second: Cells, *, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """`resampled` for two sides in the same resamples: clusters and annotators on both sides are drawn once
    for both, as in `bootstrap.joint_weights`.

    Equal labels on both sides are the same cluster or annotator. Shapes (resamples, F) and (resamples, G).
    Raises ValueError if a side has no pairs.

    Examples
    --------
    >>> side = Cells(np.array([[1.0], [2.0]]), np.array([3, 4]), np.array([7, 7]), np.array([8, 9]))
    >>> one, other = paired_resampled(side, side, resamples=5, rng=np.random.default_rng(0))
    >>> bool((one == other).all())
    True
    """
    sides = (first, second)
    if not all(len(side.sums) for side in sides):
        raise ValueError("There is no pair to resample on one of the sides.")
    people = (_people(first), _people(second))
    if not any(map(len, people)):
        return _paired_by_cluster(first, second, resamples, rng)
    columns = [np.unique(side.clusters, return_inverse=True)[1] for side in sides]
    found = [np.empty((resamples, side.sums.shape[1])) for side in sides]
    for rows in bootstrap.chunks(resamples, sum(len(side.sums) for side in sides)):
        here = rows.stop - rows.start
        by_image = bootstrap.joint_weights(first.clusters, second.clusters, here, rng)
        drawn = bootstrap.joint_weights(*people, here, rng)
        for place, side in enumerate(sides):
            weights = by_image[place][:, columns[place]]
            found[place][rows] = _weighed(side, weights, people[place], drawn[place])
    return found[0], found[1]


def _people(cells: Cells) -> Ints:
    """The identified annotators, sorted."""
    people = np.unique(np.concatenate([cells.first, cells.second]))
    return np.asarray(people[people != UNKNOWN_ANNOTATOR])


def _weighed(cells: Cells, by_image: Ints, people: Ints, drawn: Ints) -> Floats:
    """The weighted sums (B, F). `by_image` (B, R): weight of each row's cluster. `drawn` (B, J): weight of
    each of the `people` (J,)."""
    by_person = np.concatenate([drawn, np.ones((len(drawn), 1), dtype=np.int64)], axis=1)
    # the last column is for UNKNOWN_ANNOTATOR
    first, second = (
        np.where(who == UNKNOWN_ANNOTATOR, len(people), np.searchsorted(people, who))
        for who in (cells.first, cells.second)
    )
    weights = by_image * by_person[:, first] * by_person[:, second]
    return np.asarray(weights.astype(np.float64) @ cells.sums)


def _paired_by_cluster(
    first: Cells, second: Cells, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    clusters = np.union1d(first.clusters, second.clusters)
    width = first.sums.shape[1]
    sums = np.zeros((len(clusters), width + second.sums.shape[1]))
    met = []
    for side, columns in ((first, slice(None, width)), (second, slice(width, None))):
        place = np.searchsorted(clusters, side.clusters)
        np.add.at(sums[:, columns], place, side.sums)
        met.append(np.isin(clusters, side.clusters))
    total = np.zeros((resamples, sums.shape[1]))
    for stratum in (met[0] & met[1], met[0] & ~met[1], met[1] & ~met[0]):
        if number := int(stratum.sum()):
            total += _by_cluster(sums[stratum], np.arange(number), number, resamples, rng)
    return total[:, :width], total[:, width:]


def _by_cluster(sums: Floats, images: Ints, number: int, resamples: int, rng: np.random.Generator) -> Floats:
    whole = sums
    if len(images) != number:
        whole = np.column_stack([np.bincount(images, column, number) for column in sums.T])
    kinds, many = _kinds(whole.round(9))
    found = np.empty((resamples, sums.shape[1]))
    for rows in bootstrap.chunks(resamples, len(kinds)):
        found[rows] = rng.multinomial(number, many / number, size=rows.stop - rows.start) @ kinds
    return found


def _kinds(rows: Floats) -> tuple[Floats, Ints]:
    """The different rows, sorted, and how often each occurs.

    Rows are compared by a single number, which is faster to sort: a weighted sum of their values, with
    weights that have no simple ratio. Rows with the same number are then checked for equality.
    """
    numbers = np.zeros(len(rows))
    for place, column in enumerate(rows.T):
        numbers += column * np.sqrt(place + 2)
    _, first, kind_of = np.unique(numbers, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[kind_of]], rows):
        return np.unique(rows, axis=0, return_counts=True)
    kinds, same = np.unique(rows[first], axis=0, return_inverse=True)
    return kinds, np.bincount(same.ravel()[kind_of], minlength=len(kinds))


def _neighbours(table: Ratings) -> Iterator[tuple[Ints, Ints]]:
    """All pairs of different rows of the same unit as (rows, rows): each with the next row, then with the one
    after that, ..."""
    number = table.numbered
    apart = 1
    while len(one := np.flatnonzero(number[apart:] == number[:-apart])):
        yield one, one + apart
        apart += 1


def _blocks(table: Ratings) -> Iterator[slice]:
    """Slices of whole clusters, of about as many rows as fit in memory at once."""
    most = max(1, _AT_ONCE // (table.counts.shape[1] ** 2 * 4))
    ends = np.flatnonzero(np.diff(table.clusters)) + 1
    start = 0
    while start < len(table.clusters):
        after = np.searchsorted(ends, start + most)
        end = int(ends[after]) if after < len(ends) else len(table.clusters)
        yield slice(start, end)
        start = end


def _summed(cells: Cells) -> Cells:
    """The cells, summed over equal clusters and annotators."""
    if not len(cells.sums):
        return cells
    keys = np.stack([cells.clusters, cells.first, cells.second])
    sums = cells.sums
    # without identified annotators they are already sorted
    if bool((keys[1:] != UNKNOWN_ANNOTATOR).any()):
        order = np.lexsort((cells.second, cells.first, cells.clusters))
        keys, sums = keys[:, order], sums[order]
    starts = np.concatenate([[0], np.flatnonzero((np.diff(keys) != 0).any(axis=0)) + 1])
    if len(starts) == len(sums):
        return Cells(sums, *keys)
    return Cells(np.add.reduceat(sums, starts, axis=0), *keys[:, starts])


def _gathered(pieces: list[Cells], width: int) -> Cells:
    if not pieces:
        none = np.zeros(0, dtype=np.int64)
        return Cells(np.zeros((0, width)), none, none, none)
    return Cells(*(np.concatenate([getattr(each, name) for each in pieces]) for name in _FIELDS))
