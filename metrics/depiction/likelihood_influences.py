"""Influences of answers on the likelihoods of one identity group, and on what is computed from them
(PROTOCOL §6, §10)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.influence import Influences, influences


@dataclass(frozen=True)
class LikelihoodInfluences:
    r"""The derivatives of the likelihoods of A attributes with respect to the weight of each answer,

    .. math:: d_{ra} = (k_{ra} - L_a n_{ra}) / N_a

    and 0 for an attribute that was never shown. Equal answers have the same: `derivatives` (P, A) has a row
    for each distinct answer, and `answers` (R,) the row of each response. `mass` (P,): the number of
    judgements of an answer; `step` (A,): 1 / N.
    """

    derivatives: Floats
    mass: Floats
    step: Floats
    answers: Ints
    images: Ints
    annotators: Ints

    def of(self, gradient: ArrayLike) -> Influences:
        """The influences on M scores, from their derivatives with respect to the likelihoods, `gradient`
        (A, M)."""
        by = np.asarray(gradient, dtype=np.float64)
        return influences(
            (self.derivatives @ by)[self.answers],
            images=self.images,
            annotators=self.annotators,
            mass=self.mass[self.answers],
            step=(np.abs(by) * self.step[:, None]).max(axis=0, initial=0.0),
        )

    def only(self, chosen: Bools) -> LikelihoodInfluences:
        """Of the `chosen` attributes (A,); the mass stays."""
        return replace(self, derivatives=self.derivatives[:, chosen], step=self.step[chosen])


def likelihood_influences(
    k: Ints, n: Ints, *, answers: Ints, images: Ints, annotators: Ints
) -> LikelihoodInfluences:
    """Of one group: `k` and `n` (P, A) have a row for each distinct answer, and `answers`, `images` and
    `annotators` (R,) an element for each response, as in `depiction.data.GroupFrame`.

    Examples
    --------
    >>> both = np.array([[1], [0]]), np.array([[1], [1]])
    >>> one = np.array([0, 1])
    >>> likelihood_influences(*both, answers=one, images=one, annotators=one).derivatives.tolist()
    [[0.25], [-0.25]]
    """
    times = np.bincount(answers, minlength=len(k))
    shown = times @ n
    step = np.divide(1.0, shown, out=np.zeros(len(shown)), where=shown > 0)
    likelihoods = (times @ k) * step
    return LikelihoodInfluences(
        derivatives=(k - likelihoods * n) * step,
        mass=n.sum(axis=1).astype(np.float64),
        step=step,
        answers=answers,
        images=images,
        annotators=annotators,
    )
