"""Tables of simulated studies: how often intervals hold the truth, how wide they are, and what is found.

    python -m benchmarks.coverage_tables coverage.json

prints what is in a file of benchmarks/results. What is measured of a score:

- coverage: the share of intervals that hold the truth, of those that are there; none: the share of estimates
  without an interval;
- width: the mean width over that of an oracle, whose interval is normal with the true standard deviation of
  the estimate, which is that over all studies;
- found: of differences, the share of p below 5 %; power: how often the oracle's z-test would find it;
- places: of ranks (benchmarks/coverage_ranks.py).

Figures in the code were chosen with the studies of seed 0, so that tables are made with another one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.percentiles import Interval

RESULTS = Path(__file__).resolve().parent / "results"
METHODS = ("clustered", "bootstrap")
_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(0.975)
_WIDEST = 7
_SHOWN = {
    "coverage": "% of intervals that hold the truth",
    "width": "width over the oracle's",
    "none": "% without an interval",
    "places": "mean number of places",
    "found": "% of p below 5 %",
}
_MEASURES = (*_SHOWN, "power")

Table = dict[str, dict[str, float]]
"""Score -> what is measured -> number."""


class Estimate(NamedTuple):
    """An estimate of one study with its interval; `p` of a difference; `true` where each study has a truth of
    its own."""

    value: float
    interval: Interval | None
    p: float = float("nan")
    true: float | None = None


Study = Mapping[str, Sequence[Estimate]]
"""By score: one estimate, or one for each group, region or attribute."""


@dataclass
class Record:
    """The estimates of a score in many studies, their intervals and, of differences, p. `logarithmic`: widths
    are those of logarithms, where both ends are finite."""

    truth: float
    logarithmic: bool = False
    values: list[tuple[float, float]] = field(default_factory=list)
    ends: list[tuple[float, float]] = field(default_factory=list)
    p: list[float] = field(default_factory=list)

    def add(
        self, value: float, interval: Interval | None, p: float = float("nan"), true: float | None = None
    ) -> None:
        self.values.append((value, self.truth if true is None else true))
        self.ends.append((np.nan, np.nan) if interval is None else (interval.low, interval.high))
        self.p.append(p)

    def summary(self) -> dict[str, float]:
        """What is measured; see above. What cannot be is left out."""
        value, true = np.array(self.values).T
        low, high = np.array(self.ends).T
        there, p = ~np.isnan(low), np.array(self.p)
        held = ((low <= true) & (true <= high))[there]
        found = {"none": float(1 - there.mean())}
        if there.any():
            found["coverage"] = float(held.mean())
        if self.logarithmic:
            with np.errstate(divide="ignore", invalid="ignore"):
                value, true, low, high = (np.log(each) for each in (value, true, low, high))
        errors = value[np.isfinite(value)] - true[np.isfinite(value)]
        # estimates that are all the same differ by rounding
        deviation = float(errors.std(ddof=1)) if len(errors) > 1 and np.ptp(errors) > 1e-9 else 0.0
        finite = np.isfinite(low) & np.isfinite(high)
        if finite.any() and deviation:
            found["width"] = float((high[finite] - low[finite]).mean()) / (2 * _Z * deviation)
        if not np.isnan(p).all():
            found["found"] = float((p[~np.isnan(p)] < 0.05).mean())
            if deviation:
                apart = self.truth / deviation
                found["power"] = _NORMAL.cdf(apart - _Z) + _NORMAL.cdf(-apart - _Z)
        return found


def summaries(
    true: Mapping[str, ArrayLike], studies: Iterable[Study], *, logarithmic: Sequence[str] = ()
) -> Table:
    """`Record.summary` of each score. `true`: a number for all estimates of a score, or (G,) one for each,
    over which what is measured is a mean."""
    records: dict[str, list[Record]] = {}
    for study in studies:
        for name, each in study.items():
            if name not in records:
                records[name] = [
                    Record(truth, name in logarithmic) for truth in np.atleast_1d(true[name]).tolist()
                ]
            of_score = records[name]
            for place, one in enumerate(each):
                of_score[place if len(of_score) > 1 else 0].add(*one)
    found: Table = {}
    for name, of_score in records.items():
        rows = [record.summary() for record in of_score if record.values]
        found[name] = {
            measure: float(np.mean([row[measure] for row in rows if measure in row]))
            for measure in _MEASURES
            if any(measure in row for row in rows)
        }
    return found


def shares(found: Table, measure: str = "coverage") -> dict[str, float]:
    """One thing that was measured, of each score of which it was."""
    return {name: row[measure] for name, row in found.items() if measure in row}


def run(
    about: str,
    measured: Callable[..., Table],
    *,
    over: Mapping[str, Any],
    results: str,
    methods: Sequence[str] = METHODS,
) -> None:
    """Run from the command line: `measured` of each of the designs `over` with each method, as tables and in
    a file of `results`, where other designs and methods stay. `about`: the docstring of who asks."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=300, help="of the bootstrap")
    parser.add_argument("--intervals", choices=(*methods, "both"), default="clustered")
    parser.add_argument("--designs", nargs="+", choices=[*over], default=[*over], metavar="DESIGN")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    path = RESULTS / results
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for method in methods if options.intervals == "both" else (options.intervals,):
        size = {"studies": options.studies, "seed": options.seed}
        # the others draw nothing
        size["resamples"] = options.resamples if method == "bootstrap" else 0
        for name in options.designs:
            scores = measured(over[name], method=method, **size)
            kept.setdefault(method, {})[name] = {**size, "scores": _rounded(scores)}
            path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            print(f"{method}: {name}", file=sys.stderr, flush=True)
    print(as_tables(kept))


def _rounded(found: Table) -> Table:
    return {name: {key: round(each, 4) for key, each in row.items()} for name, row in found.items()}


def as_tables(kept: Mapping[str, Mapping[str, Any]]) -> str:
    """Tables of designs and scores in Markdown, for everything that was measured; what the bootstrap gave is
    in brackets."""
    designs = list(dict.fromkeys(name for method in METHODS for name in kept.get(method, {})))
    rows: dict[str, dict[str, Table]] = {
        method: {name: each["scores"] for name, each in kept.get(method, {}).items()} for method in METHODS
    }
    every = [table for of_method in rows.values() for table in of_method.values()]
    tables = []
    for measure, about in _SHOWN.items():
        names = [
            name
            for name in dict.fromkeys(name for table in every for name in table)
            # intervals that are never missing need no table
            if any(table.get(name, {}).get(measure) for table in every)
            or (measure != "none" and any(name in shares(table, measure) for table in every))
        ]
        if measure == "found" and any("power" in row for table in every for row in table.values()):
            about += " / that the oracle finds"
        for start in range(0, len(names), _WIDEST):
            some = names[start : start + _WIDEST]
            lines = [f"| {about} | {' | '.join(some)} |", "| --- |" + " --: |" * len(some)]
            for design in designs:
                cells = (
                    [_cell(rows[method].get(design, {}).get(name, {}), measure) for method in METHODS]
                    for name in some
                )
                told = (f"{one} ({other})".strip() if other else one for one, other in cells)
                lines.append(f"| {design} | {' | '.join(told)} |")
            tables.append("\n".join(lines))
    return "\n\n".join(tables)


def _cell(row: Mapping[str, float], measure: str) -> str:
    if measure not in row:
        return ""
    if measure in ("width", "places"):
        return f"{row[measure]:.2f}"
    told = f"{100 * row[measure]:.1f}"
    return f"{told} / {100 * row['power']:.1f}" if measure == "found" and "power" in row else told


if __name__ == "__main__":
    print(as_tables(json.loads((RESULTS / sys.argv[1]).read_text(encoding="utf-8"))))
