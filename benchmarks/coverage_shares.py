"""How often the 95 % intervals of shares and means of ratings contain the true value, in simulated studies.

    python -m benchmarks.coverage_shares [--studies 400] [--resamples 300]

An item (an attribute or an association) is rated by three of the people, the same twelve (or forty) for all
items or people whom nobody knows. Whether somebody agrees is a coin whose logit is the item's own, normal,
plus a normal effect of the person; how offensive they find it is the item's own, plus theirs, plus chance.
The truth is that of all items and all people there could be, by Gauss-Hermite quadrature.

Written to benchmarks/results/coverage-shares.json; docs/statistics.md has the table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.coverage import simulate
from metrics.core.stats import bootstrap, means, passing_shares, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.visual_nature import stats
from metrics.votes import stats as votes

EACH = 3  # people asked of an item
MIDDLE = -0.3  # mean logit of the items
SCORES = ("1 of 3", "2 of 3", "3 of 3", "all", "mean rating", "likelihood")
"""At least so many said the same: known stereotypes (t), consensus (2), rules of visual nature; all of those
who are there: the default rule of visual nature; offensiveness; k / n of one attribute of images."""
MORE = ("2 of 3 in both pools", "2 of 3, source", "mean rating, source")
"""The overlap of two pools of as many people each; a stereotype source, of which items alone are drawn."""


@dataclass(frozen=True)
class Design:
    """So many items and people; standard deviations of their effects in logits, or points of a scale."""

    items: int = 100
    people: int = 12
    of_items: float = 1.0
    of_people: float = 0.5
    identified: bool = True


DESIGNS = {
    "100 items, 12 people": Design(),
    "300 items, 40 people": Design(items=300, people=40),
    "20 items, 12 people": Design(items=20),
    "people differ much": Design(of_people=1.5),
    "neither items nor people differ": Design(of_items=0.0, of_people=0.0),
    "people not identified": Design(identified=False),
    "people not identified, differ much": Design(identified=False, of_people=1.5),
}


def truth(design: Design) -> dict[str, float]:
    """The true values under `design`."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(61)
    mass = mass / mass.sum()
    logit = MIDDLE + design.of_items * nodes[:, None] + design.of_people * nodes
    # of three people who are asked of the same item, given the item; then over items
    one = (1 / (1 + np.exp(-logit))) @ mass
    exactly = [(1 - one) ** 3, 3 * one * (1 - one) ** 2, 3 * one**2 * (1 - one), one**3]
    at_least = [float(sum(exactly[number:]) @ mass) for number in range(EACH + 1)]
    both = float((exactly[2] + exactly[3]) ** 2 @ mass)
    values = [*at_least[1:], at_least[EACH], 0.0, float(one @ mass), both, at_least[2], 0.0]
    return dict(zip((*SCORES, *MORE), values, strict=True))


def study(design: Design, rng: np.random.Generator) -> tuple[Ints, Floats, Ints]:
    """Whether each of three people of one pool, and of three of another, agrees on each item, how offensive
    they find it, and who they are: (items, 6) each."""
    of_items = rng.normal(size=design.items)[:, None] * design.of_items
    # beside, so that the first pool says the same as without it
    pools = [_asked(design, of_items, each) for each in (rng, *rng.spawn(1))]
    agreed, points, who = (np.hstack(columns) for columns in zip(*pools, strict=True))
    if not design.identified:
        return agreed, points, np.arange(who.size).reshape(who.shape)
    who[:, EACH:] += design.people
    return agreed, points, who


def _asked(design: Design, of_items: Floats, rng: np.random.Generator) -> tuple[Ints, Floats, Ints]:
    of_people = rng.normal(size=design.people) * design.of_people
    who = np.argsort(rng.random((design.items, design.people)), axis=1)[:, :EACH]
    logit = MIDDLE + of_items + of_people[who]
    agreed = (rng.random(who.shape) < 1 / (1 + np.exp(-logit))).astype(np.int64)
    return agreed, of_items + of_people[who] + rng.normal(size=who.shape), who


def intervals(
    agreed: Ints, points: Floats, who: Ints, *, resamples: int, rng: np.random.Generator
) -> dict[str, percentiles.Interval]:
    """Those of each of SCORES and MORE, as the metrics make them."""
    found = of_one_pool(*(each[:, :EACH] for each in (agreed, points, who)), resamples=resamples, rng=rng)
    items, pools = len(agreed), agreed.shape[1] // EACH
    labels = agreed + 2 * (np.arange(pools * EACH) >= EACH)
    item = np.repeat(np.arange(items), pools * EACH)
    everything = np.ones((items, 1), dtype=np.bool_)
    passed = agreed[:, :EACH].sum(axis=1, keepdims=True) >= 2
    drawn = np.column_stack(
        [
            passing_shares.resampled_shares(
                item,
                labels.ravel(),
                who.ravel(),
                items=np.arange(items),
                number=2 * pools,
                rule=_in_both,
                resamples=resamples,
                rng=rng,
            ),
            votes.resampled_shares(passed, everything, resamples=resamples, rng=rng),
            means.resampled_means(
                points[:, :EACH].mean(axis=1), everything, np.arange(items), resamples=resamples, rng=rng
            ),
        ]
    )
    both = _in_both(passing_shares.count_labels(item, labels.ravel(), shape=(items, 2 * pools)))[0].mean()
    estimates = [both, passed.mean(), points[:, :EACH].mean()]
    return found | dict(zip(MORE, percentiles.percentile_intervals(drawn, estimates), strict=True))


def of_one_pool(
    agreed: Ints, points: Floats, who: Ints, *, resamples: int, rng: np.random.Generator
) -> dict[str, percentiles.Interval]:
    """Those of each of SCORES."""
    items = len(agreed)
    item, labels, people = np.repeat(np.arange(items), EACH), agreed.ravel(), who.ravel()
    table = passing_shares.count_labels(item, labels, shape=(items, 2))
    everything = np.ones((len(labels), 1), dtype=np.bool_)
    shares = passing_shares.resampled_shares(
        item,
        labels,
        people,
        items=np.arange(items),
        number=2,
        rule=_rule,
        resamples=resamples,
        rng=rng,
    )
    drawn = np.column_stack(
        [
            shares,
            means.resampled_means(points.ravel(), everything, item, people, resamples=resamples, rng=rng),
            bootstrap.resampled_likelihoods(
                labels[:, None], everything, item, people, resamples=resamples, rng=rng
            )[0],
        ]
    )
    estimates = [*_rule(table)[0].mean(axis=0), points.mean(), agreed.mean()]
    return dict(zip(SCORES, percentiles.percentile_intervals(drawn, estimates), strict=True))


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


def coverage(design: Design, *, studies: int, resamples: int, seed: int = 0) -> dict[str, float]:
    """Score -> share of simulated studies whose interval contains the true value."""
    true = truth(design)
    held = dict.fromkeys(true, 0)
    for rng in np.random.default_rng([seed, design.items, design.people]).spawn(studies):
        for name, each in intervals(*study(design, rng), resamples=resamples, rng=rng).items():
            held[name] += each.low <= true[name] <= each.high
    return {name: number / studies for name, number in held.items()}


def main() -> None:
    simulate(__doc__, coverage, over=DESIGNS, results="coverage-shares.json")


if __name__ == "__main__":
    main()
