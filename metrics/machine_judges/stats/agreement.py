"""Agreement of a machine judge with people, beside that of people with each other (PROTOCOL §10, §16).

The judge is one fixed rater: what varies are the images (or whatever an item is about) and the people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.agreement.stats import across, coefficients, pairs_by_subject, rated_pairs
from metrics.agreement.stats.cell_influences import Side, difference_influences
from metrics.agreement.stats.coincidences import Level
from metrics.agreement.stats.estimates import Estimate, with_intervals
from metrics.agreement.stats.rated_pairs import Cells, Ratings
from metrics.core.stats import spread
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Floats
from metrics.core.stats.clustered import NONE
from metrics.core.stats.differences import Difference
from metrics.core.stats.scales import COEFFICIENT, SHARE

_SCALES = (SHARE, COEFFICIENT)


@dataclass(frozen=True)
class Pairs:
    """So many pairs (`number`) of answers about `units`, of which so many are `equal`: their share, and a
    coefficient that is 0 for chance and 1 for perfect agreement. NaN if undefined."""

    units: int
    number: int
    equal: int
    share: Estimate
    coefficient: Estimate


@dataclass(frozen=True)
class Beside:
    """The pairs of the judge and a person, whose coefficient is the cross-replication reliability, and those
    of two people, whose coefficient is Krippendorff's alpha; and the differences, the judge's minus people's.
    All are about the same units, those with two answers of people. `annotators`: people who answered about
    these; None if some are not identified."""

    judge: Pairs
    people: Pairs
    share: Difference
    coefficient: Difference
    annotators: int | None


def judge_cells(people: Ratings, verdicts: ArrayLike) -> Cells:
    """Pairs of a verdict and an answer of a person about the same unit, as `rated_pairs.between` has those of
    two groups: the judge is the first, and a rater whom no resample or influence weighs.

    `people`: every unit has a verdict. `verdicts` (R,): the column of `people.counts` that the judge chose
    for the unit of each row, the same in all rows of a unit; a unit counts it once, however many people
    answered.

    Examples
    --------
    >>> people = Ratings(np.array([[1, 0], [0, 1]]), np.array([0, 0]), np.array([4, 4]), np.array([7, 8]))
    >>> judge_cells(people, [1, 1]).total.tolist()
    [0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    """
    chosen = np.asarray(verdicts, dtype=np.int64)
    if chosen.shape != people.units.shape:
        raise ValueError(f"verdicts has shape {chosen.shape}; {people.units.shape} is needed.")
    first = np.unique(people.numbered, return_index=True)[1]
    own = np.zeros((len(first), people.counts.shape[1]), dtype=people.counts.dtype)
    own[np.arange(len(first)), chosen[first]] = 1
    order = np.argsort(np.concatenate([people.numbered[first], people.numbered]), kind="stable")
    alone = np.full(len(first), UNKNOWN_ANNOTATOR)
    both = Ratings(
        np.concatenate([own, people.counts])[order],
        np.concatenate([people.units[first], people.units])[order],
        np.concatenate([people.clusters[first], people.clusters])[order],
        np.concatenate([alone, people.raters])[order],
    )
    return rated_pairs.between(both, order >= len(first))


def beside_each(
    people: Ratings,
    verdicts: ArrayLike,
    part_of: ArrayLike,
    values: Sequence[float],
    *,
    parts: int,
    level: Level,
    clustered: bool = False,
) -> Iterator[Beside]:
    """The agreement of the judge with people, and of people, for each of thousands of parts.

    A unit with a single answer in a part counts on neither side: it has no pair of people, and a difference
    would be about other units on one side than on the other.

    `people` and `verdicts` as for `judge_cells`; `part_of` (R,): the part of each row, from 0 to `parts` - 1,
    such as its attribute. `values`: the columns of `people.counts`, in the order of the scale. `clustered`:
    with 95 % intervals, and p of the differences, from influences; images and annotators that both sides have
    are the same ones, so that what they share cancels.

    Examples
    --------
    >>> people = Ratings(np.array([[1, 0], [1, 0], [0, 2]]), np.array([0, 0, 0]), np.array([4, 4, 5]),
    ...                  np.array([7, 8, 7]))
    >>> [found] = beside_each(people, [0, 0, 0], [0, 0, 0], [0, 1], parts=1, level="nominal")
    >>> found.judge.number, found.judge.equal, found.people.number, found.people.equal
    (4, 2, 2, 2)
    """
    chosen = np.asarray(verdicts, dtype=np.int64)
    for rows, every, every_place, number in pairs_by_subject.tables(people, part_of, parts):
        several = every.ratings_of_unit > 1
        some, place = every.of(several), every_place[several]
        judge, judge_bounds = pairs_by_subject.cells_by_part(
            judge_cells(some, chosen[rows][several]), some, place, number
        )
        each, bounds = pairs_by_subject.cells_by_part(rated_pairs.within(some), some, place, number)
        same_person = pairs_by_subject.pairs_of_one(some, place, number)
        for part in range(number):
            yield _beside(
                judge.of(slice(*judge_bounds[part : part + 2].tolist())),
                each.of(slice(*bounds[part : part + 2].tolist())),
                same_person[part],
                values,
                level,
                clustered,
            )


def _beside(
    judge: Cells,
    people: Cells,
    same_person: Floats,
    values: Sequence[float],
    level: Level,
    clustered: bool,
) -> Beside:
    v = len(values)
    total, among = judge.total, people.total
    points = across.share_and_kappa(total, values, level=level)
    others = _among(among, values, level)
    alpha = coefficients.alpha_of_people(among, same_person, values, level=level)
    middle = np.array([np.nan, float(alpha)])
    one = two = None
    apart = [Difference(value, NONE, float("nan")) for value in (points - others).tolist()]
    if clustered and len(judge.sums):
        one = across.side_of(judge, values, level=level)
    if clustered and len(people.sums):
        step, least = coefficients.within_steps(among, values, level=level)
        two = Side(people, lambda sums: _among(sums, values, level), people.sums[:, -1], step[:2], least[:2])
    if one is not None and two is not None:
        both = difference_influences(one, two)
        apart = spread.linear_difference(points, others, both, (_SCALES, _SCALES), centres=points - middle)
    square = total[: v * v].reshape(v, v)
    known = np.unique(judge.second[judge.sums[:, : v * v].sum(axis=1) > 0])
    units = round(float(total[v * v : v * v + v].sum()))
    return Beside(
        judge=Pairs(
            units,
            round(float(square.sum())),
            round(float(np.trace(square))),
            *with_intervals(points, one.influences() if one else None, 0, _SCALES),
        ),
        people=Pairs(
            units,
            round(float(among[-1])),
            round(float(among[-2])),
            *with_intervals(others, two.influences() if two else None, 0, _SCALES, centres=middle),
        ),
        share=apart[0],
        coefficient=apart[1],
        annotators=None if UNKNOWN_ANNOTATOR in known else len(known),
    )


def _among(sums: Floats, values: Sequence[float], level: Level) -> Floats:
    """The share of equal pairs of people, and alpha, (..., 2)."""
    return np.stack(coefficients.share_and_alpha(sums, values, level=level), axis=-1)
