"""The tendency of one group or the mean of several, with resamples, and its score rows (PROTOCOL §6, §10)."""

from dataclasses import dataclass, replace

import numpy as np

from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.depiction import stats
from metrics.depiction.data import GroupFrame
from metrics.score_runs.rows import ScoreRow, intervals_or_none, score_row

NAMES = ("l_stereo", "l_random", "theta")


@dataclass(frozen=True)
class GroupTendency:
    """A tendency with the resamples (B,) of its two likelihoods, or None."""

    point: stats.Tendency
    stereo: Floats | None
    random: Floats | None


def compute(k: Ints, n: Ints, stereotypical: Bools, likelihoods: Floats | None) -> GroupTendency:
    """The tendency of a group, from k, n and `stereotypical` (A,) and resamples of L (B, A) if any."""
    point = stats.tendency(k, n, stereotypical)
    if likelihoods is None:
        return GroupTendency(point, None, None)
    stereo, random = (stats.mean_over(likelihoods, which) for which in (stereotypical, ~stereotypical))
    return GroupTendency(point, stereo, random)


def mean(groups: list[GroupTendency]) -> GroupTendency:
    """Unweighted means over groups without undefined ones; theta is the ratio of the means."""

    everything = np.ones(len(groups), dtype=np.bool_)

    def mean_of_samples(samples: list[Floats | None]) -> Floats | None:
        table = [each for each in samples if each is not None]
        return stats.mean_over(np.column_stack(table), everything) if table else None

    points = np.array([[one.point.l_stereo for one in groups], [one.point.l_random for one in groups]])
    stereo, random = stats.mean_over(points, everything).tolist()
    theta = float(stats.ratio(stereo, random))
    return GroupTendency(
        replace(groups[0].point, l_stereo=stereo, l_random=random, theta=theta),
        mean_of_samples([one.stereo for one in groups]),
        mean_of_samples([one.random for one in groups]),
    )


def score_rows(
    found: GroupTendency, frame: GroupFrame | None, *, part: str = "", groups: int | None = None
) -> list[ScoreRow]:
    """A score for each of NAMES. n is the number of attributes or, for a mean (no `frame`), of `groups`."""
    point = found.point
    numbers = [point.n_stereotypical, point.n_random, point.n_stereotypical + point.n_random]
    values = [point.l_stereo, point.l_random, point.theta]
    samples = None
    if found.stereo is not None and found.random is not None:
        ratios = stats.ratio(found.stereo, found.random)
        samples = np.column_stack([found.stereo, found.random, ratios])
    return [
        score_row(name, value, number if groups is None else groups, interval, group=frame, part=part)
        for name, value, number, interval in zip(
            NAMES, values, numbers, intervals_or_none(samples, values), strict=True
        )
    ]
