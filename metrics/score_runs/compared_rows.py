"""Score rows of comparisons: differences with p and q, and each group against all others (PROTOCOL §10).

Shared by all metrics that compare something.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from metrics.core.stats import differences, spread
from metrics.core.stats.checks import Bools, Floats
from metrics.core.stats.differences import Difference
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import Scale
from metrics.core.stats.spread import Spread
from metrics.score_runs.rows import Group, Inputs, ScoreRow, intervals_or_none, score_row

SIDES = ("side: first", "side: second")
CONTRAST_SIDES = ("side: itself", "side: others")


@dataclass(frozen=True)
class Estimates:
    """Estimates for one group or a mean over groups: `values` (K,), their sample sizes `n`, and their
    influences or resamples (B, K), with B = 0 if none were drawn. NaN is undefined. `scales`: those of their
    intervals."""

    values: Floats
    n: tuple[int, ...]
    spread: Spread
    scales: tuple[Scale, ...]


@dataclass(frozen=True)
class ComparedEstimates:
    """Both sides of a comparison for one group, or for several (`group` None) that `part` names. `n` is the
    sample size of each difference."""

    group: Group | None
    part: str
    n: tuple[int, ...]
    first: Estimates
    second: Estimates


Mean = Callable[[Sequence[Estimates]], Estimates]


def mean(groups: Sequence[Estimates]) -> Estimates:
    """Unweighted means over groups, in each resample over the groups with a value; n is the number of
    groups."""
    stacked = np.stack([one.values for one in groups])
    known = ~np.isnan(stacked)
    total, number = np.where(known, stacked, 0.0).sum(axis=0), known.sum(axis=0)
    values = np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0)
    together = spread.mean([one.spread for one in groups], known)
    return Estimates(np.asarray(values), (len(groups),) * len(values), together, _mean_scales(groups, known))


def _mean_scales(groups: Sequence[Estimates], known: Bools) -> tuple[Scale, ...]:
    """The range of means over the groups that have a value."""
    ends = np.array([[(scale.low, scale.high) for scale in one.scales] for one in groups])
    found = [ends[there if there.any() else slice(None), place] for place, there in enumerate(known.T)]
    return tuple(Scale(*each.mean(axis=0).tolist()) for each in found)


def difference_rows(
    names: Sequence[str],
    found: Sequence[ComparedEstimates],
    inputs: Inputs,
    *,
    sides: tuple[str, str] = SIDES,
) -> list[ScoreRow]:
    """Rows of the differences of each of `names` with p, with q over all of `found`, and of both sides with
    their intervals."""
    rows = []
    apart = [_differences(pair) for pair in found]
    for index, name in enumerate(names):
        compared = [
            (pair.group, pair.part, pair.n[index], each[index])
            for pair, each in zip(found, apart, strict=True)
        ]
        rows += rows_with_q(name, compared, inputs)
    for pair in found:
        for side, measured in zip(sides, (pair.first, pair.second), strict=True):
            part = f"{pair.part}; {side}" if pair.part else side
            rows += _side_rows(names, measured, pair.group, part, inputs)
    return rows


def _differences(pair: ComparedEstimates) -> list[Difference]:
    first, second = pair.first, pair.second
    return spread.difference(
        first.values, second.values, (first.spread, second.spread), (first.scales, second.scales)
    )


def _side_rows(
    names: Sequence[str], measured: Estimates, group: Group | None, part: str, inputs: Inputs
) -> list[ScoreRow]:
    of_side = measured.spread if inputs.with_intervals else None
    intervals = intervals_or_none(of_side, measured.values, measured.scales)
    return [
        score_row(name, value, n, interval, group=group, part=part)
        for name, value, n, interval in zip(
            names, measured.values.tolist(), measured.n, intervals, strict=True
        )
    ]


def rows_with_q(
    name: str, found: Sequence[tuple[Group | None, str, int, Difference]], inputs: Inputs
) -> list[ScoreRow]:
    """Rows of differences with p, and q over all of `found`: (group, part, n, difference)."""
    rows = []
    q = differences.false_discovery([each.p for *_, each in found])
    for (group, part, n, each), adjusted in zip(found, q.tolist(), strict=True):
        numbers: list[tuple[str, float, Interval | None]] = [(name, each.value, None)]
        if inputs.with_intervals:
            numbers = [
                (name, each.value, each.interval),
                (f"{name}_p", each.p, None),
                (f"{name}_q", adjusted, None),
            ]
        rows += [
            score_row(label, value, n, interval, group=group, part=part) for label, value, interval in numbers
        ]
    return rows


def contrast_rows(
    names: Sequence[str],
    groups: Sequence[tuple[Group, str, Estimates]],
    inputs: Inputs,
    *,
    mean: Mean = mean,
) -> list[ScoreRow]:
    """Rows of each group against the mean of all others, and of the mean of each region against the mean of
    all groups outside it. q is computed for each of the two lists. `groups`: (group, region, estimates)."""
    regions = np.array([region for _, region, _ in groups])
    rows: list[ScoreRow] = []
    if len(groups) > 1:
        by_group = []
        for index, (group, _, own) in enumerate(groups):
            others = _mean_where(groups, np.arange(len(groups)) != index, mean)
            by_group.append(ComparedEstimates(group, "", (len(groups),) * len(names), own, others))
        rows += difference_rows(names, by_group, inputs, sides=CONTRAST_SIDES)
    known = sorted(set(regions.tolist()) - {""})
    if len(set(regions.tolist())) > 1:
        by_region = []
        for region in known:
            inside = regions == region
            own, others = (_mean_where(groups, which, mean) for which in (inside, ~inside))
            by_region.append(ComparedEstimates(None, f"region: {region}", own.n, own, others))
        rows += difference_rows(names, by_region, inputs, sides=CONTRAST_SIDES)
    return rows


def _mean_where(groups: Sequence[tuple[Group, str, Estimates]], which: Bools, mean: Mean) -> Estimates:
    return mean([groups[index][2] for index in np.flatnonzero(which).tolist()])
