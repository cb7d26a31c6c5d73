"""Simulated studies in which people answer a random part, and a judge everything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.core.stats.scales import SHARE
from metrics.machine_judges.stats.prediction_powered import Estimate
from metrics.machine_judges.stats.weighted_means import weighted_mean

_PEOPLE, _OVERLAP = 30, 3


@dataclass(frozen=True)
class Partly:
    """`level`, the logit of an answer; the standard deviations of images and of people, in logits. The judge
    sees the image's logit times `skill`, moved by `bias`."""

    level: float = -1.5
    of_images: float = 1.5
    of_people: float = 0.5
    skill: float = 1.0
    bias: float = 0.0
    labelled: int = 60
    unlabelled: int = 600

    @property
    def truth(self) -> float:
        """The mean answer over images and people."""
        points, weights = np.polynomial.hermite_e.hermegauss(80)
        both = self.level + np.hypot(self.of_images, self.of_people) * points
        return float((weights / weights.sum()) @ (1 / (1 + np.exp(-both))))


def mean_estimate(values, items, annotators, scale) -> Estimate:
    """The mean of answers, all alike."""
    return Estimate(*weighted_mean(values, np.ones(len(values)), items, annotators, scale))


def estimates(design: Partly, rng: np.random.Generator) -> tuple[Estimate, Estimate, Estimate]:
    """People's of the part, the judge's of the part and of the rest."""
    images = design.labelled + design.unlabelled
    logits = design.level + design.of_images * rng.normal(size=images)
    seen = design.level + design.bias + design.skill * (logits - design.level)
    judged = rng.random(images) < 1 / (1 + np.exp(-seen))
    who = np.concatenate([rng.permutation(_PEOPLE)[:_OVERLAP] for _ in range(design.labelled)])
    about = np.repeat(np.arange(design.labelled), _OVERLAP)
    effects = design.of_people * rng.normal(size=_PEOPLE)
    answers = rng.random(len(who)) < 1 / (1 + np.exp(-(logits[about] + effects[who])))
    part, rest = np.split(np.arange(images), [design.labelled])
    return (
        mean_estimate(answers, about, who, SHARE),
        mean_estimate(judged[part], part, np.full(len(part), -1), SHARE),
        mean_estimate(judged[rest], rest, np.full(len(rest), -1), SHARE),
    )
