"""Tables of simulated studies: how often intervals hold the truth, how wide they are, and what is found."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metrics.core.stats.checks import Floats
from metrics.core.stats.percentiles import Interval

METHODS = ("clustered", "bootstrap")
Table = dict[str, dict[str, float]]
"""Numbers by score and what they say, or by design and score."""


@dataclass(frozen=True)
class Estimate:
    """An estimate of one study with its interval; `p` of a comparison, else NaN."""

    value: float
    interval: Interval
    p: float = float("nan")


Study = Mapping[str, Sequence[Estimate]]
"""By score: one estimate, or one for each group or region."""


def summary(
    studies: Iterable[Study], true: Mapping[str, Floats], *, logarithmic: Sequence[str] = ()
) -> Table:
    """By score, over all studies and groups: `coverage`, the share of intervals with the true value; `none`,
    the share of estimates without an interval; `width`, the mean width of the intervals over that of an
    oracle, 2 x 1.96 standard deviations of the estimates; of comparisons `found`, the share of p below 5 %,
    and `oracle`, the share of a z-test with the true standard deviation.

    `true` (G,). The widths of `logarithmic` scores are those of their logarithms, where both ends are finite.
    """
    found: dict[str, list[Sequence[Estimate]]] = {}
    for study in studies:
        for name, each in study.items():
            found.setdefault(name, []).append(each)
    return {name: _summary(each, true[name], name in logarithmic) for name, each in found.items()}


def _summary(studies: Sequence[Sequence[Estimate]], true: Floats, logarithmic: bool) -> dict[str, float]:
    value = np.array([[one.value for one in each] for each in studies])
    low = np.array([[one.interval.low for one in each] for each in studies])
    high = np.array([[one.interval.high for one in each] for each in studies])
    p = np.array([[one.p for one in each] for each in studies])
    there = ~np.isnan(low)
    if not there.any():
        return {"none": 1.0}
    held = (low <= true) & (true <= high)
    if logarithmic:
        with np.errstate(divide="ignore"):
            value, low, high = np.log(value), np.log(low), np.log(high)
    finite = np.isfinite(value) & np.isfinite(low) & np.isfinite(high)
    deviation = np.nanstd(np.where(np.isfinite(value), value, np.nan), axis=0, ddof=1)
    row = {"coverage": float(held[there].mean()), "none": float(1 - there.mean())}
    if finite.any():
        wide = np.subtract(high, low, where=finite, out=np.zeros_like(low)) / (2 * 1.96 * deviation)
        row["width"] = float(wide[finite].mean())
    if not np.isnan(p).all():
        known = ~np.isnan(p)
        row["found"] = float((p[known] < 0.05).mean())
        row["oracle"] = float((np.abs(value) > 1.96 * deviation)[np.isfinite(value)].mean())
    return row


def column(table: Mapping[str, Table], name: str) -> Table:
    """One number of each score of each design that has it."""
    return {
        design: {score: row[name] for score, row in scores.items() if name in row}
        for design, scores in table.items()
    }


def as_table(found: Table, times: float = 100, digits: int = 1) -> str:
    """Designs by scores, in per cent unless `times` is another number."""
    names = list(dict.fromkeys(name for row in found.values() for name in row))
    lines = [f"| design | {' | '.join(names)} |", "| --- |" + " --: |" * len(names)]
    for design, row in found.items():
        cells = (f"{times * row[name]:.{digits}f}" if name in row else "" for name in names)
        lines.append(f"| {design} | {' | '.join(cells)} |")
    return "\n".join(lines)


def print_columns(table: Mapping[str, Table], title: str) -> None:
    """Coverage, width, intervals that there are not and what is found, each as a table."""
    for name in ("coverage", "width", "none", "found", "oracle"):
        chosen = column(table, name)
        if any(any(row.values()) for row in chosen.values()):
            print(f"\n{title}: {name}")
            print(as_table(chosen, *((1, 2) if name == "width" else (100, 1))), flush=True)


def arguments(about: str) -> argparse.Namespace:
    """`studies`, `resamples` and the `methods` of the command line; `about`: the docstring of who asks."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--intervals", choices=(*METHODS, "both"), default="both")
    options = parser.parse_args()
    options.methods = METHODS if options.intervals == "both" else (options.intervals,)
    return options
