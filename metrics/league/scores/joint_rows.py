"""Rows about all models or studies of a league at once: places, tests, and who answered in several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from metrics.core.stats import differences, joint
from metrics.core.stats.influence import Influences
from metrics.core.stats.percentiles import Interval
from metrics.league.kinds import Kind
from metrics.score_runs.rows import Inputs, ScoreRow, bounds, score_row


class Ranked(Protocol):
    """A number that models or studies are ranked by, with its influences."""

    @property
    def value(self) -> float: ...
    @property
    def influences(self) -> Influences: ...


def place_rows(
    kind: Kind, score: str, parts: Sequence[str], ranked: Sequence[Ranked], inputs: Inputs
) -> list[ScoreRow]:
    """The place of each of `parts` by a score, the places that it can have, and the p of all being equal;
    nothing of a single one."""
    if len(parts) < 2:
        return []
    values, influences = [one.value for one in ranked], [one.influences for one in ranked]
    found = joint.places(values, influences)
    number = int(np.isfinite(found.place).sum())
    rows = [
        score_row(kind.ranks[score], place, number, Interval(low, high), part=part)
        for part, place, low, high in zip(
            parts, found.place.tolist(), found.low.tolist(), found.high.tolist(), strict=True
        )
    ]
    if inputs.with_intervals:
        rows.append(score_row(kind.equal[score], joint.equal_p(values, influences), number))
    return rows


def spread_rows(units: Sequence[Sequence[Ranked]], inputs: Inputs) -> list[list[ScoreRow]]:
    """Of each unit, which has a number in each of several models or studies: how far they are apart, the p of
    all being equal, NaN unless all have a variance, and the q of that over the units. Nothing of a single
    model or study."""
    if not units or len(units[0]) < 2:
        return [[] for _ in units]
    p = [_equal_p(each) for each in units]
    q = differences.false_discovery(p).tolist()
    rows = []
    for each, chance, adjusted in zip(units, p, q, strict=True):
        values = [one.value for one in each]
        found = [("spread", max(values) - min(values))]
        if inputs.with_intervals:
            found += [("spread_p", chance), ("spread_q", adjusted)]
        rows.append([score_row(name, value, len(each)) for name, value in found])
    return rows


def _equal_p(unit: Sequence[Ranked]) -> float:
    found = [one.influences for one in unit]
    known = all(np.isfinite(one.standard_errors()[0]).all() for one in found)
    return joint.equal_p([one.value for one in unit], found) if known else float("nan")


def people_shared(people: Iterable[Iterable[int]]) -> ScoreRow:
    """How many people answered about several models or in several studies, of all who are identified."""
    _, times = np.unique([pk for each in people for pk in each], return_counts=True)
    return score_row("people_shared", int((times > 1).sum()), len(times))


def without_intervals(rows: Iterable[ScoreRow]) -> list[ScoreRow]:
    return [replace(row, **bounds(None)) for row in rows]
