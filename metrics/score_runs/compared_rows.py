"""Score rows of comparisons: differences with p and q, and each group against all others (PROTOCOL §10).

Shared by all metrics that compare something.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from metrics.core.stats import differences
from metrics.core.stats.checks import Bools, Floats
from metrics.core.stats.differences import Difference
from metrics.core.stats.percentiles import Interval
from metrics.score_runs.rows import Group, Inputs, ScoreRow, intervals_or_none, score_row

SIDES = ("side: first", "side: second")
CONTRAST_SIDES = ("side: itself", "side: others")


@dataclass(frozen=True)
class Estimates:
    """Estimates for one group or a mean over groups: `values` (K,), their sample sizes `n`, and their
    resamples (B, K), with B = 0 if none were drawn. NaN is undefined."""

    values: Floats
    n: tuple[int, ...]
    samples: Floats


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
    values, samples = (
        _mean_of(np.stack([getattr(one, name) for one in groups])) for name in ("values", "samples")
    )
    return Estimates(values, (len(groups),) * len(values), samples)


def _mean_of(stacked: Floats) -> Floats:
    """The mean over the first axis without undefined values."""
    known = ~np.isnan(stacked)
    total, number = np.where(known, stacked, 0.0).sum(axis=0), known.sum(axis=0)
    return np.asarray(np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0))


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
    for index, name in enumerate(names):
        compared = [(pair.group, pair.part, pair.n[index], _difference(pair, index)) for pair in found]
        rows += rows_with_q(name, compared, inputs)
    for pair in found:
        for side, measured in zip(sides, (pair.first, pair.second), strict=True):
            part = f"{pair.part}; {side}" if pair.part else side
            rows += _side_rows(names, measured, pair.group, part, inputs)
    return rows


def _difference(pair: ComparedEstimates, index: int) -> Difference:
    return differences.difference(
        float(pair.first.values[index]),
        float(pair.second.values[index]),
        first_samples=pair.first.samples[:, index],
        second_samples=pair.second.samples[:, index],
    )


def _side_rows(
    names: Sequence[str], measured: Estimates, group: Group | None, part: str, inputs: Inputs
) -> list[ScoreRow]:
    intervals = intervals_or_none(measured.samples if inputs.resamples else None, measured.values)
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
        if inputs.resamples:
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
