"""Agreement of each annotator with the others (PROTOCOL §10)."""

from dataclasses import dataclass

import numpy as np

from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Floats, Ints


@dataclass(frozen=True)
class RaterAgreement:
    """One element for each of `raters` (J,); `given` (J, V) counts their ratings of each value.

    Of `pairs` of one of their ratings and another annotator's rating of the same unit, `same` are equal, and
    `by_chance` would be equal if they had given their ratings to random units. All 0 if nobody else rated
    their units.
    """

    raters: Ints
    given: Ints
    same: Ints
    pairs: Ints
    by_chance: Floats


def agreement_with_others(table: Ratings) -> RaterAgreement:
    r"""Each annotator's agreement with the others.

    .. math:: same_j = \sum_u \sum_v r_{juv} (t_{uv} - r_{juv}), \qquad
       pairs_j = \sum_u r_{ju} (t_u - r_{ju}), \qquad
       chance_j = \sum_u \sum_v r_{juv} (t_u - r_{ju}) \frac{T_v - R_{jv}}{T - R_j}

    where r_juv are the ratings v of annotator j for unit u, t_uv those of all annotators, R and T their sums
    over units, and an omitted index means a sum over it. Ratings of unknown annotators count only as those of
    others.

    Examples
    --------
    >>> found = agreement_with_others(Ratings(np.eye(2, dtype=int)[[0, 0, 0, 1]], np.array([0, 0, 1, 1]),
    ...                                       np.array([0, 0, 1, 1]), np.array([7, 8, 7, 8])))
    >>> found.raters.tolist(), found.same.tolist(), found.pairs.tolist(), found.by_chance.tolist()
    ([7, 8], [1, 1], [2, 2], [1.0, 1.0])
    """
    unit, counts = table.numbered, table.counts.astype(np.int64)
    values = counts.shape[1]
    units = int(unit[-1]) + 1 if len(unit) else 0
    of_unit = np.column_stack([np.bincount(unit, column, units) for column in counts.T]).astype(np.int64)
    # one row for each unit and annotator, in case somebody rated a unit twice
    known = table.raters != UNKNOWN_ANNOTATOR
    raters, who = np.unique(table.raters[known], return_inverse=True)
    pairs, row = np.unique(np.column_stack([unit[known], who]), axis=0, return_inverse=True)
    own = np.zeros((len(pairs), values), dtype=np.int64)
    np.add.at(own, row.ravel(), counts[known])
    unit, who = pairs[:, 0], pairs[:, 1]
    others = of_unit[unit] - own
    given = _sum_by_rater(who, own, len(raters))
    elsewhere = counts.sum(axis=0) - given
    shares = elsewhere / np.maximum(elsewhere.sum(axis=1, keepdims=True), 1)
    met = others.sum(axis=1)
    return RaterAgreement(
        raters=raters,
        given=given.astype(np.int64),
        same=_sum_by_rater(who, (own * others).sum(axis=1, keepdims=True), len(raters))[:, 0].astype(
            np.int64
        ),
        pairs=_sum_by_rater(who, (own.sum(axis=1) * met)[:, None], len(raters))[:, 0].astype(np.int64),
        by_chance=_sum_by_rater(who, ((own * shares[who]).sum(axis=1) * met)[:, None], len(raters))[:, 0],
    )


def _sum_by_rater(who: Ints, sums: Ints | Floats, number: int) -> Floats:
    """`sums` (R, F) added up for each of `number` annotators, (number, F)."""
    return np.column_stack([np.bincount(who, column, number) for column in sums.T])
