"""Score rows of a judge and of people about the same items, and of their differences (PROTOCOL §16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from metrics.core.stats import spread
from metrics.core.stats.differences import Difference
from metrics.core.stats.percentiles import Interval
from metrics.score_runs.compared_rows import Estimates, rows_with_q
from metrics.score_runs.rows import Inputs, ScoreRow, score_row

OF_JUDGE, OF_PEOPLE, OF_DIFFERENCE = "of: judge", "of: people", "of: difference"


@dataclass(frozen=True)
class Side:
    """A score by the judge or by people. `n`: what it is of; `k`: those that count, if it is a share."""

    value: float
    n: int
    interval: Interval | None
    k: int | None = None


@dataclass(frozen=True)
class JudgedScore:
    """A score by both, and the judge's minus people's. `about`: the fields of ScoreRow that say of what."""

    judge: Side
    people: Side
    difference: Difference
    about: Mapping[str, Any] = field(default_factory=dict)


def judged_score(judge: Estimates, people: Estimates, **about: Any) -> JudgedScore:
    """Of a single score, from the influences on it; images with the same labels are the same."""
    (difference,) = spread.difference(
        judge.values, people.values, (judge.spread, people.spread), (judge.scales, people.scales)
    )
    return JudgedScore(_side(judge), _side(people), difference, about)


def _side(found: Estimates) -> Side:
    (interval,) = spread.intervals(found.spread, found.values, found.scales)
    return Side(float(found.values[0]), found.n[0], interval)


def score_rows(
    name: str, found: Sequence[JudgedScore], inputs: Inputs, *, is_tested: bool = True
) -> list[ScoreRow]:
    """Rows of both sides and of the difference, with q over all of `found`. n of a difference is that of the
    judge. Without `is_tested` a difference has no p."""
    tested = [(None, OF_DIFFERENCE, one.judge.n, one.difference) for one in found]
    apart = rows_with_q(name, tested, inputs)
    each = len(apart) // max(len(found), 1)
    rows = []
    for place, one in enumerate(found):
        of_one = [
            score_row(
                name,
                side.value,
                side.n,
                side.interval if inputs.with_intervals else None,
                k=side.k,
                part=part,
            )
            for part, side in ((OF_JUDGE, one.judge), (OF_PEOPLE, one.people))
        ]
        of_one += apart[place * each : (place + 1) * each if is_tested else place * each + 1]
        rows += [replace(row, **one.about) for row in of_one]
    return rows
