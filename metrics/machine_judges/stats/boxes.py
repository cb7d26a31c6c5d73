"""Boxes of a machine judge beside people's (PROTOCOL §10, §16)."""

from dataclasses import dataclass

import numpy as np

from metrics.agreement.stats.cell_influences import Side, difference_influences
from metrics.agreement.stats.coincidences import ratio
from metrics.agreement.stats.estimates import Estimate, with_intervals
from metrics.agreement.stats.rated_pairs import Cells
from metrics.core.stats import spread
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Floats
from metrics.core.stats.clustered import NONE
from metrics.core.stats.differences import Difference
from metrics.core.stats.scales import SHARE


@dataclass(frozen=True)
class BoxesBeside:
    """The mean match of the boxes of the judge and a person, of two people, and the first minus the second.
    NaN without pairs. `annotators` as in `agreement.Beside`, of those whom the judge is compared with."""

    judge: Estimate
    people: Estimate
    difference: Difference
    annotators: int | None


def boxes_beside(judge: Cells, people: Cells, *, clustered: bool = False) -> BoxesBeside:
    """The agreement of boxes. Cells: the sum of the matches (IoU, 0 to 1) and the number of pairs, as in
    `coefficients.mean_over_pairs`; the judge is the unknown annotator of its pairs. Both sides should be
    about the same units, those with boxes of two people.

    Examples
    --------
    >>> judge = Cells(np.array([[0.5, 1.0]]), np.array([4]), np.array([-1]), np.array([7]))
    >>> people = Cells(np.array([[0.8, 1.0]]), np.array([4]), np.array([7]), np.array([8]))
    >>> found = boxes_beside(judge, people)
    >>> found.judge.value, found.people.value, round(found.difference.value, 3), found.annotators
    (0.5, 0.8, -0.3, 1)
    """
    one, two = _mean(judge.total), _mean(people.total)
    drawn, others = (
        _side(side, answers) if clustered and len(side.sums) else None
        # a person's boxes are in two pairs of people where three drew some, and in one with the judge
        for side, answers in ((judge, 1), (people, 2))
    )
    apart = Difference(float((one - two)[0]), NONE, float("nan"))
    if drawn is not None and others is not None:
        both = difference_influences(drawn, others)
        [apart] = spread.linear_difference(one, two, both, ((SHARE,), (SHARE,)))
    known = np.unique(judge.second)
    return BoxesBeside(
        judge=with_intervals(one, drawn.influences() if drawn else None, 0, (SHARE,))[0],
        people=with_intervals(two, others.influences() if others else None, 0, (SHARE,))[0],
        difference=apart,
        annotators=None if UNKNOWN_ANNOTATOR in known else len(known),
    )


def _mean(sums: Floats) -> Floats:
    return ratio(sums[..., :1], sums[..., 1:2])


def _side(cells: Cells, answers: int) -> Side:
    step = np.array([answers / max(float(cells.total[1]), answers)])
    return Side(cells, _mean, cells.sums[:, 1], step, step)
