r"""How much scores depend on single images and annotators: two-way cluster-robust variances (PROTOCOL §10).

The influence of an answer on a score is the derivative of the score with respect to the weight of the answer.
Influences add up to those of an image and of an annotator. docs/statistics.md has the formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.grouped_sums import add_up, distinct

# The least variance, as a share of that of the images alone. The annotators' share of the variance is a
# difference, which chance can make negative.
_LEAST = 0.75
# How many items count at most in degrees of freedom, for each annotator but one, if there are `many_items`.
_ITEMS = 1.5
# Sums of shares up to this are rounded zeros.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Clusters:
    """Images, or annotators: their `labels` (N,), the share of all answers that each has, `mass` (N,), and by
    how much M scores change without it, `change` (N, M), with a small-sample correction. `strata` (N,): which
    of several independent samples each is of; None if there is one."""

    labels: Ints
    mass: Floats
    change: Floats
    strata: NDArray[Any] | None = None

    def scaled(self, by: Floats) -> Clusters:
        """The clusters of scores that are multiplied by `by` (M,); those by 0 may be undefined."""
        return replace(self, change=np.where(by == 0, 0.0, self.change * by))

    @property
    def effective(self) -> float:
        """How many equal clusters vary as little as these: their number, unless some have more answers."""
        squares = self.mass**2
        fourth = float((squares**2).sum())
        return float(squares.sum()) ** 2 / fourth if fourth else 0.0

    def freedom(self) -> Floats:
        """The degrees of freedom (M,) of the sum of the squared changes: `effective` - 1, and with several
        strata those of Satterthwaite (Welch 1947, doi:10.1093/biomet/34.1-2.28)."""
        if self.strata is None or len(labels := np.unique(self.strata)) < 2:
            return np.full(self.change.shape[1], self.effective - 1)
        spread, whole = np.zeros(self.change.shape[1]), (self.change**2).sum(axis=0)
        for label in labels:
            inside = self.strata == label
            own = replace(self, mass=self.mass[inside])
            variance = (self.change[inside] ** 2).sum(axis=0)
            spread += variance**2 / max(own.effective - 1, 1e-9)
        return np.asarray(np.divide(whole**2, spread, out=np.ones_like(whole), where=spread > 0))


@dataclass(frozen=True)
class Influences:
    """What M scores depend on.

    `annotators` holds only those who are identified. `answers` (J, M): for each of them the sum of the
    squared changes without their answers about one image, which is in their `change` squared and in that of
    the images; `answer_mass` (J,): the sum of the squared shares of those answers. `step` (M,): by how much
    a single answer can change a score at most, in units of the score; at an end of a scale that is w wide, a
    score is known as well as a share of w / step answers. `least` (M,): the least standard error; that of a
    share is `step`. `most_freedom`: what degrees of freedom are limited to.
    `many_items`: the images are items of which there may be many more than annotators.
    """

    images: Clusters
    annotators: Clusters
    answers: Floats
    answer_mass: Floats
    step: Floats
    least: Floats
    most_freedom: float = float("inf")
    many_items: bool = False

    def columns(self, places: ArrayLike) -> Influences:
        """Of the scores at these places only."""
        chosen = np.asarray(places)
        return replace(
            self,
            images=replace(self.images, change=self.images.change[:, chosen]),
            annotators=replace(self.annotators, change=self.annotators.change[:, chosen]),
            answers=self.answers[:, chosen],
            step=self.step[chosen],
            least=self.least[chosen],
        )

    def scaled(self, by: ArrayLike) -> Influences:
        """Of the scores multiplied by `by`, a number or (M,)."""
        factor = np.broadcast_to(np.asarray(by, dtype=np.float64), self.step.shape)
        return replace(
            self,
            images=self.images.scaled(factor),
            annotators=self.annotators.scaled(factor),
            answers=np.where(factor == 0, 0.0, self.answers * factor**2),
            step=self.step * np.abs(factor),
            least=self.least * np.abs(factor),
        )

    def standard_errors(self) -> tuple[Floats, Floats]:
        r"""Standard errors and degrees of freedom, (M,) each; NaN with a single image or annotator.

        .. math:: V = V_I + s \sum_j q_j, \qquad V_I = \sum_i c_i^2, \qquad
                  s = \frac{\sum_j (c_j^2 - a_j) / h_j}{\sum_j q_j / h_j}, \qquad
                  q_j = h_j^2 - \sum_i h_{ij}^2

        with c the changes, a the `answers`, h the shares of answers. This is the two-way variance of Cameron,
        Gelbach & Miller (2011, doi:10.1198/jbes.2010.07136) if all annotators gave as many answers; otherwise
        it takes their effects to vary equally. At least three quarters of V_I, and `least` squared. The
        degrees of freedom are the geometric mean of Satterthwaite's (1946, doi:10.2307/3002019), with two
        more for each estimated component, and of those of both components together; of `many_items` no more
        count there than 1.5 for each of the J annotators but one. Those of a component are the number of
        clusters that would vary as little if all were equal, less 1:

        .. math:: \frac{(\sum_i h_i^2)^2}{\sum_i h_i^4} - 1 \;\text{(images)}, \qquad
                  \frac{(\sum_j q_j / h_j)^2}{\sum_j (q_j / h_j)^2} - 1 \;\text{(annotators)}.
        """
        by_image = (self.images.change**2).sum(axis=0)
        of_images = self.images.effective - 1
        identified, weights = self._identified()
        total = float((weights * identified).sum())
        if total <= _NOTHING:  # nobody answered about two images
            return self._root(by_image), np.maximum(self.images.freedom(), 1.0)
        by_annotator = self.annotator_variances * identified.sum()
        variance = np.maximum(by_image + by_annotator, _LEAST * by_image)
        of_annotators = max(total**2 / float(((weights * identified) ** 2).sum()) - 1, 0.5)
        noisy = np.maximum(by_annotator, 0.0) + self.answers.sum(axis=0)
        spread = by_image**2 / (of_images + 2) + noisy**2 / (of_annotators + 2)
        satterthwaite = np.divide(variance**2, spread, out=np.ones_like(variance), where=spread > 0)
        counted = np.full_like(variance, of_images)
        if self.many_items:
            # where nothing varied, how people differ plays no part
            counted[spread > 0] = min(of_images, _ITEMS * ((identified > 0).sum() - 1))
        freedom = np.sqrt(np.maximum(satterthwaite, 1.0) * (counted + of_annotators))
        return self._root(variance), np.clip(freedom, 1.0, self.most_freedom)

    @property
    def annotator_variances(self) -> Floats:
        """s of `standard_errors` (M,): how much M scores vary between annotators, each with all answers. By
        chance it can be negative. NaN if no identified annotator answered about two images."""
        identified, weights = self._identified()
        total = float((weights * identified).sum())
        if total <= _NOTHING:
            return np.full(len(self.step), np.nan)
        return np.asarray(weights @ (self.annotators.change**2 - self.answers) / total)

    def _identified(self) -> tuple[Floats, Floats]:
        """q of `standard_errors`, and 1 / h, (J,) each."""
        h = self.annotators.mass
        weights = np.divide(1.0, h, out=np.zeros_like(h), where=h > 0)
        return np.maximum(h**2 - self.answer_mass, 0.0), weights

    def _root(self, variance: Floats) -> Floats:
        return np.asarray(np.sqrt(np.maximum(variance, self.least**2)))


def influences(
    values: ArrayLike,
    *,
    images: ArrayLike,
    annotators: ArrayLike,
    mass: ArrayLike | None = None,
    step: ArrayLike | None = None,
    least: ArrayLike | None = None,
    stratum: str | None = None,
) -> Influences:
    r"""Add up influences of answers, or of pairs or sets of answers, by image and annotator.

    .. math:: c_i = \sqrt{\frac{I - 1}{I}} \, \frac{\sum_{r \in i} d_r}{1 - h_i}

    is the change without image i, as in the jackknife; for annotators the same. Both are NaN with a single
    image; those of annotators are NaN if one person gave all answers. A single identified annotator among
    others who are not says nothing of how people differ, and is taken as not identified too.

    `values` (R, M): the derivatives d of M scores with respect to the weight of each row; each column adds up
    to 0. `images` (R,): any labels. `annotators` (R,), or (R, S) if a row has S answers: labels of at least
    0; others are not identified, and a row may have fewer than S. `mass` (R,): how many answers each row
    stands for, by default as many each. `step` (M,): by how much one answer can change a score, by default
    the least share of `mass`. `least` (M,): the least standard error, by default `step`. `stratum`: the
    sample that the images are of, where `total` adds up several that were drawn independently. Raises
    ValueError for other shapes and without rows.

    Examples
    --------
    >>> found = influences([[0.5], [-0.5]], images=[3, 4], annotators=[-1, -2])
    >>> found.images.change.round(3).tolist(), found.annotators.labels.tolist()
    ([[0.707], [-0.707]], [])
    """
    d, image = np.asarray(values, dtype=np.float64), np.asarray(images)
    who = np.asarray(annotators)
    who = who[:, None] if who.ndim == 1 else who
    m = np.ones(len(d)) if mass is None else np.asarray(mass, dtype=np.float64)
    if d.ndim != 2 or not len(d):
        raise ValueError(f"values has shape {d.shape}; (R, M) with at least one row is needed.")
    if image.shape != (len(d),) or who.shape[:1] != (len(d),) or m.shape != (len(d),):
        raise ValueError(
            f"There are {len(d)} rows, with images of shape {image.shape}, annotators of shape {who.shape} "
            f"and mass of shape {m.shape}; each row needs them."
        )
    m = m / m.sum()
    labels, image_of = distinct(image)
    steps = np.full(d.shape[1], m.min()) if step is None else np.asarray(step, dtype=np.float64)
    known = who >= 0
    some = who[known]
    if some.size and (some == some[0]).all() and m[np.nonzero(known)[0]].sum() < 1 - 1e-9:
        known = np.zeros_like(known)
    row_of = np.nonzero(known)[0]
    people, person_of = distinct(who[known])
    cells, cell_of = distinct(image_of[row_of] * max(len(people), 1) + person_of)
    cell_person = cells % max(len(people), 1)
    by_cell, cell_mass = add_up(d[row_of], cell_of, len(cells)), add_up(m[row_of], cell_of, len(cells))
    h = add_up(cell_mass, cell_person, len(people))
    left = _left_over(h)
    correction = (len(people) - 1) / len(people) if len(people) else 0.0
    return Influences(
        images=_clusters(labels, add_up(m, image_of, len(labels)), add_up(d, image_of, len(labels)), stratum),
        annotators=_clusters(people, h, add_up(by_cell, cell_person, len(people)), stratum),
        answers=correction * add_up(by_cell**2, cell_person, len(people)) / left[:, None],
        answer_mass=add_up(cell_mass**2, cell_person, len(people)),
        step=steps,
        least=steps if least is None else np.asarray(least, dtype=np.float64),
    )


def total(parts: Sequence[tuple[ArrayLike, Influences]], *, over_groups: bool = False) -> Influences:
    """Of weighted sums of scores, such as a difference or a mean over groups: (weight, influences), with a
    weight of a number or (M,).

    Images and annotators with equal labels are the same. An annotator's answers about an image are taken to
    other answers in each part. `over_groups`: the parts are of different groups, whose images together may be
    many more than annotators. Raises ValueError without parts.

    Examples
    --------
    >>> one = influences([[0.5], [-0.5]], images=[3, 4], annotators=[7, 8])
    >>> total([(1, one), (-1, one)]).images.change.tolist()
    [[0.0], [0.0]]
    """
    if not len(parts):
        raise ValueError("There are no scores to add up: give at least one part.")
    scaled = [
        (np.abs(np.asarray(weight, dtype=np.float64)).mean(), part.scaled(weight)) for weight, part in parts
    ]
    whole = sum(weight for weight, _ in scaled) or 1.0
    shares = [weight / whole for weight, _ in scaled]
    found = [part for _, part in scaled]
    images = _united(shares, [part.images for part in found])
    annotators = _united(shares, [part.annotators for part in found])
    place = np.searchsorted(annotators.labels, np.concatenate([part.annotators.labels for part in found]))
    squared = [share**2 * part.answer_mass for share, part in zip(shares, found, strict=True)]
    return Influences(
        images,
        annotators,
        answers=add_up(np.concatenate([part.answers for part in found]), place, len(annotators.labels)),
        answer_mass=add_up(np.concatenate(squared), place, len(annotators.labels)),
        step=np.max([part.step for part in found], axis=0),
        least=np.max([part.least for part in found], axis=0),
        most_freedom=min(part.most_freedom for part in found),
        many_items=any(part.many_items for part in found) or (over_groups and len(found) > 1),
    )


def _united(shares: Sequence[float], parts: Sequence[Clusters]) -> Clusters:
    labels, place = distinct(np.concatenate([part.labels for part in parts]))
    mass = np.concatenate([share * part.mass for share, part in zip(shares, parts, strict=True)])
    change = np.concatenate([part.change for part in parts])
    of_each = [part.strata for part in parts if part.strata is not None]
    strata = None
    if len(of_each) == len(parts):
        strata = np.concatenate(of_each)[np.unique(place, return_index=True)[1]]
    return Clusters(labels, add_up(mass, place, len(labels)), add_up(change, place, len(labels)), strata)


def _clusters(labels: Ints, mass: Floats, sums: Floats, stratum: str | None) -> Clusters:
    number = len(labels)
    strata = None if stratum is None else np.full(number, stratum)
    if not number:
        return Clusters(labels.astype(np.int64), mass, sums, strata)
    change = np.sqrt((number - 1) / number) * sums / _left_over(mass)[:, None]
    return Clusters(labels, mass, change, strata)


def _left_over(mass: Floats) -> Floats:
    """The share of the answers without each cluster; NaN if there are none."""
    left = 1 - mass
    return np.where(left > 1e-9, left, np.nan)
