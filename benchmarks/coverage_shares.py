"""How often the 95 % intervals of shares and means of ratings contain the true value, in simulated studies,
and how wide they are.

    python -m benchmarks.coverage_shares [--studies 1000] [--intervals clustered|bootstrap|both]

The studies are those of benchmarks/simulated_shares.py; benchmarks/coverage_tables.py says what is measured.

Written to benchmarks/results/coverage-shares.json; docs/coverage.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks import coverage_tables
from benchmarks.coverage_tables import Estimate, Study, Table
from benchmarks.simulated_shares import (
    DESIGNS,
    EACH,
    FURTHER,
    MORE,
    RATINGS,
    SCORES,
    Design,
    answers,
    effects,
    mean_rating,
    rated,
    truth,
)
from metrics.core.stats import bootstrap, clustered, means, passing_shares, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.influence import Influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import NUMBER, SHARE, Scale
from metrics.visual_nature import stats
from metrics.votes import stats as votes


def intervals(
    agreed: Ints, points: Floats, who: Ints, *, method: str, resamples: int, rng: np.random.Generator
) -> dict[str, Interval]:
    """Those of each of SCORES and MORE, as the metrics make them."""
    answered = _Answers(agreed, points, who)
    if method == "clustered":
        return answered.clustered()
    return answered.resampled(resamples, rng)


@dataclass(frozen=True)
class _Answers:
    agreed: Ints
    points: Floats
    who: Ints

    @property
    def items(self) -> int:
        return len(self.agreed)

    @property
    def each(self) -> int:
        return self.agreed.shape[1] // 2

    def of_one_pool(self) -> tuple[Ints, Ints, Ints]:
        """The item, label and annotator of each answer."""
        first = slice(0, self.each)
        item = np.repeat(np.arange(self.items), self.each)
        return item, self.agreed[:, first].ravel(), self.who[:, first].ravel()

    def of_both_pools(self) -> tuple[Ints, Ints, Ints]:
        labels = self.agreed + 2 * (np.arange(2 * self.each) >= self.each)
        return np.repeat(np.arange(self.items), 2 * self.each), labels.ravel(), self.who.ravel()

    def passed(self) -> Bools:
        """Of the source: two of one pool agreed."""
        return np.asarray(self.agreed[:, : self.each].sum(axis=1, keepdims=True) >= 2)

    def estimates(self) -> dict[str, float]:
        item, labels, _ = self.of_one_pool()
        rules = _rule(passing_shares.count_labels(item, labels, shape=(self.items, 2)))[0].mean(axis=0)
        item, both, _ = self.of_both_pools()
        overlap = _in_both(passing_shares.count_labels(item, both, shape=(self.items, 4)))[0].mean()
        mine = self.points[:, : self.each]
        values = [*rules, mine.mean(), labels.mean(), overlap, self.passed().mean(), mine.mean()]
        values += [rated(mine).mean(), rated(mine[0]).mean()]
        return dict(zip((*SCORES, *MORE), map(float, values), strict=True))

    def clustered(self) -> dict[str, Interval]:
        item, labels, who = self.of_one_pool()
        every = np.arange(self.items)
        everything = np.ones((len(labels), 1), dtype=np.bool_)
        points = self.points[:, : self.each]
        of_shares = passing_shares.share_influences(item, labels, who, items=every, number=2, rule=_rule)
        both = passing_shares.share_influences(
            *self.of_both_pools(), items=every, number=4, rule=_in_both, alike=[0, 0, 1, 1]
        )
        passed = self.passed()
        found: dict[str, tuple[Influences, Scale]] = {
            name: (each, SHARE) for name, each in zip(SCORES, of_shares, strict=False)
        }
        for name, values, scale in (
            ("mean rating", points.ravel(), NUMBER),
            ("likelihood", labels.astype(np.float64), SHARE),
            ("rating of -1 to 4", rated(points).ravel(), RATINGS),
        ):
            found[name] = means.mean_influences(values, everything, item, who, scale=scale)[0], scale
        found["2 of 3 in both pools"] = both[0], SHARE
        source = passing_shares.influences_of_each(passed, np.ones_like(passed), clusters=every)
        found["2 of 3, source"] = source[0], SHARE
        found["mean rating, source"] = (
            means.mean_influences(points.mean(axis=1), np.ones_like(passed), every)[0],
            NUMBER,
        )
        values = self.estimates()
        intervals = {
            name: clustered.separate_intervals([values[name]], [each], scale)[0]
            for name, (each, scale) in found.items()
        }
        of_items = means.item_intervals(rated(points).ravel(), item, who, RATINGS)
        return intervals | {"rating of one item": of_items[0]}

    def resampled(self, resamples: int, rng: np.random.Generator) -> dict[str, Interval]:
        item, labels, who = self.of_one_pool()
        size = {"resamples": resamples, "rng": rng}
        every = np.arange(self.items)
        everything = np.ones((len(labels), 1), dtype=np.bool_)
        points, passed = self.points[:, : self.each], self.passed()
        ratings = np.column_stack([points.ravel(), rated(points).ravel()])
        drawn = [
            passing_shares.resampled_shares(item, labels, who, items=every, number=2, rule=_rule, **size),
            means.resampled_means(ratings[:, 0], everything, item, who, **size),
            bootstrap.resampled_likelihoods(labels[:, None], everything, item, who, **size)[0],
            passing_shares.resampled_shares(
                *self.of_both_pools(), items=every, number=4, rule=_in_both, **size
            ),
            votes.resampled_shares(passed, np.ones_like(passed), **size),
            means.resampled_means(points.mean(axis=1), np.ones_like(passed), every, **size),
            means.resampled_means(ratings[:, 1], everything, item, who, **size),
            means.resampled_means(
                *(ratings[: self.each, 1], everything[: self.each], item[: self.each], who[: self.each]),
                **size,
            ),
        ]
        names, values = zip(*self.estimates().items(), strict=True)
        found = percentiles.percentile_intervals(np.column_stack(drawn), values)
        return dict(zip(names, found, strict=True))


def _rule(table: Ints) -> tuple[Bools, Bools]:
    """Of how many disagreed and agreed."""
    known = votes.stereotype_table(
        np.pad(table[:, ::-1], ((0, 0), (0, 1))), np.zeros((len(table), 3), dtype=np.int64)
    )
    scores = np.zeros((len(table), len(stats.SCALE)), dtype=np.int64)
    scores[:, [1, 3]] = table  # Disagree and Agree
    passed = np.column_stack([known.passed[:, :EACH], stats.is_visual(scores)])
    return passed, np.repeat(table.sum(axis=1)[:, None] > 0, passed.shape[1], axis=1)


def _in_both(table: Ints) -> tuple[Bools, Bools]:
    """Of how many of either pool disagreed and agreed, in turn: two agreed in both."""
    pools = [np.pad(each[:, ::-1], ((0, 0), (0, 1))) for each in (table[:, :2], table[:, 2:])]
    found, place = votes.stereotype_table(*pools), votes.CELLS.index(("both", 2))
    return found.passed[:, [place]], found.counted[:, [place]]


def measured(
    design: Design, *, studies: int, method: str = "clustered", resamples: int = 0, seed: int = 0
) -> Table:
    """Of each score, without those that nothing can pass."""
    true = {name: value for name, value in truth(design).items() if "of 3" not in name or 0 < value < 1}
    true[MORE[-1]] = 0.0

    def simulated() -> Iterator[Study]:
        for rng in np.random.default_rng([seed, design.items, design.people]).spawn(studies):
            of_items = effects(design, rng)
            answered = answers(design, of_items, rng)
            values = _Answers(*answered).estimates()
            made = intervals(*answered, method=method, resamples=resamples, rng=rng)
            of_one = float(mean_rating(design, of_items[0]))
            yield {
                name: [Estimate(values[name], made[name], true=of_one if name == MORE[-1] else None)]
                for name in true
            }

    return coverage_tables.summaries(true, simulated())


def coverage(
    design: Design, *, studies: int, resamples: int, method: str = "bootstrap", seed: int = 0
) -> dict[str, float]:
    """Score -> share of simulated studies whose interval contains the true value."""
    return coverage_tables.shares(
        measured(design, studies=studies, method=method, resamples=resamples, seed=seed)
    )


def main() -> None:
    coverage_tables.run(__doc__, measured, over=DESIGNS | FURTHER, results="coverage-shares.json")


if __name__ == "__main__":
    main()
