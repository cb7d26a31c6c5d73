"""Simulated studies of boxes, for benchmarks/coverage_agreement.py.

Two attributes of each image are boxed by its three people. A corner is where it is for everybody, plus what
is unclear about the image, plus the person's own way of drawing, plus chance; one in five draws another box
beside. The truth is the mean of a very large simulated population of pairs of people who drew one image.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.simulated_shares import Design
from metrics.agreement.stats import boxes as box_agreement
from metrics.agreement.stats.rated_pairs import Cells
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Floats, Ints


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
    return float(box_agreement.box_agreement(*boxed(unclear, ways, rng)).values.mean())


def cells_of_boxes(design: Design, who: Ints, rng: np.random.Generator) -> Cells:
    """The pairs of people of one study and how well their boxes match, as in
    metrics/agreement/scores/subjects.py. `who` (I, people): who draws in each image."""
    ways = 2 * design.of_people * rng.normal(size=(design.people, 4))
    unclear = np.exp(0.5 * design.of_items * rng.normal(size=design.items))
    found = box_agreement.box_agreement(*boxed(unclear, ways[who], rng))
    raters = who.ravel() if design.identified else np.full(who.size, UNKNOWN_ANNOTATOR)
    sums = np.column_stack([found.values, np.ones(len(found.values))])
    return Cells(sums, found.items // 2, raters[found.first], raters[found.second])
