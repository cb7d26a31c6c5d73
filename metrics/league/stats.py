"""Numbers of groups and attributes in one study, with influences whose labels are what the answers are about,
so that those of several studies can be compared (PROTOCOL §2 to §4, §10, §11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from metrics.core.stats import influence, means, passing_shares
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.influence import Influences, influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import SHARE, Scale
from metrics.core.stats.spread import intervals

LABELS = 3
"""Of an association: Stereotypical, Non-stereotypical, Unsure."""


@dataclass(frozen=True)
class Number:
    """`value` with its influences and its interval. `n`: what it is a mean of, or a share."""

    value: float
    influences: Influences
    interval: Interval | None
    n: int

    @property
    def has_variance(self) -> bool:
        """Whether there is one: not with a single item or annotator."""
        return bool(np.isfinite(self.influences.standard_errors()[0][0]))


def share(labels: Ints, items: Ints, annotators: Ints, *, at_least: int) -> Number:
    """The share of items that `at_least` annotators called stereotypical, with at least one answer.

    `labels` (R,): a column of LABELS; `items` (R,): what each answer is about, equal in all studies;
    `annotators` (R,): those below 0 are not identified.

    Examples
    --------
    >>> found = share(np.array([0, 0, 1]), np.array([7, 7, 9]), np.array([1, 2, 1]), at_least=2)
    >>> found.value, found.n, found.influences.images.labels.tolist()
    (0.5, 2, [7, 9])
    """
    units, unit_of = np.unique(items, return_inverse=True)

    def rule(votes: Ints) -> tuple[Bools, Bools]:
        return votes[:, :1] >= at_least, votes.sum(axis=1, keepdims=True) > 0

    [found] = passing_shares.share_influences(
        unit_of, labels, annotators, items=np.arange(len(units)), number=LABELS, rule=rule
    )
    passed, _ = rule(passing_shares.count_labels(unit_of, labels, shape=(len(units), LABELS)))
    return _number(float(passed.mean()), _labelled(found, units), SHARE, len(units))


def mean_rating(values: Floats, items: Ints, annotators: Ints, scale: Scale) -> Number:
    """The mean of ratings (R,) of items; the arguments are those of `share`.

    Examples
    --------
    >>> found = mean_rating(np.array([1.0, 3.0]), np.array([9, 7]), np.array([1, 2]), Scale(1, 5))
    >>> found.value, found.influences.images.labels.tolist(), found.influences.images.change[0, 0].round(3)
    (2.0, [7, 9], np.float64(0.707))
    """
    order = np.argsort(items, kind="stable")
    everything = np.ones((len(values), 1), dtype=np.bool_)
    [found] = means.mean_influences(values[order], everything, items[order], annotators[order], scale=scale)
    return _number(float(values.mean()), _labelled(found, np.unique(items)), scale, len(values))


def mean(numbers: Sequence[Number], scale: Scale) -> Number:
    """The unweighted mean of the numbers of some groups."""
    together = influence.total([(1 / len(numbers), one.influences) for one in numbers])
    return _number(float(np.mean([one.value for one in numbers])), together, scale, len(numbers))


def mean_ratings(values: Floats, items: Ints, annotators: Ints, scale: Scale) -> dict[int, Number]:
    """The mean rating of each item. Its influences are of its annotators alone, who are the clusters; its
    interval shares the variance within all items (`means.item_intervals`).

    Examples
    --------
    >>> found = mean_ratings(np.array([1.0, 3.0, 5.0]), np.array([9, 9, 7]), np.array([1, 2, 1]), Scale(1, 5))
    >>> found[9].value, found[9].influences.images.labels.tolist(), found[7].has_variance
    (2.0, [1, 2], False)
    """
    keys, place = np.unique(items, return_inverse=True)
    bounds = means.item_intervals(values, place, annotators, scale)
    order, ends = np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))
    found = {}
    for key, here, interval in zip(keys.tolist(), np.split(order, ends[:-1]), bounds, strict=True):
        x, nobody = values[here], np.full(len(here), -1)
        weights = np.full(len(here), 1 / len(here))
        of_people = _weighted(x, weights, annotators[here], nobody, scale)
        found[key] = Number(float(x.mean()), of_people, interval, len(here))
    return found


def mean_of_items(values: Floats, items: Ints, annotators: Ints, scale: Scale) -> Number:
    r"""The unweighted mean over items of the mean rating of each.

    .. math:: d_r = w_r (x_r - m), \qquad w_r = \frac{1}{I n_{i(r)}},

    which is `means.mean_influences` where all I items have as many ratings.

    Examples
    --------
    >>> mean_of_items(
    ...     np.array([1.0, 3.0, 5.0]), np.array([9, 9, 7]), np.array([1, 2, 1]), Scale(1, 5)
    ... ).value
    3.5
    """
    _, place, number = np.unique(items, return_inverse=True, return_counts=True)
    weights = 1 / (len(number) * number[place])
    together = _weighted(values, weights, items, annotators, scale)
    return _number(float(weights @ values), together, scale, len(number))


def _number(value: float, found: Influences, scale: Scale, n: int) -> Number:
    return Number(value, found, intervals(found, [value], scale)[0], n)


def _weighted(values: Floats, weights: Floats, items: Ints, annotators: Ints, scale: Scale) -> Influences:
    """Influences on a mean with `weights`, which add up to 1."""
    return influences(
        (weights * (values - weights @ values))[:, None],
        images=items,
        annotators=annotators,
        mass=weights,
        step=[scale.width * weights.max()],
        least=[weights.min()],
    )


def _labelled(found: Influences, items: Ints) -> Influences:
    """With `items`, in ascending order, in the place of their numbers."""
    return replace(found, images=replace(found.images, labels=items[found.images.labels]))
