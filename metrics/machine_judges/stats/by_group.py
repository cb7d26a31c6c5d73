"""Prediction-powered means where the part was drawn within groups, with its own share of each (PROTOCOL §16).

The part has round(share x number) items of each group, and at least one. A group of one is in it whole. All
answers taken alike would let small groups count too much; the judge's of the rest would lack some groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.grouped_sums import distinct
from metrics.core.stats.scales import Scale
from metrics.machine_judges.stats.prediction_powered import Estimate
from metrics.machine_judges.stats.weighted_means import weighted_mean

LEAST_ITEMS = 10
"""Groups are put together until so many of their items are in the part, as one or two items do not say how
much items of a group differ."""


@dataclass(frozen=True)
class Ratings:
    """Answers (R,): their values, the weight of each within its group, the item it is about, its annotator
    (below 0: not identified), and the group that the item was drawn from."""

    values: Floats
    weights: Floats
    items: Ints
    annotators: Ints
    groups: Ints

    def only(self, chosen: Bools) -> Ratings:
        return Ratings(
            self.values[chosen],
            self.weights[chosen],
            self.items[chosen],
            self.annotators[chosen],
            self.groups[chosen],
        )

    @property
    def numbers(self) -> dict[int, int]:
        """Group -> how many items its answers are about."""
        groups, group_of = distinct(self.groups)
        items, item_of = distinct(self.items)
        pairs, _ = distinct(group_of * len(items) + item_of)
        number = np.bincount(pairs // max(len(items), 1), minlength=len(groups))
        return dict(zip(groups.tolist(), number.tolist(), strict=True))


@dataclass(frozen=True)
class Sides:
    """What `combine` takes, and the judge's score of everything."""

    people: Estimate
    part: Estimate
    rest: Estimate
    judge: Estimate


def by_group(
    people: Ratings, part: Ratings, rest: Ratings, sizes: Mapping[int, int], scale: Scale
) -> Sides | None:
    r"""Means over groups, each with the weight of its items.

    .. math:: \hat\theta_P = \sum_g \frac{N_g}{N} \bar x_g, \qquad
              \tilde\theta = \sum_{g \in G} \frac{N_g}{N} \bar y_g

    `people`, and the judge's answers about the `part` and the `rest`; `sizes`: :math:`N_g`, the number of
    items of each group, asked about or not. N is that of the groups that people answered about. G are those
    of them that the judge answered about in part and rest; the others, such as a group of one, count with
    people's own mean. The score of the judge is of all groups of people that it answered about.

    Groups are strata: how their means differ is no uncertainty. Those with less than `LEAST_ITEMS` items in
    the part or in the rest are put together with others of about the same size; there their difference counts
    as uncertainty, which makes intervals wider rather than narrower. Items of a group that is in the part as
    a whole vary as others do. None if the judge answered about no group in part and rest.

    Examples
    --------
    >>> def rated(values, items, groups):
    ...     return Ratings(*map(np.array, (values, [1.0] * len(values), items, [-1] * len(values), groups)))
    >>> people, part = rated([1.0, 0.0], [1, 2], [7, 8]), rated([1.0, 1.0], [1, 2], [7, 8])
    >>> rest = rated([1.0, 0.0, 0.0], [3, 4, 5], [7, 7, 7])
    >>> found = by_group(people, part, rest, {7: 3, 8: 1}, Scale(0, 1))
    >>> found.people.value, found.part.value, round(found.rest.value, 2)
    (0.75, 0.75, 0.25)
    """
    known = set(people.groups.tolist())
    judged = known & set(part.groups.tolist()) & set(rest.groups.tolist())
    if not judged:
        return None
    whole = sum(sizes[group] for group in known)
    shares = {group: sizes[group] / whole for group in known}
    of_judge = {group: shares[group] for group in judged}
    strata = _strata(people, part, rest)
    everything = Ratings(
        *(
            np.concatenate([getattr(each, name) for each in (part, rest)])
            for name in ("values", "weights", "items", "annotators", "groups")
        )
    )
    answered = known & set(everything.groups.tolist())
    share = sum(shares[group] for group in answered)
    return Sides(
        _mean(people, shares, strata, scale),
        _mean(part, of_judge, strata, scale),
        _mean(rest, of_judge, strata, scale),
        _mean(everything, {group: shares[group] / share for group in answered}, strata, scale),
    )


def _mean(ratings: Ratings, shares: Mapping[int, float], strata: Mapping[int, int], scale: Scale) -> Estimate:
    """The sum over groups of `shares` x mean."""
    used = ratings.only(np.isin(ratings.groups, list(shares)))
    groups, of = np.unique(used.groups, return_inverse=True)
    within = np.bincount(of.ravel(), weights=used.weights)
    share = np.array([shares[group] for group in groups.tolist()])
    weights = used.weights * (share / within)[of.ravel()]
    stratum = np.array([strata[group] for group in groups.tolist()])[of.ravel()]
    mean, found = weighted_mean(used.values, weights, used.items, used.annotators, scale, strata=stratum)
    by = float(share.sum())
    return Estimate(by * mean, found.scaled(by))


def _strata(people: Ratings, part: Ratings, rest: Ratings) -> dict[int, int]:
    """Group -> stratum. By size, groups join until a stratum has LEAST_ITEMS; what is left joins the last."""
    numbers = dict(people.numbers)
    for each in (part.numbers, rest.numbers):
        numbers.update({group: min(numbers[group], n) for group, n in each.items() if group in numbers})
    found: dict[int, int] = {}
    stratum, filled = 0, 0
    left = sum(numbers.values())
    for group in sorted(numbers, key=lambda group: (numbers[group], group)):
        if filled >= LEAST_ITEMS and left >= LEAST_ITEMS:
            stratum, filled = stratum + 1, 0
        found[group] = stratum
        filled += numbers[group]
        left -= numbers[group]
    return found
