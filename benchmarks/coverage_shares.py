"""How often the 95 % intervals of shares and means of ratings contain the true value, in simulated studies,
and how wide they are.

    python -m benchmarks.coverage_shares [--studies 400] [--resamples 300]
                                         [--intervals clustered|bootstrap|both]

An item (an attribute or an association) is rated by three of the people, the same twelve (or forty) for all
items or people whom nobody knows. Whether somebody agrees is a coin whose logit is the item's own, normal,
plus a normal effect of the person; how offensive they find it is the item's own, plus theirs, plus chance,
once as a number and once rounded to the scale of -1 to 4. The truth is that of all items and all people there
could be, by Gauss-Hermite quadrature; that of one item's rating is over all people.

Written to benchmarks/results/coverage-shares.json; docs/statistics.md has the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import special

from benchmarks.coverage_widths import Tallies, Tally, simulate
from metrics.core.stats import bootstrap, clustered, means, passing_shares, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.influence import Influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import NUMBER, SHARE, Scale
from metrics.visual_nature import stats
from metrics.votes import stats as votes

EACH = 3  # people asked of an item
MIDDLE = -0.3  # mean logit of the items
RATINGS = Scale(means.LOWEST, means.HIGHEST)
SCORES = ("1 of 3", "2 of 3", "3 of 3", "all", "mean rating", "likelihood")
"""At least so many said the same: known stereotypes (t), consensus (2), rules of visual nature; all of those
who are there: the default rule of visual nature; offensiveness; k / n of one attribute of images."""
MORE = (
    "2 of 3 in both pools",
    "2 of 3, source",
    "mean rating, source",
    "rating of -1 to 4",
    "rating of one item",
)
"""The overlap of two pools of as many people each; a stereotype source, of which items alone are drawn; the
mean of ratings on the scale, of all items and of a single one."""


@dataclass(frozen=True)
class Design:
    """So many items and people; standard deviations of their effects in logits, or points of a scale; `each`:
    people asked of an item, at most three; `heavy`: whether one of them is the same for all items."""

    items: int = 100
    people: int = 12
    of_items: float = 1.0
    of_people: float = 0.5
    identified: bool = True
    middle: float = MIDDLE
    each: int = EACH
    heavy: bool = False


DESIGNS = {
    "100 items, 12 people": Design(),
    "300 items, 40 people": Design(items=300, people=40),
    "20 items, 12 people": Design(items=20),
    "people differ much": Design(of_people=1.5),
    "neither items nor people differ": Design(of_items=0.0, of_people=0.0),
    "people not identified": Design(identified=False),
    "people not identified, differ much": Design(identified=False, of_people=1.5),
}
FURTHER = {
    "one in fifty agrees": Design(middle=-4.5),
    "5 people": Design(people=5),
    "5 items": Design(items=5),
    "one person has half of all answers": Design(each=2, heavy=True),
    "one person an item": Design(each=1),
}


def truth(design: Design) -> dict[str, float]:
    """The true values under `design`."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(61)
    mass = mass / mass.sum()
    logit = design.middle + design.of_items * nodes[:, None] + design.of_people * nodes
    # of those who are asked of the same item, given the item; then over items
    one = (1 / (1 + np.exp(-logit))) @ mass
    asked = design.each
    exactly = [comb(asked, k) * one**k * (1 - one) ** (asked - k) for k in range(asked + 1)]
    passed = [sum(exactly[number:], start=np.zeros_like(one)) for number in range(EACH + 1)]
    at_least = [float(each @ mass) for each in passed]
    both = float(passed[2] ** 2 @ mass)
    rated = float(mean_rating(design, design.of_items * nodes) @ mass)
    values = [
        *at_least[1:],
        float(exactly[asked] @ mass),
        0.0,
        float(one @ mass),
        both,
        at_least[2],
        0.0,
        rated,
    ]
    return dict(zip((*SCORES, *MORE), values, strict=False))


def mean_rating(design: Design, of_items: Floats) -> Floats:
    """Of items with these effects, the mean rating on the scale over all people."""
    bounds = np.arange(RATINGS.low, RATINGS.high) + 0.5
    above = special.ndtr((1.5 + of_items[..., None] - bounds) / np.hypot(design.of_people, 1))
    return np.asarray(RATINGS.low + above.sum(axis=-1))


def rated(points: Floats) -> Floats:
    """On the scale."""
    return np.asarray(np.clip(np.floor(points + 2), RATINGS.low, RATINGS.high))


def study(design: Design, rng: np.random.Generator) -> tuple[Ints, Floats, Ints]:
    """Whether each of those asked of one pool, and of another, agrees on each item, how offensive they find
    it, and who they are: (items, twice as many as are asked) each."""
    return answers(design, effects(design, rng), rng)


def effects(design: Design, rng: np.random.Generator) -> Floats:
    """Of the items, shape (items,)."""
    return np.asarray(rng.normal(size=design.items) * design.of_items)


def answers(design: Design, of_items: Floats, rng: np.random.Generator) -> tuple[Ints, Floats, Ints]:
    """`study` of items with these effects."""
    # beside, so that the first pool says the same as without it
    pools = [_asked(design, of_items[:, None], each) for each in (rng, *rng.spawn(1))]
    agreed, points, who = (np.hstack(columns) for columns in zip(*pools, strict=True))
    if not design.identified:
        return agreed, points, -1 - np.arange(who.size).reshape(who.shape)
    who[:, design.each :] += design.people
    return agreed, points, who


def _asked(design: Design, of_items: Floats, rng: np.random.Generator) -> tuple[Ints, Floats, Ints]:
    of_people = rng.normal(size=design.people) * design.of_people
    who = np.argsort(rng.random((design.items, design.people)), axis=1)[:, : design.each]
    if design.heavy:
        who = np.argsort(rng.random((design.items, design.people - 1)), axis=1)[:, : design.each] + 1
        who[:, 0] = 0
    logit = design.middle + of_items + of_people[who]
    agreed = (rng.random(who.shape) < 1 / (1 + np.exp(-logit))).astype(np.int64)
    return agreed, of_items + of_people[who] + rng.normal(size=who.shape), who


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
            found[name] = means.mean_influences(values, everything, item, who)[0], scale
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
) -> Tallies:
    """What the intervals of each score were like; without scores that nothing can pass."""
    true = {name: value for name, value in truth(design).items() if "of 3" not in name or 0 < value < 1}
    found: Tallies = {name: Tally() for name in (*true, MORE[-1])}
    for rng in np.random.default_rng([seed, design.items, design.people]).spawn(studies):
        of_items = effects(design, rng)
        answered = answers(design, of_items, rng)
        points = _Answers(*answered).estimates()
        true[MORE[-1]] = float(mean_rating(design, of_items[0]))
        made = intervals(*answered, method=method, resamples=resamples, rng=rng)
        for name, tally in found.items():
            tally.add(made[name], point=points[name], true=true[name])
    return found


def coverage(
    design: Design, *, studies: int, resamples: int, method: str = "bootstrap", seed: int = 0
) -> dict[str, float]:
    """Score -> share of simulated studies whose interval contains the true value."""
    found = measured(design, studies=studies, method=method, resamples=resamples, seed=seed)
    return {name: tally.coverage for name, tally in found.items()}


def main() -> None:
    simulate(__doc__, measured, over=DESIGNS | FURTHER, results="coverage-shares.json")


if __name__ == "__main__":
    main()
