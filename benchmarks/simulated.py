"""Simulated studies of depictions, in which the truth is known.

Whether an annotator selects an attribute of an image is a coin whose logit is the attribute's own, plus a
normal effect of the image (for that attribute) and of the annotator. The truth is over all images and
annotators there could be, by Gauss-Hermite quadrature. A simulated study is one identity group, with six
stereotypical attributes and six others; the two models that are compared have images of their own and are
judged by the same people. Under the null both are the same in every group: whatever is found is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metrics.core.stats.checks import Floats
from metrics.core.stats.differences import AnswerSet

STEREO = np.arange(12) < 6
LOGITS = np.array([-1.5, -1.0, -0.5, -1.5, -1.0, -0.5, -2.0, -2.5, -1.5, -2.0, -2.5, -1.5])
RATINGS = np.array([1.0, 2.0, -1.0, 3.0, 0.0, 1.0])
SHIFT = 0.5  # by how much the second model's stereotypes are less likely, in logits


@dataclass(frozen=True)
class Design:
    """So many images, each judged by `overlap` of `people`; standard deviations of the effects in logits.
    `rare`: the logit of all attributes, which is otherwise that of LOGITS. `dominant`: the first person
    judges every image, beside others."""

    images: int = 15
    people: int = 12
    overlap: int = 3
    of_images: float = 1.0
    of_people: float = 0.5
    identified: bool = True
    rare: float | None = None
    dominant: bool = False

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
    logits = design.logits if logits is None else logits
    nodes, mass = np.polynomial.hermite_e.hermegauss(41)
    mass = mass / mass.sum()
    # given the image, over people; then over images
    logit = logits[:, None, None] + design.of_images * nodes[:, None] + design.of_people * nodes
    given = (1 / (1 + np.exp(-logit))) @ mass
    chosen = given @ mass
    apart = (2 * given * (1 - given)) @ mass
    mean = chosen.mean()
    stereo, random = chosen[STEREO].mean(), chosen[~STEREO].mean()
    return {
        "l_stereo": stereo,
        "l_random": random,
        "theta": stereo / random,
        "o": stereo * RATINGS.mean(),
        "percentage": 1 - apart.mean(),
        # of endless ratings alpha and kappa are the same number
        **dict.fromkeys(("alpha", "kappa"), 1 - apart.mean() / (2 * mean * (1 - mean))),
    }


def study(
    design: Design,
    rng: np.random.Generator,
    *,
    people: Floats,
    logits: Floats | None = None,
    first_image: int = 0,
) -> AnswerSet:
    """The answers of one simulated study: `people` are the effects of those who judge."""
    logits = design.logits if logits is None else logits
    of_images = design.of_images * rng.normal(size=(design.images, len(logits)))
    return judged(design, rng, logits + of_images, people=people, first_image=first_image)


def judged(
    design: Design,
    rng: np.random.Generator,
    seen: Floats,
    *,
    people: Floats,
    first_image: int = 0,
    first_person: int = 0,
) -> AnswerSet:
    """What `people` answer of images of which an attribute is `seen` (I, A) by so many logits."""
    attributes = seen.shape[1]
    fixed = int(design.dominant)
    who = np.zeros((design.images, design.overlap), dtype=np.int64)
    for row in who:
        row[fixed:] = fixed + rng.permutation(len(people) - fixed)[: design.overlap - fixed]
    logit = seen[:, None, :] + people[who][:, :, None]
    chosen = (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).reshape(-1, attributes).astype(np.int64)
    images = first_image + np.repeat(np.arange(design.images), design.overlap)
    nobody = -1 - first_image - first_person - np.arange(len(chosen))
    annotators = first_person + who.ravel() if design.identified else nobody
    return AnswerSet(chosen, np.ones_like(chosen), np.arange(len(chosen)), images, annotators)


def pairs(
    design: Design, number: int, *, shift: float, seed: int
) -> Iterator[tuple[AnswerSet, AnswerSet, np.random.Generator]]:
    """So many pairs of studies, one of each model, judged by the same people."""
    lower = design.logits - shift * STEREO
    for rng in np.random.default_rng([seed, design.images, design.people]).spawn(number):
        people = design.of_people * rng.normal(size=design.people)
        first = study(design, rng, people=people)
        yield first, study(design, rng, people=people, logits=lower, first_image=1000), rng
