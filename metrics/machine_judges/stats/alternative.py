"""The alternative annotator test: could a machine judge stand in for one of the people? (PROTOCOL §16)

Calderon, Reichart & Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge, ACL 2025,
doi:10.18653/v1/2025.acl-long.782.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import checks
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.influence import Influences, influences

FALSE_DISCOVERIES = 0.05
"""The false discovery rate over annotators, as published."""


class Alignment(StrEnum):
    """How near an answer is to those of the remaining people: the share of them that are equal, or minus the
    root of the mean squared distance."""

    ACCURACY = "accuracy"
    NEGATIVE_RMSE = "negative rmse"


@dataclass(frozen=True)
class Compared:
    """The answers (R,) that are compared with the judge's: those of people whose item somebody else answered
    too. For each its place in the arrays given, `rows`, its item and annotator, both from 0, and whether the
    judge is at least as near to the remaining people's, `judge_wins`, and whether the person is,
    `person_wins`."""

    rows: Ints
    items: Ints
    annotators: Ints
    judge_wins: Bools
    person_wins: Bools


@dataclass(frozen=True)
class AlternativeTest:
    """For each annotator tested (J,): how many answers are compared, `numbers`, how often the judge is at
    least as near, `advantages` (the paper's rho_j), p, and whether the judge wins against them. `used` (R,):
    the places of the answers compared, with the annotator of each, `tested` (R,), from 0, and `judge_wins`.
    """

    numbers: Ints
    advantages: Floats
    p: Floats
    wins: Bools
    used: Ints
    tested: Ints
    judge_wins: Bools

    @property
    def winning_rate(self) -> float:
        """The share of annotators against whom the judge wins; NaN without any."""
        return float(self.wins.mean()) if len(self.wins) else float("nan")

    @property
    def advantage(self) -> float:
        """The average advantage probability; NaN without annotators."""
        return float(self.advantages.mean()) if len(self.wins) else float("nan")


def compare(
    items: ArrayLike, annotators: ArrayLike, values: ArrayLike, judged: ArrayLike, *, alignment: Alignment
) -> Compared:
    r"""Whether the judge's answer about an item or one person's is nearer to those of the remaining people.

    `items`, `annotators` and `values` (R,): the answers of people, at most one of an annotator about an item;
    `judged` (R,): the judge's value for the item of each. Values are whole numbers. Items with one answer are
    left out. With S the remaining answers,

    .. math:: W^f_{ij} = [a(f_i, S_{ij}) \ge a(h_{ij}, S_{ij})], \qquad
              W^h_{ij} = [a(h_{ij}, S_{ij}) \ge a(f_i, S_{ij})].

    Both are compared as sums of whole numbers, so that ties are ties. Raises ValueError for other shapes and
    for an annotator with two answers about an item.

    Examples
    --------
    >>> found = compare([7, 7, 7], [1, 2, 3], [1, 1, 0], [1, 1, 1], alignment=Alignment.ACCURACY)
    >>> found.judge_wins.tolist(), found.person_wins.tolist()
    ([True, True, True], [True, True, False])
    """
    item = checks.labels("items", items, length=np.size(items))
    person = checks.labels("annotators", annotators, length=len(item))
    own, model = np.asarray(values, dtype=np.int64), np.asarray(judged, dtype=np.int64)
    if own.shape != item.shape or model.shape != item.shape:
        raise ValueError(
            f"There are {len(item)} answers, with values of shape {own.shape} and judged {model.shape}; "
            "each answer needs both."
        )
    if len(np.unique(np.column_stack([item, person]), axis=0)) < len(item):
        raise ValueError("An annotator has two answers about an item; keep the one that counts.")
    number = np.bincount(item)
    if alignment == Alignment.ACCURACY:
        person_score, judge_score = _equal(item, own, own) - 1, _equal(item, own, model) - (own == model)
    else:
        person_score = -_squares(item, own, own)
        judge_score = -(_squares(item, own, model) - (own - model) ** 2)
    rows = np.flatnonzero(number[item] >= 2)
    return Compared(
        rows=rows,
        items=item[rows],
        annotators=person[rows],
        judge_wins=(judge_score >= person_score)[rows],
        person_wins=(person_score >= judge_score)[rows],
    )


def alternative_test(compared: Compared, *, epsilon: float, least: int) -> AlternativeTest:
    r"""Test against each annotator whether the judge is at least nearly as good as they are.

    With :math:`d_i = W^h_i - W^f_i` over an annotator's items, a one-sided t-test of
    :math:`\bar d \ge \epsilon` against :math:`\bar d < \epsilon`; the judge wins where it is rejected at a
    false discovery rate of 5 % (Benjamini & Yekutieli 2001, doi:10.1214/aos/1013699998: annotators answer the
    same items). Annotators with fewer than `least` items are not tested. Where all d are equal, t is
    infinite: p is 0 if they are below `epsilon`, else 1. Raises ValueError for an `epsilon` outside 0 to 1
    and a `least` below 2.

    Examples
    --------
    >>> always = compare([1, 1, 2, 2], [1, 2, 1, 2], [0, 0, 1, 1], [0, 0, 1, 1], alignment="accuracy")
    >>> found = alternative_test(always, epsilon=0.1, least=2)
    >>> found.winning_rate, found.advantage, found.p.tolist()
    (1.0, 1.0, [0.0, 0.0])
    """
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon is {epsilon}; it is a share, from 0 to 1.")
    if least < 2:
        raise ValueError(f"least is {least}; a test needs 2 items or more of an annotator.")
    everybody = np.bincount(compared.annotators) if len(compared.annotators) else np.zeros(0, np.int64)
    kept = np.flatnonzero(everybody >= least)
    place = np.full(len(everybody), -1)
    place[kept] = np.arange(len(kept))
    chosen = np.flatnonzero(place[compared.annotators] >= 0) if len(kept) else np.zeros(0, np.int64)
    tested = place[compared.annotators[chosen]]
    wins = compared.judge_wins[chosen]
    d = compared.person_wins[chosen].astype(np.int64) - wins
    numbers = np.bincount(tested, minlength=len(kept))
    p = _one_sided_p(_sums(d, tested, len(kept)), _sums(d**2, tested, len(kept)), numbers, epsilon)
    return AlternativeTest(
        numbers=numbers,
        advantages=_sums(wins.astype(np.int64), tested, len(kept)) / numbers,
        p=p,
        wins=_rejected(p),
        used=compared.rows[chosen],
        tested=tested,
        judge_wins=wins,
    )


def advantage_influences(found: AlternativeTest, images: ArrayLike) -> Influences:
    r"""The influences of answers on the average advantage probability, in which every annotator tested weighs
    as much.

    .. math:: d_r = (W^f_r - \rho) / (J n_{j(r)})

    `images` (R,): of the answers `found.used`, any labels. The remaining people of each item are taken as
    they are: that others could have answered beside an annotator is not in the interval.

    Examples
    --------
    >>> one = compare([1, 1, 2, 2], [1, 2, 1, 2], [0, 0, 1, 0], [0, 0, 1, 1], alignment="accuracy")
    >>> found = alternative_test(one, epsilon=0.1, least=2)
    >>> advantage_influences(found, [5, 5, 6, 6]).images.labels.tolist()
    [5, 6]
    """
    weights = 1 / (len(found.numbers) * found.numbers[found.tested])
    d = weights * (found.judge_wins - found.advantage)
    return influences(d[:, None], images=images, annotators=found.tested, mass=weights)


def _equal(item: Ints, own: Ints, asked: Ints) -> Ints:
    """How many answers about the item of each row have the value `asked`."""
    _, value = np.unique(np.concatenate([own, asked]), return_inverse=True)
    width = int(value.max(initial=0)) + 1
    table = np.bincount(item * width + value[: len(own)], minlength=(int(item.max(initial=0)) + 1) * width)
    return np.asarray(table[item * width + value[len(own) :]])


def _squares(item: Ints, own: Ints, asked: Ints) -> Ints:
    """The sum over the answers about the item of each row of their squared distances from `asked`."""
    number, first, second = np.bincount(item), _sums(own, item), _sums(own**2, item)
    return number[item] * asked**2 - 2 * asked * first[item] + second[item]


def _sums(values: Ints, index: Ints, number: int = 0) -> Ints:
    """Exact sums by index."""
    found = np.zeros(max(number, int(index.max(initial=-1)) + 1), dtype=np.int64)
    np.add.at(found, index, values)
    return found


def _one_sided_p(sums: Ints, squares: Ints, numbers: Ints, epsilon: float) -> Floats:
    """p of the mean being at least epsilon, by t, from sums of whole numbers."""
    # imported here because it takes 0.1 s
    from scipy import special

    n = numbers.astype(np.float64)
    means, spread = sums / n, (numbers * squares - sums**2) / (n * (n - 1))
    still = numbers * squares == sums**2
    t = np.divide(means - epsilon, np.sqrt(spread / n), out=np.zeros(len(n)), where=~still)
    return np.where(still, np.where(means < epsilon, 0.0, 1.0), special.stdtr(n - 1, t))


def _rejected(p: Floats) -> Bools:
    """The hypotheses that Benjamini & Yekutieli reject."""
    # imported here because it takes 0.6 s
    from scipy import stats

    if not len(p):
        return np.zeros(0, dtype=np.bool_)
    return np.asarray(stats.false_discovery_control(p, method="by") <= FALSE_DISCOVERIES)
