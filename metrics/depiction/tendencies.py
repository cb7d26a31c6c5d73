"""The tendency of one group or the mean of several, with resamples or influences, and differences of two
(PROTOCOL §6, §10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from metrics.core.stats import clustered, differences, spread
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.differences import Difference
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import NUMBER, RATIO, SHARE
from metrics.core.stats.spread import Spread
from metrics.depiction import stats
from metrics.depiction.likelihood_influences import LikelihoodInfluences, SumInfluences


@dataclass(frozen=True)
class GroupTendency:
    """A tendency, with the resamples of l_stereo and l_random (B, 2), B = 0 if none were drawn, or the
    influences on the two."""

    point: stats.Tendency
    likelihoods: Floats | SumInfluences

    @property
    def values(self) -> Floats:
        """l_stereo, l_random and theta."""
        return np.array([self.point.l_stereo, self.point.l_random, self.point.theta])

    @property
    def stereo_spread(self) -> Spread:
        """The resamples (B, 1) of l_stereo alone, or the influences on it."""
        if isinstance(self.likelihoods, SumInfluences):
            return self.likelihoods.of([[1.0], [0.0]])
        return np.asarray(self.likelihoods[:, :1])

    def intervals(self) -> list[Interval | None]:
        """Of l_stereo, l_random and theta. That of an infinite theta is the reciprocal of that of
        1 / theta."""
        values = self.values
        if not isinstance(self.likelihoods, SumInfluences):
            drawn = self.likelihoods
            samples = np.column_stack([drawn, stats.ratio(drawn[:, 0], drawn[:, 1])])
            return spread.intervals(samples, values)
        stereo, random, theta = values.tolist()
        infinite = theta == float("inf")
        gradient = np.eye(2, 3)
        if infinite:
            values[2], gradient[1, 2] = 0.0, 1 / stereo
        elif random > 0:
            gradient[:, 2] = 1 / random, -theta / random
        found = spread.intervals(self.likelihoods.of(gradient), values, (SHARE, SHARE, RATIO))
        if infinite and found[2] is not None and not np.isnan(found[2].high):
            found[2] = Interval(float(1 / np.float64(found[2].high)), float("inf"))
        return found


def compute(
    k: Ints, n: Ints, stereotypical: Bools, likelihoods: Floats | LikelihoodInfluences | None
) -> GroupTendency:
    """The tendency of a group, from k, n and `stereotypical` (A,) and resamples (B, A) of L or influences on
    it, if any."""
    point = stats.tendency(k, n, stereotypical)
    kinds = (stereotypical, ~stereotypical)
    if isinstance(likelihoods, LikelihoodInfluences):
        weights = np.column_stack([mean_weights(n, kind) for kind in kinds])
        return GroupTendency(point, SumInfluences(((likelihoods, weights),)))
    if likelihoods is None:
        return GroupTendency(point, np.empty((0, 2)))
    return GroupTendency(point, np.column_stack([stats.mean_over(likelihoods, kind) for kind in kinds]))


def mean_weights(n: Ints, chosen: Bools) -> Floats:
    """The weight (A,) of each likelihood in the mean over the chosen attributes that were shown."""
    used = chosen & (n > 0)
    return np.asarray(used / max(used.sum(), 1))


def mean(groups: Sequence[GroupTendency]) -> GroupTendency:
    """Unweighted means over groups without undefined ones; theta is the ratio of the means."""
    everything = np.ones(len(groups), dtype=np.bool_)
    points = np.array([[one.point.l_stereo for one in groups], [one.point.l_random for one in groups]])
    stereo, random = stats.mean_over(points, everything).tolist()
    theta = float(stats.ratio(stereo, random))
    point = replace(groups[0].point, l_stereo=stereo, l_random=random, theta=theta)
    known = ~np.isnan(points)
    shares = known / np.maximum(known.sum(axis=1, keepdims=True), 1)
    parts = [
        (each, weights * share)
        for one, share in zip(groups, shares.T, strict=True)
        if isinstance(one.likelihoods, SumInfluences)
        for each, weights in one.likelihoods.groups
    ]
    if parts:
        return GroupTendency(point, SumInfluences(tuple(parts)))
    drawn = np.stack([one.likelihoods for one in groups if isinstance(one.likelihoods, np.ndarray)], axis=2)
    samples = [stats.mean_over(drawn[:, place], everything) for place in (0, 1)]
    return GroupTendency(point, np.column_stack(samples))


def differences_of(first: GroupTendency, second: GroupTendency) -> list[Difference]:
    """The differences of l_stereo and l_random, and the logarithm of the ratio of theta."""
    a, b, one, two = first.likelihoods, second.likelihoods, first.values, second.values
    if isinstance(a, SumInfluences) and isinstance(b, SumInfluences):
        return _clustered_differences(first, second)
    assert isinstance(a, np.ndarray)
    assert isinstance(b, np.ndarray)
    return [
        *spread.difference(one[:2], two[:2], (a, b)),
        differences.log_ratio(
            float(one[2]),
            float(two[2]),
            first_samples=stats.ratio(a[:, 0], a[:, 1]),
            second_samples=stats.ratio(b[:, 0], b[:, 1]),
        ),
    ]


def _clustered_differences(first: GroupTendency, second: GroupTendency) -> list[Difference]:
    """The same from influences. Where one theta is 0 or infinite, the logarithm of their ratio has no p, and
    its interval goes from the least to the largest that the intervals of both allow."""
    sides = (first, second)
    with np.errstate(divide="ignore"):
        values = [np.append(side.values[:2], np.log(side.values[2])) for side in sides]
    one, two = (
        side.likelihoods.of(log_gradient(side.point))
        for side in sides
        if isinstance(side.likelihoods, SumInfluences)
    )
    scales = (SHARE, SHARE, NUMBER)
    stereo, random, theta = spread.difference(values[0], values[1], (one, two), (scales, scales))
    if np.isinf(theta.value):
        ends = [side.intervals()[2] or clustered.NONE for side in sides]
        with np.errstate(divide="ignore"):
            low, high = np.log([ends[0].low, ends[0].high]) - np.log([ends[1].high, ends[1].low])
        theta = Difference(theta.value, Interval(float(low), float(high)), float("nan"))
    return [stereo, random, theta]


def log_gradient(point: stats.Tendency) -> Floats:
    """The derivatives of l_stereo, l_random and ln theta with respect to the first two (2, 3); of ln theta 0
    if it is infinite or undefined."""
    gradient = np.eye(2, 3)
    if point.l_stereo > 0 and point.l_random > 0:
        gradient[:, 2] = 1 / point.l_stereo, -1 / point.l_random
    return gradient
