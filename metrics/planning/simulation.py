"""Simulated studies about what images depict (PROTOCOL §17). Pure: no Django.

Whether an annotator selects an attribute of an image is a coin whose logit is the attribute's own, plus
normal effects of the image for that attribute, of the image for all attributes, and of the annotator. The
truth is over all images and annotators there could be, by Gauss-Hermite quadrature. The benchmarks of
coverage test the intervals with the same studies (docs/statistics.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Bools, Floats
from metrics.core.stats.differences import AnswerSet

STEREO = np.arange(12) < 6
LOGITS = np.array([-1.5, -1.0, -0.5, -1.5, -1.0, -0.5, -2.0, -2.5, -1.5, -2.0, -2.5, -1.5])
"""Six stereotypical attributes and six others: those of the benchmarks."""
LARGEST = 12.0
"""No standard deviation or shift in logits that is searched for is larger."""
_NODES = 41


@dataclass(frozen=True)
class Design:
    """So many images, each judged by `overlap` of `people`; standard deviations of the effects in logits.

    `of_images`: of an image on one attribute; `of_whole_images`: of an image on all its attributes.
    `dominant`: the first person judges every image, beside others."""

    images: int = 15
    people: int = 12
    overlap: int = 3
    of_images: float = 1.0
    of_people: float = 0.5
    identified: bool = True
    of_whole_images: float = 0.0
    dominant: bool = False

    @property
    def between_images(self) -> float:
        """The standard deviation of both effects of images together."""
        return float(np.hypot(self.of_images, self.of_whole_images))


def truth(design: Design, logits: Floats = LOGITS, *, stereotypical: Bools = STEREO) -> dict[str, float]:
    """The true l_stereo, l_random, theta, share of agreeing pairs, alpha and kappa under `design`, of
    attributes with `logits` (A,), of which some are `stereotypical` (A,)."""
    nodes, mass = _quadrature()
    # given the image, over people; then over images
    logit = logits[:, None, None] + design.between_images * nodes[:, None] + design.of_people * nodes
    given = expit(logit) @ mass
    chosen = given @ mass
    apart = (2 * given * (1 - given)) @ mass
    mean = chosen.mean()
    stereo, random = chosen[stereotypical].mean(), chosen[~stereotypical].mean()
    return {
        "l_stereo": stereo,
        "l_random": random,
        "theta": stereo / random,
        "percentage": 1 - apart.mean(),
        # of endless ratings alpha and kappa are the same number
        **dict.fromkeys(("alpha", "kappa"), 1 - apart.mean() / (2 * mean * (1 - mean))),
    }


def study(
    design: Design, rng: np.random.Generator, *, people: Floats, logits: Floats = LOGITS, first_image: int = 0
) -> AnswerSet:
    """The answers of one simulated study: `people` are the effects of those who judge."""
    seen = logits + design.of_images * rng.normal(size=(design.images, len(logits)))
    if design.of_whole_images:
        seen = seen + design.of_whole_images * rng.normal(size=(design.images, 1))
    return judged(design, rng, seen, people=people, first_image=first_image)


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
    others = np.tile(np.arange(fixed, len(people)), (design.images, 1))
    who = rng.permuted(others, axis=1)[:, : design.overlap - fixed]
    who = np.hstack([np.zeros((design.images, fixed), dtype=np.int64), who])
    logit = seen[:, None, :] + people[who][:, :, None]
    chosen = (rng.random(logit.shape) < expit(logit)).reshape(-1, attributes).astype(np.int64)
    images = first_image + np.repeat(np.arange(design.images), design.overlap)
    nobody = -1 - first_image - first_person - np.arange(len(chosen))
    annotators = first_person + who.ravel() if design.identified else nobody
    return AnswerSet(chosen, np.ones_like(chosen), np.arange(len(chosen)), images, annotators)


def logits_of(design: Design, share: float, number: int, *, apart: float = 0.0) -> Floats:
    """The logits of `number` attributes that are selected in a `share` of all answers, as a mean over them;
    their standard deviation is `apart`.

    Examples
    --------
    >>> logits_of(Design(of_images=0, of_people=0), 0.5, 2, apart=1.0).round(3).tolist()
    [-1.0, 1.0]
    """
    ranks = [NormalDist().inv_cdf((place + 0.5) / number) for place in range(number)]
    own = apart * np.asarray(ranks) / (np.std(ranks) if number > 1 else 1.0)
    total = float(np.hypot(design.between_images, design.of_people))
    shift = searched(lambda by: float(over(own + by, total).mean()), share, -4 * LARGEST, 4 * LARGEST)
    return np.asarray(own + shift)


def with_agreement(
    design: Design, alpha: float, *, shares: tuple[float, float], numbers: tuple[int, int], apart: float
) -> Design:
    """`design` with such effects of images on attributes that Krippendorff's alpha of a long study is
    `alpha`; `shares` and `numbers` of stereotypical and of other attributes. Raises ValueError if there are
    none."""
    stereo = np.arange(sum(numbers)) < numbers[0]

    def agreed(of_images: float) -> float:
        tried = replace(design, of_images=of_images)
        logits = [logits_of(tried, share, n, apart=apart) for share, n in zip(shares, numbers, strict=True)]
        return truth(tried, np.concatenate(logits), stereotypical=stereo)["alpha"]

    if not agreed(0.0) <= alpha <= agreed(LARGEST):
        raise ValueError(
            f"An alpha of {alpha:g} is not possible here: with these assumptions it is between "
            f"{agreed(0.0):.2f} and {agreed(LARGEST):.2f}. Change it, or how much annotators differ."
        )
    return replace(design, of_images=searched(agreed, alpha, 0.0, LARGEST, steps=20))


def over(logits: ArrayLike, sd: float) -> Floats:
    """The mean of a coin over normal effects of standard deviation `sd`, for each of `logits`, any shape."""
    nodes, mass = _quadrature()
    return np.asarray(expit(np.asarray(logits)[..., None] + sd * nodes) @ mass)


def variance_over(logits: Floats, sd: float, rest: float) -> Floats:
    """The covariances (A, A) over effects of standard deviation `sd`, of chances that are means over all
    other effects, of standard deviation `rest`."""
    nodes, mass = _quadrature()
    given = over(logits[:, None] + sd * nodes, rest)
    centred = given - (given @ mass)[:, None]
    return np.asarray((centred * mass) @ centred.T)


def searched(f: Callable[[float], float], value: float, low: float, high: float, *, steps: int = 40) -> float:
    """Where the increasing function `f` has this value; an end if it has it nowhere between."""
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) < value else (low, middle)
    return (low + high) / 2


def expit(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-logits)))


@cache
def _quadrature() -> tuple[Floats, Floats]:
    nodes, mass = np.polynomial.hermite_e.hermegauss(_NODES)
    return nodes, mass / mass.sum()
