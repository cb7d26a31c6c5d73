"""How wide intervals would be if answers came from few people who differ, where people are not identified
(PROTOCOL §10, §13)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Floats
from metrics.core.stats.influence import Clusters, Influences


def annotator_variances(shares: ArrayLike, influences: Influences) -> Floats:
    r"""The variance between annotators of each of `shares` (M,), on the logit scale:
    :math:`s / (p (1 - p))^2` with s of `Influences.annotator_variances`.

    By chance it can be negative. NaN for a share of 0 or 1, and if no identified annotator answered about two
    images.
    """
    p = np.asarray(shares, dtype=np.float64)
    slope = p * (1 - p)
    return np.asarray(
        np.divide(influences.annotator_variances, slope**2, out=np.full(p.shape, np.nan), where=slope > 1e-9)
    )


def with_annotators(
    shares: ArrayLike, influences: Influences, *, deviation: float, people: int
) -> Influences:
    r"""The influences on `shares` (M,) if the answers came from so many `people`, each of whom judged images
    drawn at random, and whose logits of a share have the standard deviation `deviation`.

    .. math:: V = V_I + \sigma^2 (p (1 - p))^2 / J

    That images were judged by different people is in their variance already. The degrees of freedom are those
    with J annotators, and at most those of the images alone: intervals never become narrower. Nobody is
    identified before.

    Examples
    --------
    >>> from metrics.core.stats.influence import influences
    >>> found = influences([[-0.1], [0.1]] * 6, images=np.arange(12), annotators=[-1] * 12)
    >>> wider = with_annotators([0.5], found, deviation=1.0, people=4)
    >>> (wider.standard_errors()[0] ** 2 - found.standard_errors()[0] ** 2).round(6).tolist()
    [0.015625]
    """
    p = np.asarray(shares, dtype=np.float64)
    _, of_images = influences.standard_errors()
    size = np.full(people, 1 / people)
    effect = size[:, None] * (deviation * p * (1 - p))
    return replace(
        influences,
        annotators=Clusters(np.arange(people), size, effect),
        answers=np.zeros(effect.shape),
        answer_mass=np.zeros(people),
        most_freedom=float(of_images.min()),
    )
