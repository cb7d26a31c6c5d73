"""How often intervals hold the truth, and how wide they are beside those of an oracle, of simulated studies.

What benchmarks/coverage_shares.py and benchmarks/coverage_captions.py share: both methods of making
intervals, the tables of coverage and width, and the command line.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.coverage import RESULTS
from metrics.core.stats.percentiles import Interval

METHODS = ("clustered", "bootstrap")
NORMAL = 1.959964


@dataclass
class Tally:
    """What was found of one score in all studies so far: whether intervals held the truth, how wide they
    were, and how far the estimates were from the truth. An interval that is missing does not count."""

    held: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    missing: int = 0

    def add(self, interval: Interval, *, point: float, true: float) -> None:
        if interval.low != interval.low:
            self.missing += 1
            return
        self.held.append(interval.low <= true <= interval.high)
        self.widths.append(interval.high - interval.low)
        self.errors.append(point - true)

    @property
    def coverage(self) -> float:
        return float(np.mean(self.held)) if self.held else float("nan")

    @property
    def width(self) -> float:
        """Mean width over that of a normal interval with the true standard deviation of the estimate."""
        oracle = 2 * NORMAL * float(np.std(self.errors)) if self.errors else 0.0
        return float(np.mean(self.widths)) / oracle if oracle else float("nan")

    @property
    def without(self) -> float:
        """The share of intervals that are missing."""
        total = self.missing + len(self.held)
        return self.missing / total if total else float("nan")


Tallies = dict[str, Tally]
Measure = Callable[..., Tallies]


def as_table(found: Mapping[str, Tallies], read: Callable[[Tally], float]) -> str:
    """A row for each design, in per cent."""
    names = list(dict.fromkeys(name for tallies in found.values() for name in tallies))
    lines = [f"| design | {' | '.join(names)} |", "| --- |" + " --: |" * len(names)]
    for design, tallies in found.items():
        cells = [100 * read(tallies[name]) if name in tallies else float("nan") for name in names]
        lines.append(
            f"| {design} | " + " | ".join("" if cell != cell else f"{cell:.1f}" for cell in cells) + " |"
        )
    return "\n".join(lines)


def simulate(about: str, measure: Measure, *, over: Mapping[str, Any], results: str) -> None:
    """`measure` each of the designs `over` by the methods, with as many studies and resamples as the command
    line says; tables of coverage, of width and of missing intervals, and a file of `results`.

    `about`: the docstring of who asks."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--intervals", choices=[*METHODS, "both"], default="both")
    parser.add_argument("--designs", nargs="*", default=[*over], help="some of the designs")
    options = parser.parse_args()
    methods: Sequence[str] = METHODS if options.intervals == "both" else (options.intervals,)
    size = {"studies": options.studies, "resamples": options.resamples}
    written: dict[str, Any] = dict(size)
    for method in methods:
        found = {name: measure(over[name], method=method, **size) for name in options.designs}
        written[method] = {}
        reads: dict[str, Callable[[Tally], float]] = {
            "coverage": lambda tally: tally.coverage,
            "width": lambda tally: tally.width,
            "missing": lambda tally: tally.without,
        }
        for name, read in reads.items():
            print(f"\n{method}: {name}, %\n{as_table(found, read)}", flush=True)
            written[method][name] = {
                design: {score: read(tally) for score, tally in tallies.items()}
                for design, tallies in found.items()
            }
    RESULTS.with_name(results).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
