"""How often the 95 % intervals of agreement contain the true value, in simulated studies of a five-point
scale.

    python -m benchmarks.coverage_agreement [--studies 400] [--resamples 300] [--intervals clustered]

Items and people are those of benchmarks/coverage_shares.py. What somebody finds of an item is the item's
own, normal, plus a normal effect of the person, plus chance (1); four bounds cut it into five labels, of
which the middle one is Unsure, missing where the scale is read as ordinal or interval. Two groups of people
answer, three of each an item, the second of whom find less throughout. The truth is that of all items and
all people there could be: given the item the labels have normal probabilities, and over items it is
Gauss-Hermite quadrature.

Boxes: two attributes of each image are boxed by its three people. A corner is where it is for everybody,
plus what is unclear about the image, plus the person's own way of drawing, plus chance; one in five draws
another box beside. The truth is the mean of a very large simulated population of pairs of people who drew
one image.

Differences are also those of two groups who are the same, where whatever is found is false, and of a second
group with more chance in it, who agree less.

Written to benchmarks/results/coverage-agreement.json; docs/statistics.md has the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
from scipy import special

from benchmarks import coverage_shares, interval_methods
from benchmarks.coverage_shares import EACH, Design
from benchmarks.interval_methods import Found
from metrics.agreement.stats import boxes, coefficients, coincidences, rated_pairs
from metrics.agreement.stats import differences as agreement_differences
from metrics.agreement.stats.rated_pairs import Cells, Ratings
from metrics.core.stats import means, passing_shares, percentiles
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Bools, Floats, Ints
from metrics.core.stats.percentiles import Interval
from metrics.visual_nature import stats

BOUNDS = np.array([-1.2, -0.3, 0.2, 1.0])
LESS = 0.6  # by how much the second group finds less
SURE = np.array([1, 2, 4, 5])  # the labels without Unsure
READINGS: tuple[tuple[coincidences.Level, Ints], ...] = (
    ("nominal", np.array(stats.SCALE)),
    ("ordinal", SURE),
    ("interval", SURE),
)
AT_LEAST = 3.5  # of the rule by mean score
ONE = "mean score of one item"


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
DESIGNS: dict[str, tuple[Design, More]] = {
    **{name: (design, PLAIN) for name, design in coverage_shares.DESIGNS.items()},
    "5 people": (Design(people=5), PLAIN),
    "5 items": (Design(items=5), PLAIN),
    "one person rates every item": (Design(), More(busy=True)),
    "2 % do not say the lowest label": (Design(), More(above=-4.3, less=0.0)),
}


def labelled(items: Floats, spread: float) -> Floats:
    """The chance of each label, shape (..., 5), where `items` (...) is what the item has of its own and
    `spread` the standard deviation of everything else."""
    below = special.ndtr((BOUNDS - items[..., None]) / spread)
    return np.diff(below, axis=-1, prepend=0.0, append=1.0)


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


def truth_of_rules(design: Design) -> dict[str, float]:
    """The share of items on which two of three people say Agree, and whose mean score is AT_LEAST or more."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(101)
    mass = mass / mass.sum()
    chances = labelled(design.of_items * nodes, sqrt(design.of_people**2 + 1))
    agree = chances[:, 3]
    three = np.einsum("ia,ib,ic->iabc", chances, chances, chances)
    scores = np.array(stats.SCALE)
    total = scores[:, None, None] + scores[:, None] + scores
    return {
        "consensus": float(mass @ (3 * agree**2 * (1 - agree) + agree**3)),
        "by mean score": float(mass @ three[:, total >= EACH * AT_LEAST].sum(axis=1)),
    }


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


def intervals(labels: Ints, who: Ints, *, identified: bool, **method: Any) -> interval_methods.Study:
    """Those of agreement, of the first group and between the two, with their estimates. `method`:
    `resamples` and `rng`, or `clustered`."""
    for level, kept, table, second in _read(labels, who, identified):
        within = coefficients.within(table.of(~second), kept, level=level, **method)
        between = coefficients.between(table, second, kept, level=level, **method)
        found = {f"alpha, {level}": within.alpha, f"between, {level}": between.kappa}
        if level == "nominal":
            found |= {"percentage": within.share, "kappa": within.fleiss_kappa}
            found["percentage between"] = between.share
        for name, each in found.items():
            yield name, each.value, each.interval, float("nan")


def differences(labels: Ints, who: Ints, *, identified: bool, **method: Any) -> interval_methods.Study:
    """Those of agreement within the first group less that within the second, with p."""
    for level, kept, table, second in _read(labels, who, identified):
        sides = [rated_pairs.within(table.of(side)) for side in (~second, second)]
        apart = agreement_differences.agreement_difference(*sides, kept, level=level, **method)
        yield f"difference of alpha, {level}", apart.alpha.value, apart.alpha.interval, apart.alpha.p
        if level == "nominal":
            yield "difference of percentage", apart.share.value, apart.share.interval, apart.share.p


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


def intervals_of_rules(
    labels: Ints, who: Ints, *, resamples: int, rng: np.random.Generator
) -> dict[str, Interval]:
    """Those of `truth_of_rules`, from the labels of the first group."""
    items = len(labels)
    shares = passing_shares.resampled_shares(
        np.repeat(np.arange(items), EACH),
        labels.ravel() - 1,
        who.ravel(),
        items=np.arange(items),
        number=len(stats.SCALE),
        rule=_rules,
        resamples=resamples,
        rng=rng,
    )
    table = passing_shares.count_labels(
        np.repeat(np.arange(items), EACH), labels.ravel() - 1, shape=(items, 5)
    )
    estimates = _rules(table)[0].mean(axis=0)
    return dict(
        zip(("consensus", "by mean score"), percentiles.percentile_intervals(shares, estimates), strict=True)
    )


def _rules(table: Ints) -> tuple[Bools, Bools]:
    passed = np.column_stack([table[:, 3] >= 2, stats.is_visual_by_mean(table, at_least=AT_LEAST)])
    return passed, np.repeat(table.sum(axis=1)[:, None] > 0, passed.shape[1], axis=1)


def interval_of_one(labels: Ints, who: Ints, *, resamples: int, rng: np.random.Generator) -> Interval:
    """That of the mean score of a single item: its people are drawn."""
    everything = np.ones((len(labels), 1), dtype=np.bool_)
    drawn = means.resampled_means(
        labels.astype(np.float64), everything, np.zeros(len(labels)), who, resamples=resamples, rng=rng
    )
    return percentiles.percentile_intervals(drawn, [labels.mean()])[0]


def boxed(unclear: Floats, ways: Floats, rng: np.random.Generator) -> tuple[Ints, Ints, Floats]:
    """The boxes that people draw of two attributes of each image: of which item and by which response, both
    from 0, (N,), and their corners in pixels (N, 4). `unclear` (I,), `ways` (I, people, 4)."""
    images, people = ways.shape[:2]
    left, size = rng.uniform(60, 260, (images, 2, 1, 2)), rng.uniform(80, 200, (images, 2, 1, 2))
    exact = np.concatenate([left, left + size], axis=-1)
    chance = rng.normal(size=(images, 2, people, 4)) * unclear[:, None, None, None]
    corners = exact + 6 * (ways[:, None] + chance)
    corners[..., 2:] = np.maximum(corners[..., 2:], corners[..., :2] + 1)
    item, response = np.meshgrid(np.arange(2 * images), np.arange(people), indexing="ij")
    response = response + (item // 2) * people
    more = rng.random(item.shape) < 0.2
    beside = corners.reshape(*item.shape, 4)[more] + 120
    return (
        np.concatenate([item.ravel(), item[more]]),
        np.concatenate([response.ravel(), response[more]]),
        np.concatenate([corners.reshape(-1, 4), beside]),
    )


@cache
def truth_of_boxes(of_items: float, of_people: float, images: int) -> float:
    """The mean best-match IoU of two people who meet at no other image, in a population of that size."""
    rng = np.random.default_rng(images)
    unclear = np.exp(0.5 * of_items * rng.normal(size=images))
    ways = 2 * of_people * rng.normal(size=(images, 2, 4))
    return float(boxes.box_agreement(*boxed(unclear, ways, rng)).values.mean())


def cells_of_boxes(design: Design, rng: np.random.Generator, more: More = PLAIN) -> Cells:
    """The pairs of people of one study and how well their boxes match, as in
    metrics/agreement/scores/subjects.py."""
    who = _asked(design, more, rng)
    ways = 2 * design.of_people * rng.normal(size=(design.people, 4))
    unclear = np.exp(0.5 * design.of_items * rng.normal(size=design.items))
    found = boxes.box_agreement(*boxed(unclear, ways[who], rng))
    raters = who.ravel() if design.identified else np.full(who.size, UNKNOWN_ANNOTATOR)
    sums = np.column_stack([found.values, np.ones(len(found.values))])
    return Cells(sums, found.items // 2, raters[found.first], raters[found.second])


def coverage(
    design: Design, *, studies: int, resamples: int, population: int = 200_000, seed: int = 0
) -> dict[str, float]:
    """The share of simulated studies whose bootstrap interval holds the truth, of each score; that of boxes
    is of a population of so many images."""
    true = truth(design)
    true["box IoU"] = truth_of_boxes(design.of_items, design.of_people, population)
    true |= truth_of_rules(design)
    held = dict.fromkeys((*true, ONE), 0)
    for rng in np.random.default_rng([seed, design.items, design.people]).spawn(studies):
        labels, who, items = study(design, rng)
        draw: dict[str, Any] = {"resamples": resamples, "rng": rng}
        made = [
            *intervals(labels, who, identified=design.identified, **draw),
            *differences(labels, who, identified=design.identified, **draw),
        ]
        found = {name: interval for name, _, interval, _ in made if interval is not None}
        iou = coefficients.mean_over_pairs(cells_of_boxes(design, rng), **draw).interval
        assert iou is not None
        found["box IoU"] = iou
        labels, who = labels[:, :EACH], who[:, :EACH]
        if not design.identified:
            who = np.arange(who.size).reshape(who.shape)
        found |= intervals_of_rules(labels, who, **draw)
        # the truth of a single item is its own
        found[ONE] = interval_of_one(labels[0], who[0], **draw)
        score = labelled(items[0], sqrt(design.of_people**2 + 1)) @ stats.SCALE
        for name, each in found.items():
            held[name] += each.low <= (score if name == ONE else true[name]) <= each.high
    return {name: number / studies for name, number in held.items()}


def measured(
    plan: tuple[Design, More],
    *,
    studies: int,
    resamples: int,
    clustered: bool,
    population: int = 200_000,
    seed: int = 0,
) -> Found:
    """Of all scores of agreement, and of the differences of several pairs of groups."""
    design, more = plan
    method: dict[str, Any] = {"clustered": True} if clustered else {"resamples": resamples}

    def drawn(more: More) -> Iterator[tuple[Ints, Ints, np.random.Generator, dict[str, Any]]]:
        for rng in np.random.default_rng([seed, design.items, design.people]).spawn(studies):
            labels, who, _ = study(design, rng, more)
            draw = {"identified": design.identified, **method} | ({} if clustered else {"rng": rng})
            yield labels, who, rng, draw

    def one_by_one() -> Iterator[interval_methods.Study]:
        for labels, who, rng, draw in drawn(more):
            yield intervals(labels, who, **draw)
            del draw["identified"]
            iou = coefficients.mean_over_pairs(cells_of_boxes(design, rng, more), **draw)
            yield iter([("box IoU", iou.value, iou.interval, float("nan"))])

    true = {**truth(design, more), "box IoU": truth_of_boxes(design.of_items, design.of_people, population)}
    found = interval_methods.summaries(true, one_by_one())
    for about, other in (("the same", SAME), ("who agree less", AGREE_LESS)):
        apart = More(other.less, other.chance, above=more.above, busy=more.busy)
        of_pairs = (differences(labels, who, **draw) for labels, who, _, draw in drawn(apart))
        each = interval_methods.summaries(truth(design, apart), of_pairs)
        found |= {f"{name}, {about}": row for name, row in each.items()}
    return found


def main() -> None:
    interval_methods.compare(__doc__, measured, over=DESIGNS, results="coverage-agreement.json")


if __name__ == "__main__":
    main()
