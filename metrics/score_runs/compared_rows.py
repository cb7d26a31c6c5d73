"""Numbers compared: rows of many differences with their q, each group against all others (PROTOCOL §10).

What all metrics have in common that compare something; what is compared is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from metrics.core.stats import differences, percentiles
from metrics.core.stats.checks import Bools, Floats
from metrics.core.stats.differences import Difference
from metrics.core.stats.percentiles import Interval
from metrics.score_runs.rows import Inputs, ScoreRow, bounds, defined

SIDES = ("side: first", "side: second")
CONTRAST_SIDES = ("side: itself", "side: others")


class Group(Protocol):
    """An identity group."""

    @property
    def group_id(self) -> int: ...
    @property
    def group(self) -> str: ...


@dataclass(frozen=True)
class Estimates:
    """Numbers of one group or of several together: `values` (K,), each with what it rests on, `n`, and their
    resamples (B, K), B = 0 where none were drawn. NaN is undefined."""

    values: Floats
    n: tuple[int, ...]
    samples: Floats


@dataclass(frozen=True)
class ComparedEstimates:
    """Two sides of one group, or of several (`group` None) of which `part` says which they are. `n` is what
    the difference of each number rests on."""

    group: Group | None
    part: str
    n: tuple[int, ...]
    first: Estimates
    second: Estimates


Mean = Callable[[Sequence[Estimates]], Estimates]


def mean(groups: Sequence[Estimates]) -> Estimates:
    """Unweighted means over groups, and over the groups that have a value in a resample; n is how many."""
    values, samples = (
        _mean_of(np.stack([getattr(one, name) for one in groups])) for name in ("values", "samples")
    )
    return Estimates(values, (len(groups),) * len(values), samples)


def _mean_of(stacked: Floats) -> Floats:
    """Over the first axis, undefined ones left out."""
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
    """The differences of each of `names` with p, and q among all that is `found`, and the numbers of both
    sides with their intervals."""
    rows = []
    for place, name in enumerate(names):
        listed = [(one.group, one.part, one.n[place], _difference(one, place)) for one in found]
        rows += rows_with_q(name, listed, inputs)
    for one in found:
        for side, measured in zip(sides, (one.first, one.second), strict=True):
            part = f"{one.part}; {side}" if one.part else side
            rows += _side_rows(names, measured, one.group, part, inputs)
    return rows


def _difference(one: ComparedEstimates, place: int) -> Difference:
    return differences.difference(
        float(one.first.values[place]),
        float(one.second.values[place]),
        first_samples=one.first.samples[:, place],
        second_samples=one.second.samples[:, place],
    )


def _side_rows(
    names: Sequence[str], measured: Estimates, group: Group | None, part: str, inputs: Inputs
) -> list[ScoreRow]:
    intervals: list[Interval | None] = [None] * len(names)
    if inputs.resamples:
        intervals = [*percentiles.percentile_intervals(measured.samples, measured.values)]
    return [
        _row(name, value, n, interval, group, part)
        for name, value, n, interval in zip(
            names, measured.values.tolist(), measured.n, intervals, strict=True
        )
    ]


def rows_with_q(
    name: str, found: Sequence[tuple[Group | None, str, int, Difference]], inputs: Inputs
) -> list[ScoreRow]:
    """The rows of differences that are looked at together, (whose, of which part, n, difference): each with
    its p, and its q among them."""
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
        rows += [_row(label, value, n, interval, group, part) for label, value, interval in numbers]
    return rows


def contrast_rows(
    names: Sequence[str],
    groups: Sequence[tuple[Group, str, Estimates]],
    inputs: Inputs,
    *,
    mean: Mean = mean,
) -> list[ScoreRow]:
    """Each group against the mean of all others, and the mean of each region against that of all groups
    outside it: two lists, each with q of its own. `groups`: each with its region and numbers."""
    regions = np.array([region for _, region, _ in groups])
    rows: list[ScoreRow] = []
    if len(groups) > 1:
        each = []
        for place, (group, _, own) in enumerate(groups):
            others = _mean_where(groups, np.arange(len(groups)) != place, mean)
            each.append(ComparedEstimates(group, "", (len(groups),) * len(names), own, others))
        rows += difference_rows(names, each, inputs, sides=CONTRAST_SIDES)
    known = sorted(set(regions.tolist()) - {""})
    if len(set(regions.tolist())) > 1:
        whole = []
        for region in known:
            inside = regions == region
            own, others = (_mean_where(groups, which, mean) for which in (inside, ~inside))
            whole.append(ComparedEstimates(None, f"region: {region}", own.n, own, others))
        rows += difference_rows(names, whole, inputs, sides=CONTRAST_SIDES)
    return rows


def _mean_where(groups: Sequence[tuple[Group, str, Estimates]], which: Bools, mean: Mean) -> Estimates:
    return mean([groups[place][2] for place in np.flatnonzero(which).tolist()])


def _row(
    name: str, value: float, n: int, interval: Interval | None, group: Group | None, part: str
) -> ScoreRow:
    return ScoreRow(
        name=name,
        value=defined(value),
        n=n,
        group_id=None if group is None else group.group_id,
        group="" if group is None else group.group,
        part=part,
        **bounds(interval),
    )
