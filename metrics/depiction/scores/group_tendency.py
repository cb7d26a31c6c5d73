"""The tendency of one group or the mean of several, with resamples, and its score rows (PROTOCOL §6, §10)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from metrics.core.stats import percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.percentiles import Interval
from metrics.depiction.data import GroupFrame
from metrics.depiction.stats import tendency
from metrics.score_runs.rows import ScoreRow, bounds, defined

NAMES = ("l_stereo", "l_random", "theta")


@dataclass(frozen=True)
class GroupTendency:
    """A tendency with the resamples (B,) of its two likelihoods, or None."""

    point: tendency.Tendency
    stereo: Floats | None
    random: Floats | None


def compute(k: Ints, n: Ints, stereotypical: Bools, likelihoods: Floats | None) -> GroupTendency:
    """The tendency of a group, from k, n and `stereotypical` (A,) and resamples of L (B, A) if any."""
    point = tendency.tendency(k, n, stereotypical)
    if likelihoods is None:
        return GroupTendency(point, None, None)
    stereo, random = (tendency.mean_over(likelihoods, which) for which in (stereotypical, ~stereotypical))
    return GroupTendency(point, stereo, random)


def mean(groups: list[GroupTendency]) -> GroupTendency:
    """Unweighted means over groups without undefined ones; theta is the ratio of the means."""

    def mean_of_samples(samples: list[Floats | None]) -> Floats | None:
        table = [each for each in samples if each is not None]
        if not table:
            return None
        return tendency.mean_over(np.column_stack(table), np.ones(len(table), dtype=np.bool_))

    def mean_of(values: list[float]) -> float:
        return float(tendency.mean_over(np.array([values]), np.ones(len(values), dtype=np.bool_))[0])

    stereo, random = (
        mean_of([getattr(one.point, name) for one in groups]) for name in ("l_stereo", "l_random")
    )
    theta = float(tendency.ratio(stereo, random))
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
    intervals: list[Interval | None] = [None] * 3
    if found.stereo is not None and found.random is not None:
        drawn = [found.stereo, found.random, tendency.ratio(found.stereo, found.random)]
        intervals = [*percentiles.percentile_intervals(np.column_stack(drawn), values)]
    return [
        ScoreRow(
            name=name,
            value=defined(value),
            n=number if groups is None else groups,
            group_id=None if frame is None else frame.group_id,
            group="" if frame is None else frame.group,
            part=part,
            **bounds(interval),
        )
        for name, value, number, interval in zip(NAMES, values, numbers, intervals, strict=True)
    ]
