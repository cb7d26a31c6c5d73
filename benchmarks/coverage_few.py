"""How often the 95 % interval of a difference of agreement holds the truth where groups of people are small.

    python -m benchmarks.coverage_few [--studies 1000] [--intervals clustered|bootstrap|both]

Each item has one true label of four. Whoever knows it says it, everybody with a probability of their own
(normal, cut off at 0 and 1), and guesses otherwise; two groups of people, who have nobody in common, rate all
of 60 items. Alpha of the population is the square of the mean probability, and the truth is the difference of
two such squares.

Written to benchmarks/results/coverage-few.json; docs/coverage.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from benchmarks import coverage_tables
from benchmarks.coverage_tables import Estimate, Study, Table
from metrics.agreement.stats import coefficients, rated_pairs
from metrics.agreement.stats.coincidences import Level
from metrics.agreement.stats.differences import AgreementDifference, agreement_difference
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Floats, Ints

VALUES = (0, 1, 2, 3)
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Groups:
    """Two groups of so many people; `knows`: the mean probability of either, `spread` its deviation."""

    people: int = 8
    knows: tuple[float, float] = (0.7, 0.7)
    spread: float = 0.15
    identified: bool = True
    items: int = 60

    @property
    def alphas(self) -> tuple[float, float]:
        """Of endless people of either group about endless items."""
        first, second = (_mean_cut_off(mean, self.spread) ** 2 for mean in self.knows)
        return first, second

    @property
    def truth(self) -> float:
        return self.alphas[0] - self.alphas[1]


def _mean_cut_off(mean: float, spread: float) -> float:
    """The mean of a normal value that is cut off at 0 and 1."""
    if not spread:
        return mean
    low, high = -mean / spread, (1 - mean) / spread
    inside = mean * (_NORMAL.cdf(high) - _NORMAL.cdf(low)) + spread * (_NORMAL.pdf(low) - _NORMAL.pdf(high))
    return inside + 1 - _NORMAL.cdf(high)


DESIGNS = {
    "12 people a group": Groups(people=12),
    "8 people": Groups(),
    "5 people": Groups(people=5),
    "3 people": Groups(people=3),
    "8 people who do not differ": Groups(spread=0.0),
    "8 people who differ more": Groups(spread=0.25),
    "5 people who differ more": Groups(people=5, spread=0.25),
    "8 people, a true difference of 0.42": Groups(knows=(0.85, 0.55), spread=0.1),
    "8 people, not identified": Groups(identified=False),
    "8 people, 5 items": Groups(items=5),
    "8 people, 12 items": Groups(items=12),
    "3 people who differ more": Groups(people=3, spread=0.25),
}


def rated(said: ArrayLike, *, people: ArrayLike | None = None, items: ArrayLike | None = None) -> Ratings:
    """Ratings of what each of the people (columns) said of each item (rows); -1 is missing."""
    table = np.asarray(said)
    who = np.arange(table.shape[1]) if people is None else np.asarray(people)
    what = np.arange(len(table)) if items is None else np.asarray(items)
    row, column = np.nonzero(table >= 0)
    return Ratings(np.eye(len(VALUES), dtype=np.int64)[table[row, column]], what[row], what[row], who[column])


def answers(rng: np.random.Generator, truth: Ints, *, people: int, knows: float, spread: float = 0.0) -> Ints:
    """(I, people): whoever knows the truth says it, each with a probability of their own, or guesses."""
    each: Floats = np.clip(rng.normal(knows, spread, people), 0, 1)
    guessed = rng.integers(0, len(VALUES), (len(truth), people))
    return np.where(rng.random(guessed.shape) < each, truth[:, None], guessed)


def two_groups(groups: Groups, rng: np.random.Generator) -> tuple[Ratings, Ratings]:
    """What both groups said of the same items."""
    truth = rng.integers(0, len(VALUES), groups.items)
    first, second = (
        answers(rng, truth, people=groups.people, knows=knows, spread=groups.spread) for knows in groups.knows
    )
    if not groups.identified:
        nobody = np.full(groups.people, UNKNOWN_ANNOTATOR)
        return rated(first, people=nobody), rated(second, people=nobody)
    return rated(first), rated(second, people=groups.people + np.arange(groups.people))


def compared(
    first: Ratings,
    second: Ratings,
    *,
    resamples: int = 0,
    rng: np.random.Generator | None = None,
    clustered: bool = False,
    level: Level = "nominal",
) -> AgreementDifference:
    """Agreement within the first group less that within the second."""
    cells = (rated_pairs.within(side) for side in (first, second))
    return agreement_difference(
        *cells, VALUES, level=level, resamples=resamples, rng=rng, clustered=clustered
    )


def coverage(groups: Groups, *, studies: int, resamples: int, seed: int = 0) -> dict[str, float]:
    """The share of simulated studies whose bootstrap interval holds the difference of alpha, and of those
    whose p is below 5 %."""
    held = significant = 0
    for rng in np.random.default_rng([seed, groups.people]).spawn(studies):
        alpha = compared(*two_groups(groups, rng), resamples=resamples, rng=rng).alpha
        held += alpha.interval.low <= groups.truth <= alpha.interval.high
        significant += alpha.p < 0.05
    return {"held": held / studies, "p below 5 %": significant / studies}


def measured(groups: Groups, *, studies: int, resamples: int, method: str, seed: int = 0) -> Table:
    """Of the difference of alpha, and of alpha of the first group."""

    def simulated() -> Iterator[Study]:
        for rng in np.random.default_rng([seed, groups.people]).spawn(studies):
            first, second = two_groups(groups, rng)
            way: dict[str, Any] = (
                {"clustered": True} if method == "clustered" else {"resamples": resamples, "rng": rng}
            )
            apart = compared(first, second, **way).alpha
            alpha = coefficients.within(first, VALUES, level="nominal", **way).alpha
            yield {
                "difference of alpha": [Estimate(apart.value, apart.interval, apart.p)],
                "alpha": [Estimate(alpha.value, alpha.interval)],
            }

    true = {"difference of alpha": groups.truth, "alpha": groups.alphas[0]}
    return coverage_tables.summaries(true, simulated())


def main() -> None:
    coverage_tables.run(__doc__, measured, over=DESIGNS, results="coverage-few.json")


if __name__ == "__main__":
    main()
