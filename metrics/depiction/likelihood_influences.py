"""Influences of answers on the likelihoods of one identity group, and on what is computed from them
(PROTOCOL §6, §10)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Bools, Floats, Ints
from metrics.core.stats.influence import Influences, influences, total


@dataclass(frozen=True)
class LikelihoodInfluences:
    r"""The derivatives of the likelihoods of A attributes with respect to the weight of each answer,

    .. math:: d_{ra} = (k_{ra} - L_a n_{ra}) / N_a

    and 0 for an attribute that was never shown. Equal answers have the same: `derivatives` (P, A) has a row
    for each distinct answer, and `answers` (R,) the row of each response. `selected` (P, A): whether an
    answer selects each attribute. `mass` (P,): the number of judgements of an answer; `step` (A,): 1 / N.
    """

    derivatives: Floats
    selected: Bools
    mass: Floats
    step: Floats
    answers: Ints
    images: Ints
    annotators: Ints

    def of(self, gradient: ArrayLike, *, beside: Floats | float = 0.0) -> Influences:
        """The influences on M scores, from their derivatives with respect to the likelihoods, `gradient`
        (A, M), and from what each response adds to them `beside` (R, M)."""
        by = np.asarray(gradient, dtype=np.float64)
        return influences(
            (self.derivatives @ by)[self.answers] + beside,
            images=self.images,
            annotators=self.annotators,
            mass=self.mass[self.answers],
            step=(np.abs(by) * self.step[:, None]).max(axis=0, initial=0.0),
        )

    def without_cluster_of(self, attribute: int) -> tuple[Ints, float]:
        """Which responses (K,) select the attribute, if all of them are about one image, or by one identified
        annotator, and the share of all judgements that is left without it or them; else no response, and 1.

        Examples
        --------
        >>> k, one = np.array([[1, 1], [1, 0]]), np.array([0, 1])
        >>> found = likelihood_influences(k, np.ones_like(k), answers=one, images=one, annotators=one)
        >>> [(rows.tolist(), left) for rows, left in map(found.without_cluster_of, (0, 1))]
        [([], 1.0), ([0], 0.5)]
        """
        rows = np.flatnonzero(self.selected[:, attribute][self.answers])
        for labels in (self.images, self.annotators) if len(rows) else ():
            label = labels[rows[0]]
            if label > UNKNOWN_ANNOTATOR and (labels[rows] == label).all():
                mass = self.mass[self.answers]
                return rows, float(mass[labels != label].sum() / mass.sum())
        return rows[:0], 1.0

    def only(self, chosen: Bools) -> LikelihoodInfluences:
        """Of the `chosen` attributes (A,); the mass stays."""
        return replace(
            self,
            derivatives=self.derivatives[:, chosen],
            selected=self.selected[:, chosen],
            step=self.step[chosen],
        )

    def constant(self, chosen: Bools) -> LikelihoodInfluences:
        """The likelihoods of the `chosen` attributes (A,) depend on no answer."""
        return replace(
            self,
            derivatives=np.where(chosen, 0.0, self.derivatives),
            step=np.where(chosen, 0.0, self.step),
        )


@dataclass(frozen=True)
class SumInfluences:
    """Influences on K weighted sums of the likelihoods of one group, or of several: for each group those on
    its likelihoods, and the weights (A, K)."""

    groups: tuple[tuple[LikelihoodInfluences, Floats], ...]

    def of(self, gradient: ArrayLike) -> Influences:
        """The influences on M scores, from their derivatives with respect to the sums, `gradient` (K, M)."""
        by = np.asarray(gradient, dtype=np.float64)
        found = [each.of(weights @ by) for each, weights in self.groups]
        if len(found) == 1:
            return found[0]
        return total([(1.0, each) for each in found], over_groups=True)


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
        selected=k > 0,
        mass=n.sum(axis=1).astype(np.float64),
        step=step,
        answers=_small(answers),
        images=_small(images),
        annotators=_small(np.maximum(annotators, UNKNOWN_ANNOTATOR)),
    )


def _small(labels: Ints) -> Ints:
    """The same labels in half the memory, where they fit."""
    fit = not labels.size or labels.max() <= np.iinfo(np.int32).max
    return labels.astype(np.int32) if fit else labels
