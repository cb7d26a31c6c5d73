"""Many scores at once, from their influences: a test that all are equal, and the places that each can have
(PROTOCOL §10)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Bools, Floats
from metrics.core.stats.influence import Clusters, Influences


@dataclass(frozen=True)
class Places:
    """The `place` (G,) of each score, 1 for the largest, and the `low` and `high` places that it can have.
    NaN for a score without a variance, or with one of 0; the others are ranked without it."""

    place: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class _Covariance:
    """Of G scores, in two parts, (G, G) each: `images`, and `annotators` less `answers` (G,), which are in
    both. The degrees of freedom are those of the variances, `of_images` (G,), and of each element of
    `annotators`, infinite where two scores share nobody. `least` (G,): the least standard error of each."""

    images: Floats
    of_images: Floats
    annotators: Floats
    of_annotators: Floats
    answers: Floats
    least: Floats

    @property
    def people_freedom(self) -> float:
        """The mean of those that are finite: nobody is identified in the others."""
        freedom = self.of_annotators.diagonal()
        finite = np.isfinite(freedom)
        return float(freedom[finite].mean()) if finite.any() else float("inf")

    @property
    def of_people(self) -> Floats:
        return self.annotators - np.diag(self.answers)


def equal_p(values: ArrayLike, scores: Sequence[Influences]) -> float:
    r"""The p of all `values` (G,) being equal; `scores` are the influences of one score each.

    .. math:: F = \frac{\sum_g (x_g - \bar x)^2}{\operatorname{tr}(P \Sigma)}, \qquad
              f_1 = \frac{\operatorname{tr}(P \Sigma)^2}{\operatorname{tr}(P \Sigma P \Sigma)}, \qquad
              f_2 = \frac{\operatorname{tr}(P \Sigma)^2}
                    {\sum_g (P_{gg} V_g)^2 / (\nu_g + 2) + \operatorname{tr}((P S)^2) / (\nu_S + 2)}

    with :math:`P = I - 1/G`, the two-way covariance matrix :math:`\Sigma`, and its variances V of images and
    covariances S of annotators, with the answers that are in both: the ANOVA-type statistic of Brunner, Dette
    & Munk (1997, doi:10.1080/01621459.1997.10473671), an F whose degrees of freedom match two moments (Box
    1954, doi:10.1214/aoms/1177728786). A Wald statistic would need the inverse of :math:`\Sigma`, which need
    not be positive definite, and whose annotators' part has no larger rank than there are annotators. Squares
    of estimated covariances are too large by chance: the trace is corrected as by Bai & Saranadasa (1996,
    Statistica Sinica 6, 311-329).

    What annotators add to a trace or a variance is taken to be at least 0: their effects on all scores cancel
    here, and where few people judge, each many of the images, the estimate of the rest is too low. The trace
    is at least that of the least variances: where the same people answer alike, or apart by the same amount,
    nothing but rounding is left.

    A score without a value or a variance (a single image or annotator), or with a variance of 0, is left out;
    NaN if fewer than two are left. Raises ValueError unless there is an element of `scores`, of one score,
    for each of `values`.

    Examples
    --------
    >>> from metrics.core.stats.influence import influences
    >>> one, two = (influences([[0.1], [-0.1]], images=[i, i + 1], annotators=[-1, -2]) for i in (1, 3))
    >>> equal_p([0.5, 0.5], [one, two])
    1.0
    """
    points, parts, _ = _known(values, scores)
    number = len(points)
    if number < 2:
        return float("nan")
    # imported here because it takes 0.6 s
    from scipy import stats

    found = _covariance(parts)
    centre = np.eye(number) - 1 / number
    images, people, answers = (
        centre @ part @ centre for part in (found.images, found.annotators, np.diag(found.answers))
    )
    size = max(
        float(np.trace(images) + max(np.trace(people - answers), 0.0)),
        float(centre.diagonal() @ found.least**2),
    )
    own = (centre.diagonal() * found.images.diagonal()) ** 2 / (found.of_images + 2)
    by_people = _squared(people, found.of_annotators)
    square = float(
        (images**2).sum()
        - 2 * own.sum()
        + 2 * (images * (people - answers)).sum()
        + by_people
        - 2 * (people * answers).sum()
        + (answers**2).sum()
    )
    f1 = float(np.clip(size**2 / square if square > 0 else np.inf, 1, number - 1))
    of_people = by_people / (found.people_freedom + 2)
    f2 = max(size**2 / (float(own.sum()) + of_people), 1.0)
    return float(stats.f.sf(float(((points - points.mean()) ** 2).sum()) / size, f1, f2))


def places(values: ArrayLike, scores: Sequence[Influences], *, level: float = 0.95) -> Places:
    r"""The places of `values` (G,), and those that each can have, with joint confidence `level` that all G
    sets of places hold the true ones.

    A score cannot have the places above those that are larger, nor those below those that are smaller, by all
    pairwise differences at once (Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006; Klein,
    Wright & Wieczorek 2020, doi:10.1111/rssa.12521). Equal scores can change places. The critical value is
    the t, with the degrees of freedom of the difference, of the level at which a normal distribution has
    Tukey's studentized range (Games & Howell 1976, doi:10.3102/10769986001002113), which is less than
    Bonferroni's. Raises ValueError as `equal_p`.
    """
    points, parts, known = _known(values, scores)
    number = len(points)
    low, high, place = (np.full(len(known), np.nan) for _ in range(3))
    if number < 2:
        low[known] = high[known] = place[known] = 1.0
        return Places(place, low, high)
    # imported here because it takes 0.6 s
    from scipy import stats

    found = _covariance(parts)
    errors, freedom = _of_pairs(found)
    apart = points[:, None] - points
    larger = apart > stats.t.isf(_beyond(number, level), freedom) * errors
    place[known] = 1 + (apart < 0).sum(axis=1)
    low[known], high[known] = 1 + larger.sum(axis=0), number - larger.sum(axis=1)
    return Places(place, low, high)


@functools.cache
def _beyond(number: int, level: float) -> float:
    """The level of a difference at which a normal distribution has Tukey's range of so many scores: scipy
    looks for it by integrating a dozen times."""
    from scipy import stats

    return float(stats.norm.sf(stats.studentized_range.ppf(level, number, np.inf) / np.sqrt(2)))


def _known(values: ArrayLike, scores: Sequence[Influences]) -> tuple[Floats, list[Influences], Bools]:
    points = np.asarray(values, dtype=np.float64)
    if points.shape != (len(scores),) or any(one.step.shape != (1,) for one in scores):
        raise ValueError(
            f"There are values of shape {points.shape} and {len(scores)} influences; each value needs those "
            "of one score."
        )
    errors = np.array([one.standard_errors()[0][0] for one in scores])
    known = (
        np.isfinite(points) & np.isfinite(errors) & (errors > 0)
        if len(scores)
        else np.zeros(0, dtype=np.bool_)
    )
    return points[known], [one for one, there in zip(scores, known.tolist(), strict=True) if there], known


def _covariance(scores: Sequence[Influences]) -> _Covariance:
    least = np.array([one.least[0] for one in scores])
    images = _products([one.images for one in scores])
    np.fill_diagonal(images, np.maximum(images.diagonal(), least**2))
    of_images = np.array([max(one.images.effective - 1, 1.0) for one in scores])
    labels = np.unique(np.concatenate([one.annotators.labels for one in scores]))
    if not len(labels):
        none = np.zeros((len(scores), len(scores)))
        endless = np.full(none.shape, np.inf)
        return _Covariance(images, of_images, none, endless, none[0], least)
    change, h, answers, squares = (np.zeros((len(labels), len(scores))) for _ in range(4))
    for column, one in enumerate(scores):
        rows = np.searchsorted(labels, one.annotators.labels)
        change[rows, column] = one.annotators.change[:, 0]
        h[rows, column], squares[rows, column] = one.annotators.mass, one.answer_mass
        answers[rows, column] = one.answers[:, 0]
    # as in `Influences.standard_errors`, with an annotator's share of the answers about all scores
    share = h.mean(axis=1)[:, None]
    weight = np.divide(1.0, share, out=np.zeros_like(share), where=share > 0)
    identified = np.maximum(h**2 - squares, 0.0)
    together, weighted, fourth = h.T @ h, (weight * h).T @ h, (weight * h**2).T @ (weight * h**2)
    np.fill_diagonal(together, identified.sum(axis=0))
    np.fill_diagonal(weighted, (weight * identified).sum(axis=0))
    np.fill_diagonal(fourth, ((weight * identified) ** 2).sum(axis=0))
    shared = weighted > 1e-12
    factor = np.divide(together, weighted, out=np.zeros_like(weighted), where=shared)
    effective = np.divide(weighted**2, fourth, out=np.full(weighted.shape, np.inf), where=shared)
    return _Covariance(
        images,
        of_images,
        factor * ((weight * change).T @ change),
        np.maximum(effective - 1, 0.5),
        factor.diagonal() * (weight * answers).sum(axis=0),
        least,
    )


def _products(parts: Sequence[Clusters]) -> Floats:
    """Sums of products of the changes without each cluster, (G, G). Most images are of one group only: those
    of several are in a table."""
    _, place, times = np.unique(
        np.concatenate([part.labels for part in parts]), return_inverse=True, return_counts=True
    )
    row_of = np.cumsum(times > 1) - 1
    table = np.zeros((int((times > 1).sum()), len(parts)))
    start = 0
    for column, part in enumerate(parts):
        here = place[start : start + len(part.labels)]
        start += len(part.labels)
        several = times[here] > 1
        table[row_of[here[several]], column] = part.change[several, 0]
    products = table.T @ table
    np.fill_diagonal(products, [float((part.change**2).sum()) for part in parts])
    return np.asarray(products)


def _squared(estimated: Floats, freedom: Floats) -> float:
    """The sum of the squares of a covariance matrix, without what chance adds to those of its estimate."""
    of_chance = np.outer(estimated.diagonal(), estimated.diagonal()) / freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(np.isinf(freedom), 1.0, freedom**2 / ((freedom - 1) * (freedom + 2)))
        exact = np.where(freedom > 1.5, factor * (estimated**2 - of_chance), estimated**2)
    return max(float(exact.sum()), 0.0)


def _of_pairs(found: _Covariance) -> tuple[Floats, Floats]:
    """Standard errors of the differences of all pairs, and their degrees of freedom by Satterthwaite, (G, G)
    each. What annotators add to the variance of images is at least what they add to all pairs together, in
    proportion: that of a single pair is too uncertain for the far tails. No variance is less than the two
    least ones."""
    centre = np.eye(len(found.images)) - 1 / len(found.images)
    of_images = float(np.trace(centre @ found.images))
    added = max(float(np.trace(centre @ found.of_people)), 0.0) / of_images if of_images > 0 else 0.0
    people = _squared(centre @ found.annotators @ centre, found.of_annotators)
    noise = people / (found.people_freedom + 2) / of_images**2 if of_images > 0 else 0.0
    images = _of_differences(found.images)
    variance = images + np.maximum(_of_differences(found.of_people), added * images)
    freedom = (1 + added) ** 2 / (1 / (found.of_images[:, None] + found.of_images + 3) + noise)
    least = found.least[:, None] ** 2 + found.least**2
    return np.sqrt(np.maximum(variance, least)), np.maximum(freedom, 1.0)


def _of_differences(covariance: Floats) -> Floats:
    variance = covariance.diagonal()
    return np.asarray(variance[:, None] + variance - 2 * covariance)
