"""What clustered and bootstrap intervals of simulated studies are compared by: how often they hold the truth,
how wide they are, and how often a difference is found.

The oracle's interval is normal, with the true standard deviation of the estimate, which is that over all
simulated studies.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from metrics.core.stats.percentiles import Interval

RESULTS = Path(__file__).resolve().parent / "results"
METHODS = ("clustered", "bootstrap")
_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(0.975)

Found = dict[str, dict[str, float]]
"""Score -> measure -> number."""


@dataclass
class Record:
    """The estimates of a score in many studies, their intervals and, of differences, p."""

    truth: float
    values: list[float] = field(default_factory=list)
    ends: list[tuple[float, float]] = field(default_factory=list)
    p: list[float] = field(default_factory=list)

    def add(self, value: float, interval: Interval | None, p: float = float("nan")) -> None:
        self.values.append(value)
        self.ends.append((np.nan, np.nan) if interval is None else (interval.low, interval.high))
        self.p.append(p)

    def summary(self) -> dict[str, float]:
        """Shares of studies: `held` the truth, of those with an interval, and had `none`. `width`: the mean
        over that of the oracle. `found`: p below 5 %; `oracle`: how often the oracle would find it."""
        low, high = np.array(self.ends).T
        there = ~np.isnan(low)
        deviation = float(np.nanstd(self.values, ddof=1))
        held = ((low <= self.truth) & (self.truth <= high))[there]
        found = {
            "held": float(held.mean()) if there.any() else float("nan"),
            "width": float((high - low)[there].mean()) / (2 * _Z * deviation)
            if there.any()
            else float("nan"),
            "none": float(1 - there.mean()),
        }
        if not np.isnan(self.p).all():
            apart = self.truth / deviation
            found["found"] = float((np.array(self.p)[there] < 0.05).mean())
            found["oracle"] = _NORMAL.cdf(apart - _Z) + _NORMAL.cdf(-apart - _Z)
        return found


Study = Iterator[tuple[str, float, Interval | None, float]]
"""(score, estimate, interval, p or NaN) of one simulated study."""


def summaries(truth: Mapping[str, float], studies: Sequence[Study] | Iterator[Study]) -> Found:
    """Of each score of `truth` that the studies have."""
    records: dict[str, Record] = {}
    for study in studies:
        for name, value, interval, p in study:
            records.setdefault(name, Record(truth[name])).add(value, interval, p)
    return {name: record.summary() for name, record in records.items()}


def compare(about: str, measured: Callable[..., Found], *, over: Mapping[str, Any], results: str) -> None:
    """Run from the command line: `measured` of each of the designs `over` with each method, as tables and in
    a file of `results`. `about`: the docstring of who asks."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--intervals", choices=(*METHODS, "both"), default="both")
    options = parser.parse_args()
    size: dict[str, int] = {"studies": options.studies, "resamples": options.resamples}
    made: dict[str, dict[str, Found]] = {}
    for method in METHODS if options.intervals == "both" else (options.intervals,):
        of_method = made[method] = {}
        for name, design in over.items():
            of_method[name] = measured(design, clustered=method == "clustered", **size)
        print(f"{method}\n{as_tables(of_method)}\n", flush=True)
    text = json.dumps({**size, "intervals": made}, indent=1) + "\n"
    (RESULTS / results).write_text(text, encoding="utf-8")


def as_tables(found: Mapping[str, Found]) -> str:
    """A table of designs and scores for each measure."""
    scores = list(dict.fromkeys(name for rows in found.values() for name in rows))
    tables = []
    for measure, about, times in (
        ("held", "% that hold the truth", 100),
        ("width", "width over the oracle's", 1),
        ("none", "% without an interval", 100),
        ("found", "% with p below 5 %", 100),
        ("oracle", "% that the oracle finds", 100),
    ):
        those = [name for name in scores if any(measure in rows.get(name, {}) for rows in found.values())]
        if not those:
            continue
        tables.append(f"| {about} | {' | '.join(those)} |\n| --- |" + " --: |" * len(those))
        for design, rows in found.items():
            each = [rows.get(name, {}).get(measure, float("nan")) for name in those]
            tables[-1] += f"\n| {design} | " + " | ".join(
                "" if value != value else f"{times * value:.{1 if times == 100 else 2}f}" for value in each
            )
            tables[-1] += " |"
    return "\n\n".join(tables)
