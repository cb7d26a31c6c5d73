"""How much agreement depends on single images and annotators (PROTOCOL §10)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from metrics.agreement.stats import coincidences
from metrics.agreement.stats.coincidences import Level, ratio
from metrics.agreement.stats.rated_pairs import Cells
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.grouped_sums import add_up, distinct
from metrics.core.stats.influence import Clusters, Influences, influences

Statistics = Callable[[Floats], Floats]
"""From sums (..., F) to statistics (..., M)."""

# steps of the numerical derivatives, as a share of the largest sum: their errors are of its square
_STEP = 1e-5
LEAST = 0.5
"""The least standard error of a coefficient, as a share of what one rating can change (calibrated by
benchmarks/coverage_agreement.py)."""


def cell_influences(
    cells: Cells, statistics: Statistics, *, mass: ArrayLike, step: ArrayLike, least: ArrayLike | None = None
) -> Influences:
    r"""The influences of images and annotators on `statistics` of the sums S of `cells`,

    .. math:: d_r = \sum_f s_{rf} \, \partial t / \partial S_f

    for each cell. The weight of an annotator is a factor of each of their pairs, so a pair is in the changes
    of both of its annotators. What the same two have in common about several images, beyond what each does
    alone, is therefore counted twice. The dyadic-robust variance of Aronow, Samii & Assenova (2015,
    doi:10.1093/pan/mpv018) takes it out once; it is left in, because intervals were too narrow without it
    where a dozen people differ much (benchmarks/coverage_agreement.py). The changes of J annotators are those
    of `influences` times the square root of J / (J - 1), as in the variance HC3 (MacKinnon & White 1985,
    doi:10.1016/0304-4076(85)90158-7), because that of few people who rate everything was too small.

    `mass` (R,): number of pairs of each cell. `step` (M,): by how much one answer can change each statistic;
    `least` (M,): the least standard errors, by default `step`. Raises ValueError without cells.

    Examples
    --------
    >>> cells = Cells(np.array([[1.0, 2.0], [1.0, 2.0]]), np.arange(2), np.full(2, -1), np.full(2, -1))
    >>> found = cell_influences(cells, lambda sums: sums[..., :1] / sums[..., 1:], mass=[2, 2], step=[0.25])
    >>> bool(np.allclose(found.images.change, 0))
    True
    """
    derivatives = gradient(statistics, cells.total)
    return influences_from(cells, derivatives, mass=mass, step=step, least=least)


def influences_from(
    cells: Cells, derivatives: Floats, *, mass: ArrayLike, step: ArrayLike, least: ArrayLike | None = None
) -> Influences:
    """`cell_influences` from the `derivatives` (F, M) of M statistics with respect to the sums of `cells`."""
    values = cells.sums @ derivatives
    found = influences(
        # what rounding leaves of nothing would count as a variance
        np.where(np.abs(values) < 1e-6 * np.asarray(step if least is None else least), 0.0, values),
        images=cells.clusters,
        annotators=np.column_stack([cells.first, cells.second]),
        mass=mass,
        step=step,
        least=least,
    )
    people = found.annotators
    larger = len(people.labels) / max(len(people.labels) - 1, 1)
    return replace(
        found,
        annotators=replace(people, change=people.change * np.sqrt(larger)),
        answers=found.answers * larger,
    )


def influences_across(
    cells: Cells, statistics: Statistics, *, mass: ArrayLike, step: ArrayLike, least: ArrayLike | None = None
) -> Influences:
    r"""`cell_influences` of pairs of people of two groups. Of the squared change of a person, `influences`
    takes too much as chance of the images: what the person and another have in common about all images is in
    it as well. Here it is at most

    .. math:: a_j = \frac{1}{(1 - h_j)^2} \Bigl( \sum_i (d_{ij} - h_j d_i)^2
                    - \sum_k \frac{(\sum_i d_{ijk})^2 - \sum_i d_{ijk}^2}{n_{jk} - 1} \Bigr)

    with d the sums of influences by image i, person j and another person k, and n_{jk} the images that both
    rated. An image adds d_ij - h_j d_i to the change of a person, since changes are centred. Products of two
    images show what two people have in common. That is an approximation: rows of two people hold what they
    add to observed disagreement; what each adds to chance disagreement is in rows of their own
    (benchmarks/coverage_agreement.py shows how well it does).

    Examples
    --------
    >>> cells = Cells(np.array([[1.0, 2.0], [2.0, 2.0]]), np.arange(2), np.array([3, 4]), np.array([5, 6]))
    >>> found = influences_across(
    ...     cells, lambda sums: sums[..., :1] / sums[..., 1:], mass=[2, 2], step=[0.25]
    ... )
    >>> found.annotators.labels.tolist(), found.answers.shape
    ([3, 4, 5, 6], (4, 1))
    """
    derivatives = gradient(statistics, cells.total)
    found = influences_from(cells, derivatives, mass=mass, step=step, least=least)
    if not len(found.annotators.labels):
        return found
    chance = _chance_of_images(cells, cells.sums @ derivatives, found.annotators)
    return replace(found, answers=np.minimum(found.answers, chance))


def _chance_of_images(cells: Cells, values: Floats, people: Clusters) -> Floats:
    """a of `influences_across`, (J, M), from the influences of each cell, `values` (R, M)."""
    number, h = len(people.labels), people.mass[:, None]
    images, image = distinct(cells.clusters)
    by_image = add_up(values, image, len(images))
    known = np.isin(np.column_stack([cells.first, cells.second]), people.labels)
    first, second = (np.searchsorted(people.labels, each) for each in (cells.first, cells.second))
    both = known.all(axis=1)
    row = np.concatenate([np.flatnonzero(known[:, 0]), np.flatnonzero(known[:, 1])])
    person = np.concatenate([first[known[:, 0]], second[known[:, 1]]])
    of_image, of_person, by_cell = _cells(values[row], image[row], person, number)
    centred = add_up(by_cell * (by_cell - 2 * h[of_person] * by_image[of_image]), of_person, number)
    centred += h**2 * (by_image**2).sum(axis=0)
    _, pair, by_trio = _cells(values[both], image[both], first[both] * number + second[both], number**2)
    pairs, pair_of = distinct(pair)
    whole, squares = add_up(by_trio, pair_of, len(pairs)), add_up(by_trio**2, pair_of, len(pairs))
    shared = np.bincount(pair_of, minlength=len(pairs))[:, None]
    in_common = np.where(shared > 1, (whole**2 - squares) / np.maximum(shared - 1, 1), 0.0)
    for one in (pairs // number, pairs % number):
        centred -= add_up(in_common, one, number)
    left = np.where(h < 1 - 1e-9, 1 - h, np.nan)
    return np.asarray(np.maximum(centred, 0.0) / left**2)


def _cells(values: Floats, image: Ints, member: Ints, members: int) -> tuple[Ints, Ints, Floats]:
    """The image and the member of each cell that there is, and the sum of `values` (R, M) in it."""
    cells, cell = distinct(image * members + member)
    return cells // members, cells % members, add_up(values, cell, len(cells))


@dataclass(frozen=True)
class Side:
    """One side of a difference: its cells, and the rest of what `cell_influences` takes."""

    cells: Cells
    statistics: Statistics
    mass: Floats
    step: Floats
    least: Floats

    def influences(self) -> Influences:
        """`cell_influences` of this side."""
        return cell_influences(self.cells, self.statistics, mass=self.mass, step=self.step, least=self.least)


def difference_influences(first: Side, second: Side) -> Influences:
    """The influences on the statistics of `first` minus those of `second`, where the same answers are in the
    cells of both: clusters and annotators with equal labels are the same, and so is what an annotator
    answered about a cluster. (`influence.total` takes these to be other answers, so that it would subtract
    too much where answers move both sides alike.) Both sides have the same share of the mass.

    Examples
    --------
    >>> cells = Cells(np.array([[1.0, 2.0], [2.0, 2.0]]), np.arange(2), np.full(2, -1), np.full(2, -1))
    >>> side = Side(cells, lambda sums: sums[..., :1] / sums[..., 1:], np.ones(2), np.ones(1), np.ones(1))
    >>> difference_influences(side, side).images.change.tolist()
    [[0.0], [0.0]]
    """
    width = first.cells.sums.shape[1]
    one, two = first.cells, second.cells
    none = np.zeros((len(one.sums), two.sums.shape[1])), np.zeros((len(two.sums), width))
    both = Cells(
        np.concatenate([np.hstack([one.sums, none[0]]), np.hstack([none[1], two.sums])]),
        *(
            np.concatenate([getattr(one, name), getattr(two, name)])
            for name in ("clusters", "first", "second")
        ),
    )
    return cell_influences(
        both,
        lambda sums: first.statistics(sums[..., :width]) - second.statistics(sums[..., width:]),
        mass=np.concatenate([side.mass / side.mass.sum() for side in (first, second)]),
        step=np.maximum(first.step, second.step),
        least=np.maximum(first.least, second.least),
    )


def gradient(statistics: Statistics, sums: Floats) -> Floats:
    """The derivatives (..., F, M) of the statistics at `sums` (..., F), by central differences."""
    by = _STEP * np.abs(sums).max(axis=-1)[..., None, None]
    at, apart = sums[..., None, :], by * np.eye(sums.shape[-1])
    above, below = statistics(np.stack([at + apart, at - apart]))  # one call: tables are small and many
    return np.asarray((above - below) / (2 * by))


def coefficient_step(first: Floats, second: Floats, values: Sequence[float], *, level: Level) -> Floats:
    """By how much one of the ratings `first` or `second` (..., V) can change 1 - D_o / D_e: n D_e
    is as large as the distance of two ratings that differ (root mean square). 1 where chance makes fewer than
    one differ.

    Examples
    --------
    >>> [
    ...     coefficient_step(np.array(one), np.array(other), [0, 1], level="nominal").tolist()
    ...     for one, other in (([5, 0], [0, 5]), ([9, 0], [9, 0]))
    ... ]
    [0.2, 1.0]
    """
    numbers = first.sum(axis=-1), second.sum(axis=-1)
    number = np.minimum(*numbers)
    chance = first[..., :, None] * second[..., None, :]
    chance = chance / np.maximum(numbers[0] * numbers[1], 1.0)[..., None, None]
    distance = coincidences.distances(first + second, values, level=level)
    apart, by_chance, squares = (
        (chance * each).sum(axis=(-2, -1)) for each in (distance > 0, distance, distance**2)
    )
    step = ratio(np.sqrt(ratio(squares, apart)), number * by_chance)
    return np.asarray(np.where(apart * number < 1, 1.0, step))
