"""How often the 95 % intervals of agreement contain the true value, in simulated studies of a five-point
scale.

    python -m benchmarks.coverage_agreement [--studies 1000] [--intervals clustered|bootstrap|both]

Items and people are those of benchmarks/simulated_shares.py. What somebody finds of an item is the item's
own, normal, plus a normal effect of the person, plus chance (1); four bounds cut it into five labels, of
which the middle one is Unsure, missing where the scale is read as ordinal or interval. Two groups of people
answer, three of each an item, the second of whom find less throughout. The truth is that of all items and
all people there could be: given the item the labels have normal probabilities, and over items it is
Gauss-Hermite quadrature.

Boxes are those of benchmarks/simulated_boxes.py.

Differences are also those of two groups who are the same, where whatever is found is false, and of a second
group with more chance in it, who agree less.

Written to benchmarks/results/coverage-agreement.json; docs/coverage.md has the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from benchmarks import coverage_tables, simulated_shares
from benchmarks.coverage_tables import Estimate, Study, Table
from benchmarks.simulated_boxes import cells_of_boxes, truth_of_boxes
from benchmarks.simulated_rules import BOUNDS, ONE, labelled, of_one, of_rules, truth_of_rules
from benchmarks.simulated_shares import EACH, Design
from metrics.agreement.stats import coefficients, coincidences, rated_pairs
from metrics.agreement.stats import differences as agreement_differences
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Bools, Floats, Ints
from metrics.visual_nature import stats

LESS = 0.6  # by how much the second group finds less
SURE = np.array([1, 2, 4, 5])  # the labels without Unsure
READINGS: tuple[tuple[coincidences.Level, Ints], ...] = (
    ("nominal", np.array(stats.SCALE)),
    ("ordinal", SURE),
    ("interval", SURE),
)


@dataclass(frozen=True)
class More:
    """What a design of agreement has beside: `less`: by how much the second group finds less; `chance`: the
    standard deviation of chance in it; `above`: by how much everybody finds more; `busy`: the same person is
    one of the three of every item."""

    less: float = LESS
    chance: float = 1.0
    above: float = 0.0
    busy: bool = False


PLAIN = More()
SAME = More(less=0.0)
AGREE_LESS = More(less=0.0, chance=1.8)
APART = {"the same": SAME, "who agree less": AGREE_LESS}
DESIGNS: dict[str, tuple[Design, More]] = {
    **{name: (design, PLAIN) for name, design in simulated_shares.DESIGNS.items()},
    "5 people": (Design(people=5), PLAIN),
    "5 items": (Design(items=5), PLAIN),
    "one person rates every item": (Design(), More(busy=True)),
    "2 % do not say the lowest label": (Design(), More(above=-4.3, less=0.0)),
}


def truth(design: Design, more: More = PLAIN) -> dict[str, float]:
    """The true values under `design`."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(101)
    mass = mass / mass.sum()
    first, second = (
        labelled(design.of_items * nodes + more.above - less, sqrt(design.of_people**2 + chance**2))
        for less, chance in ((0.0, 1.0), (more.less, more.chance))
    )
    found, less = ({"percentage": float(mass @ (each**2).sum(axis=1))} for each in (first, second))
    found["difference of percentage"] = found["percentage"] - less["percentage"]
    for level, kept in READINGS:
        # Unsure is missing: of all pairs of ratings of an item those count in which neither is
        x, y = first[:, kept - 1], second[:, kept - 1]
        across = np.einsum("i,ic,ik->ck", mass, x, y)
        alpha, other_alpha = (_alpha(_together(each, mass), kept, level) for each in (x, y))
        found |= {f"alpha, {level}": alpha, f"difference of alpha, {level}": alpha - other_alpha}
        if level == "nominal":
            found["kappa"] = found["alpha, nominal"]
            found["percentage between"] = float(np.trace(across))
        one, other = _rated(x, y, mass), _rated(y, x, mass)
        distance = coincidences.distances(one + other, kept.tolist(), level=level)
        by_chance = one @ distance @ other / (one.sum() * other.sum())
        found[f"between, {level}"] = 1 - (across * distance).sum() / across.sum() / by_chance
    return found


def _alpha(alike: Floats, kept: Ints, level: coincidences.Level) -> float:
    """Of coincidences of endless ratings."""
    marginal = alike.sum(axis=1)
    distance = coincidences.distances(marginal, kept.tolist(), level=level)
    by_chance = marginal @ distance @ marginal / marginal.sum() ** 2
    return float(1 - (alike * distance).sum() / alike.sum() / by_chance)


def _together(chances: Floats, mass: Floats) -> Floats:
    """What coincidences come to: of an item the ratings that have another beside them, in pairs."""
    kept = chances.sum(axis=1)
    paired = mass * kept * (1 - (1 - kept) ** (EACH - 1))
    return np.asarray(np.einsum("i,ic,ik->ck", paired / kept**2, chances, chances))


def _rated(chances: Floats, others: Floats, mass: Floats) -> Floats:
    """The ratings of one group, of items that the other one rated too."""
    met = 1 - (1 - others.sum(axis=1)) ** EACH
    return np.asarray((mass * met) @ chances)


def study(design: Design, rng: np.random.Generator, more: More = PLAIN) -> tuple[Ints, Ints, Floats]:
    """The labels 1 to 5 of three people of each of two groups, who they are, (items, 6) both, and what each
    item has of its own."""
    items = design.of_items * rng.normal(size=design.items)
    labels, people = [], []
    for group, (less, chance) in enumerate(((0.0, 1.0), (more.less, more.chance))):
        effects = design.of_people * rng.normal(size=design.people)
        who = _asked(design, more, rng)
        found = items[:, None] + more.above - less + effects[who] + chance * rng.normal(size=who.shape)
        labels.append(1 + np.searchsorted(BOUNDS, found))
        people.append(who + group * design.people)
    return np.hstack(labels), np.hstack(people), items


def _asked(design: Design, more: More, rng: np.random.Generator) -> Ints:
    """Three people for each item, (items, 3)."""
    order = rng.random((design.items, design.people))
    order[:, :1] -= more.busy
    return np.argsort(order, axis=1)[:, :EACH]


def intervals(labels: Ints, who: Ints, *, identified: bool, **method: Any) -> Study:
    """Those of agreement, of the first group and between the two, with their estimates. `method`:
    `resamples` and `rng`, or `clustered`."""
    made = {}
    for level, kept, table, second in _read(labels, who, identified):
        within = coefficients.within(table.of(~second), kept, level=level, **method)
        between = coefficients.between(table, second, kept, level=level, **method)
        made |= {f"alpha, {level}": within.alpha, f"between, {level}": between.kappa}
        if level == "nominal":
            made |= {"percentage": within.share, "kappa": within.fleiss_kappa}
            made["percentage between"] = between.share
    return {name: [Estimate(each.value, each.interval)] for name, each in made.items()}


def differences(labels: Ints, who: Ints, *, identified: bool, **method: Any) -> Study:
    """Those of agreement within the first group less that within the second, with p."""
    made = {}
    for level, kept, table, second in _read(labels, who, identified):
        sides = [rated_pairs.within(table.of(side)) for side in (~second, second)]
        apart = agreement_differences.agreement_difference(*sides, kept, level=level, **method)
        made[f"difference of alpha, {level}"] = apart.alpha
        if level == "nominal":
            made["difference of percentage"] = apart.share
    return {name: [Estimate(each.value, each.interval, each.p)] for name, each in made.items()}


def _read(
    labels: Ints, who: Ints, identified: bool
) -> Iterator[tuple[coincidences.Level, list[int], Ratings, Bools]]:
    """Each level with the labels that count, the ratings, and which are of the second group."""
    units = np.repeat(np.arange(len(labels)), labels.shape[1])
    second = np.tile(np.arange(labels.shape[1]) >= EACH, len(labels))
    raters = who.ravel() if identified else np.full(who.size, UNKNOWN_ANNOTATOR)
    counts = np.eye(len(stats.SCALE), dtype=np.int64)[labels.ravel() - 1]
    for level, kept in READINGS:
        yield level, kept.tolist(), Ratings(counts[:, kept - 1], units, units, raters), second


def measured(
    plan: tuple[Design, More],
    *,
    studies: int,
    resamples: int,
    method: str,
    apart: Mapping[str, More] = APART,
    population: int = 200_000,
    seed: int = 0,
) -> Table:
    """Of all scores of agreement, and of the differences of two groups that are as in the design or `apart`;
    the truth of boxes is that of a population of so many images."""
    design, more = plan

    def drawn(more: More) -> Iterator[tuple[Ints, Ints, Floats, np.random.Generator, dict[str, Any]]]:
        for rng in np.random.default_rng([seed, design.items, design.people]).spawn(studies):
            way = {"clustered": True} if method == "clustered" else {"resamples": resamples, "rng": rng}
            yield *study(design, rng, more), rng, way

    def one_by_one() -> Iterator[Study]:
        for labels, who, items, rng, way in drawn(more):
            known = {"identified": design.identified}
            found = {**intervals(labels, who, **known, **way), **differences(labels, who, **known, **way)}
            iou = coefficients.mean_over_pairs(cells_of_boxes(design, _asked(design, more, rng), rng), **way)
            found["box IoU"] = [Estimate(iou.value, iou.interval)]
            labels, who = labels[:, :EACH], who[:, :EACH]
            if not design.identified:
                who = -1 - np.arange(who.size).reshape(who.shape)
            found |= of_rules(labels, who, **way)
            score = labelled(items[0] + more.above, sqrt(design.of_people**2 + 1)) @ stats.SCALE
            yield found | {ONE: [of_one(labels, who, float(score), **way)]}

    true = {**truth(design, more), **truth_of_rules(design, more.above), ONE: 0.0}
    true["box IoU"] = truth_of_boxes(design.of_items, design.of_people, population)
    found = coverage_tables.summaries(true, one_by_one())
    for about, other in apart.items():
        of_pair = More(other.less, other.chance, above=more.above, busy=more.busy)
        each = coverage_tables.summaries(
            truth(design, of_pair),
            (
                differences(labels, who, identified=design.identified, **way)
                for labels, who, _, _, way in drawn(of_pair)
            ),
        )
        found |= {f"{name}, {about}": row for name, row in each.items()}
    return found


def coverage(
    design: Design, *, studies: int, resamples: int, population: int = 200_000, seed: int = 0
) -> dict[str, float]:
    """Score -> share of simulated studies whose bootstrap interval holds the truth."""
    size = {"studies": studies, "resamples": resamples, "population": population, "seed": seed}
    return coverage_tables.shares(measured((design, PLAIN), method="bootstrap", apart={}, **size))


def main() -> None:
    coverage_tables.run(__doc__, measured, over=DESIGNS, results="coverage-agreement.json")


if __name__ == "__main__":
    main()
