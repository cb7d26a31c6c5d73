"""How often the test that all groups are equal errs, and how often places hold those of all groups.

    python -m benchmarks.coverage_ranks [--studies 1000] [--designs "5 groups, as ViSAGe" ...]

So many identity groups, each with images of its own, are judged by the same people (benchmarks/simulated.py):
once all with the same chances of each attribute, once with logits from -1 to 1 beside them. Measured are p
below 5 % of the joint test (metrics/core/stats/joint.py), the share of studies in which the places of all
groups hold the true ones, which of equal groups are all places, and the mean number of places of a group.

Written to benchmarks/results/coverage-ranks.json; docs/coverage.md has the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.coverage import influences_of
from benchmarks.coverage_tables import Table, run
from benchmarks.simulated import Design
from metrics.core.stats import joint
from metrics.core.stats.checks import Floats
from metrics.core.stats.influence import Influences
from metrics.planning.simulation import STEREO, study

APART = 1.0
_STEREO = (STEREO / STEREO.sum())[:, None]


@dataclass(frozen=True)
class Groups:
    number: int
    design: Design


_OF_FEW = {
    "as ViSAGe": Design(),
    "60 images, 30 people": Design(images=60, people=30),
    "people differ much": Design(of_people=1.5),
    "people not identified": Design(identified=False),
    "5 people": Design(people=5),
    "5 images": Design(images=5),
    "half of all answers by one person": Design(overlap=2, dominant=True),
    "one answer an image": Design(overlap=1),
}
_OF_MANY = ("as ViSAGe", "60 images, 30 people", "people differ much", "5 people")
DESIGNS = {
    f"{number} groups, {name}": Groups(number, design)
    for number in (5, 20, 100)
    for name, design in _OF_FEW.items()
    if number < 100 or name in _OF_MANY
}


def scores(
    groups: Groups, shifts: Floats, rng: np.random.Generator, people: Floats
) -> tuple[Floats, list[Influences]]:
    """l_stereo of each group, and the influences on it; `shifts` (G,) in logits."""
    values, found = [], []
    for number, shift in enumerate(shifts.tolist()):
        logits = groups.design.logits + shift
        side = study(groups.design, rng, people=people, logits=logits, first_image=1000 * number)
        values.append((side.k.sum(axis=0) / side.n.sum(axis=0))[STEREO].mean())
        found.append(influences_of(side).of(_STEREO))
    return np.array(values), found


def measured(groups: Groups, *, studies: int, seed: int = 0, **_: Any) -> Table:
    """Of equal groups, and of groups apart."""
    number, found = groups.number, {}
    for name, shifts in (("all equal", np.zeros(number)), ("apart", np.linspace(-APART, APART, number))):
        p, held, size = [], [], []
        for rng in np.random.default_rng([seed, number]).spawn(studies):
            people = groups.design.of_people * rng.normal(size=groups.design.people)
            values, influences = scores(groups, shifts, rng, people)
            p.append(joint.equal_p(values, influences))
            places = joint.places(values, influences)
            # equal groups have every place
            first, last = (np.arange(number, 0, -1),) * 2 if shifts.any() else (1, number)
            held.append(((places.low <= first) & (last <= places.high)).all())
            size.append((places.high - places.low + 1).mean())
        found[name] = {
            "coverage": float(np.mean(held)),
            "places": float(np.mean(size)),
            "found": float(np.mean(np.array(p) < 0.05)),
        }
    return found


def main() -> None:
    run(__doc__, measured, over=DESIGNS, results="coverage-ranks.json", methods=["clustered"])


if __name__ == "__main__":
    main()
