"""Prediction-powered estimates: people answered a random part, and a machine judge everything (PROTOCOL §16).

Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Prediction-powered inference, Science 382,
doi:10.1126/science.adi6000; Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.core.stats import clustered
from metrics.core.stats.clustered import around
from metrics.core.stats.influence import Influences, total
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import NUMBER, Scale


@dataclass(frozen=True)
class Estimate:
    """One score and what it depends on (M = 1)."""

    value: float
    influences: Influences


@dataclass(frozen=True)
class Combined:
    """A combined score with its interval, and how much it relies on the judge, `tuning`, from 0 to 1."""

    value: float
    interval: Interval
    tuning: float
    influences: Influences


def combine(
    people: Estimate, part: Estimate, rest: Estimate, scale: Scale, *, tuning: float | None = None
) -> Combined:
    r"""The score of people about the part, corrected by how the judge's differs between part and rest.

    .. math:: \hat\theta = \hat\theta_P + \lambda (\tilde\theta_{rest} - \tilde\theta_{part})

    The judge may be wrong in any way: as the part is random, the two scores of the judge have the same mean.
    `people` and `part`, of the judge, are of the same images; `rest` is of the others. Influences add up by
    label of the image (PPI++, section 3, with images for answers): an image of the part has people's minus
    :math:`\lambda` times the judge's, one of the rest the judge's; annotators have people's. A label can be
    in the part and in the rest, as that of an attribute that is rated for several groups. A value outside the
    `scale` is moved to its end.

    `tuning`: :math:`\lambda`; by default that of the least variance of images (PPI++, section 6), kept from
    0 (people alone) to 1 (the judge as if it were a person) as in `ppi-python`, and 0 where it is undefined.

    The interval is :math:`g(\hat\theta_P) + g'(\hat\theta_P) (\hat\theta - \hat\theta_P \pm t \, se)` on the
    scale g of the score, transformed back. With :math:`\lambda = 0` it is that of people alone. g is
    taken at people's score, as the combined one can be outside the scale or so near its end that the interval
    would be the whole scale.

    Examples
    --------
    >>> from metrics.core.stats.influence import influences
    >>> same = influences([[-0.25], [0.25], [-0.25], [0.25]], images=[1, 2, 3, 4], annotators=[-1] * 4)
    >>> other = influences([[0.1], [-0.1], [0.0], [0.0]], images=[5, 6, 7, 8], annotators=[-1] * 4)
    >>> found = combine(Estimate(0.5, same), Estimate(0.4, same), Estimate(0.5, other), NUMBER, tuning=0.5)
    >>> round(found.value, 3), found.influences.images.change.round(3).ravel().tolist()
    (0.55, [-0.144, 0.144, -0.144, 0.144, 0.058, -0.058, 0.0, 0.0])
    """
    difference = rest.value - part.value
    by = _tuning(people, part, rest) if tuning is None else tuning
    if not np.isfinite(difference) or not by:
        (interval,) = clustered.intervals([people.value], people.influences, scale)
        return Combined(people.value, interval, 0.0, people.influences)
    value = people.value + by * difference
    found = total([(1.0, people.influences), (-by, part.influences), (by, rest.influences)])
    inside = min(max(value, scale.low), scale.high)
    return Combined(inside, around(inside, _interval(people.value, value, found, scale)), by, found)


def _tuning(people: Estimate, part: Estimate, rest: Estimate) -> float:
    r"""The least of :math:`\sum_i (c_i - \lambda \tilde c_i)^2`, with people's changes c of all images and
    the judge's :math:`\tilde c`, of the part less the rest."""
    ours = people.influences.images
    judged = total([(1.0, part.influences), (-1.0, rest.influences)]).images
    _, here, there = np.intersect1d(ours.labels, judged.labels, return_indices=True)
    shared = float(ours.change[here, 0] @ judged.change[there, 0])
    alone = float((judged.change[:, 0] ** 2).sum())
    return min(max(shared / alone, 0.0), 1.0) if alone > 0 and np.isfinite(shared) else 0.0


def _interval(people: float, value: float, found: Influences, scale: Scale) -> Interval:
    """The interval around `value`, with the scale's curve at people's score."""
    low, high = scale.low, scale.high
    if np.isinf(low):
        return clustered.intervals([value], found, NUMBER)[0]
    if not low < people < high:
        return clustered.NONE
    if np.isinf(high):
        middle, slope = float(np.log(people - low)), 1 / (people - low)
    else:
        middle = float(np.log((people - low) / (high - people)))
        slope = (high - low) / ((people - low) * (high - people))
    centre = middle + slope * (value - people)
    (interval,) = clustered.intervals([centre], found.scaled(slope), NUMBER)
    ends = np.exp(np.clip([interval.low, interval.high], -700, 700))
    if np.isfinite(high):
        ends = (high - low) * ends / (1 + ends)
    return Interval(low + float(ends[0]), low + float(ends[1]))
