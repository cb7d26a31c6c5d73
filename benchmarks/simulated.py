"""The designs of simulated studies of depictions, in which the truth is known.

The studies are those that a plan is made with (metrics/planning/simulation.py). A simulated study is one
identity group, with six stereotypical attributes and six others; the two models that are compared have images
of their own and are judged by the same people. Under the null both are the same in every group: whatever is
found is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metrics.core.stats.checks import Floats
from metrics.core.stats.differences import AnswerSet
from metrics.planning import simulation
from metrics.planning.simulation import LOGITS, STEREO, study

RATINGS = np.array([1.0, 2.0, -1.0, 3.0, 0.0, 1.0])
SHIFT = 0.5  # by how much the second model's stereotypes are less likely, in logits


@dataclass(frozen=True)
class Design(simulation.Design):
    """`rare`: the logit of all attributes, which is otherwise that of LOGITS."""

    rare: float | None = None

    @property
    def logits(self) -> Floats:
        return LOGITS if self.rare is None else np.full(len(LOGITS), self.rare)


DESIGNS = {
    "as ViSAGe: 15 images, 12 people": Design(),
    "60 images, 30 people": Design(images=60, people=30),
    "people differ much": Design(of_people=1.5),
    "neither images nor people differ": Design(of_images=0.0, of_people=0.0),
    "people not identified": Design(identified=False),
    "people not identified, differ much": Design(identified=False, of_people=1.5),
    "attributes at 2 %": Design(rare=-4.5),
    "5 people": Design(people=5),
    "5 images": Design(images=5),
    "half of all answers by one person": Design(overlap=2, dominant=True),
    "one answer an image": Design(overlap=1),
}


def truth(design: Design, logits: Floats | None = None) -> dict[str, float]:
    """The true values under `design`, of attributes with its logits or with others."""
    found = simulation.truth(design, design.logits if logits is None else logits)
    return found | {"o": found["l_stereo"] * float(RATINGS.mean())}


def pairs(
    design: Design, number: int, *, shift: float, seed: int
) -> Iterator[tuple[AnswerSet, AnswerSet, np.random.Generator]]:
    """So many pairs of studies, one of each model, judged by the same people."""
    logits, lower = design.logits, design.logits - shift * STEREO
    for rng in np.random.default_rng([seed, design.images, design.people]).spawn(number):
        people = design.of_people * rng.normal(size=design.people)
        first = study(design, rng, people=people, logits=logits)
        yield first, study(design, rng, people=people, logits=lower, first_image=1000), rng
