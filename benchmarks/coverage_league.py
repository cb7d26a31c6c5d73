"""How often the test that all models of a league are equal errs, and how often their places hold.

    python -m benchmarks.coverage_league --studies 400 --seed 1 [--designs "3 models, the same people" ...]

So many models, each with images of its own of five identity groups (benchmarks/simulated.py), are judged by
the same people or by others each: once all with the same chances of each attribute, once with logits of the
stereotypes from -1 to 1 beside them. Measured are, of the means of L(stereo) and of the logarithm of theta,
p below 5 % of the joint test (metrics/core/stats/joint.py), the share of leagues in which the places of all
models hold the true ones, which of equal models are all places, and the mean number of places of a model.

Written to benchmarks/results/coverage-league.json; docs/coverage.md has the table, of 400 leagues
a design.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.coverage import influences_of
from benchmarks.coverage_tables import Table, run
from benchmarks.simulated import Design
from metrics.core.stats import joint
from metrics.core.stats.checks import Floats
from metrics.core.stats.influence import Influences
from metrics.depiction.likelihood_influences import SumInfluences
from metrics.planning.simulation import STEREO, judged

APART = 1.0
GROUPS = 5
_WEIGHTS = np.column_stack([STEREO / STEREO.sum(), ~STEREO / (~STEREO).sum()])


@dataclass(frozen=True)
class Models:
    number: int
    design: Design
    same_people: bool = True


DESIGNS = {
    "2 models, the same people": Models(2, Design()),
    "3 models, the same people": Models(3, Design()),
    "6 models, the same people": Models(6, Design()),
    "3 models, people differ much": Models(3, Design(of_people=1.5)),
    "3 models, other people each": Models(3, Design(), same_people=False),
    "3 models, other people each, who differ much": Models(3, Design(of_people=1.5), same_people=False),
    "3 models, people not identified": Models(3, Design(identified=False)),
    "3 models, 5 images of a group": Models(3, Design(images=5)),
}
SCORES = ("l_stereo", "theta")


Scores = dict[str, tuple[Floats, list[Influences]]]
"""By score: the values of all models or studies, and the influences on them."""


def scores(models: Models, shifts: Floats, rng: np.random.Generator) -> Scores:
    """Of each score the values of all models, and the influences on them; `shifts` (M,) in logits."""
    design = models.design
    people = design.of_people * rng.normal(size=design.people)
    values: dict[str, list[float]] = {name: [] for name in SCORES}
    found: dict[str, list[Influences]] = {name: [] for name in SCORES}
    for model, shift in enumerate(shifts.tolist()):
        if not models.same_people:
            people = design.of_people * rng.normal(size=design.people)
        means, parts = np.zeros(2), []
        for group in range(GROUPS):
            seen = design.logits + shift * STEREO
            side = judged(
                design,
                rng,
                seen + design.of_images * rng.normal(size=(design.images, len(seen))),
                people=people,
                first_image=1000 * (model * GROUPS + group),
                first_person=0 if models.same_people else 1000 * model,
            )
            means += (side.k.sum(axis=0) / side.n.sum(axis=0)) @ _WEIGHTS / GROUPS
            parts.append((influences_of(side), _WEIGHTS / GROUPS))
        together = SumInfluences(tuple(parts))
        values["l_stereo"].append(float(means[0]))
        found["l_stereo"].append(together.of([[1.0], [0.0]]))
        values["theta"].append(float(np.log(means[0] / means[1])))
        found["theta"].append(together.of([[1 / means[0]], [-1 / means[1]]]))
    return {name: (np.array(values[name]), found[name]) for name in SCORES}


def measured(models: Models, *, studies: int, seed: int = 0, **_: Any) -> Table:
    """Of equal models, and of models apart."""
    return leagues(partial(scores, models), models.number, apart=APART, studies=studies, seed=seed)


def leagues(
    scores: Callable[[Floats, np.random.Generator], Scores],
    number: int,
    *,
    apart: float,
    studies: int,
    seed: int,
) -> Table:
    """What is measured of so many leagues of equal models or studies, and of ones that are up to `apart` from
    0; `scores` simulates one league of `number` of them with given shifts."""
    found: Table = {}
    for name, shifts in (("all equal", np.zeros(number)), ("apart", np.linspace(-apart, apart, number))):
        first, last = (np.arange(number, 0, -1),) * 2 if shifts.any() else (1, number)
        p: dict[str, list[float]] = {}
        held: dict[str, list[bool]] = {}
        size: dict[str, list[float]] = {}
        for rng in np.random.default_rng([seed, number]).spawn(studies):
            for score, (values, influences) in scores(shifts, rng).items():
                p.setdefault(score, []).append(joint.equal_p(values, influences))
                places = joint.places(values, influences)
                holds = bool(((places.low <= first) & (last <= places.high)).all())
                held.setdefault(score, []).append(holds)
                size.setdefault(score, []).append(float((places.high - places.low + 1).mean()))
        for score, each in p.items():
            found[f"{score}, {name}"] = {
                "coverage": float(np.mean(held[score])),
                "places": float(np.mean(size[score])),
                "found": float(np.mean(np.array(each) < 0.05)),
            }
    return found


def main() -> None:
    run(__doc__, measured, over=DESIGNS, results="coverage-league.json", methods=["clustered"])


if __name__ == "__main__":
    main()
