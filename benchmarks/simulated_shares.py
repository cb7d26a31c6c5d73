"""Simulated studies of items that people rate, in which the truth is known.

An item (an attribute or an association) is rated by three of the people, the same twelve (or forty) for all
items or people whom nobody knows. Whether somebody agrees is a coin whose logit is the item's own, normal,
plus a normal effect of the person; how offensive they find it is the item's own, plus theirs, plus chance,
once as a number and once rounded to the scale of -1 to 4. The truth is that of all items and all people there
could be, by Gauss-Hermite quadrature; that of one item's rating is over all people.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import special

from metrics.core.stats import means
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.scales import Scale

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
