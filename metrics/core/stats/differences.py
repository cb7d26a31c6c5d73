r"""Differences of two scores with intervals and p, and false-discovery control (PROTOCOL §10).

The resamples of both scores are drawn together (`paired_likelihoods`): images and annotators that the two
share are drawn once, so that their effects cancel.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, checks, percentiles
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.percentiles import Interval


@dataclass(frozen=True)
class Difference:
    """`value` is first minus second; `p` is two-sided. NaN if undefined."""

    value: float
    interval: Interval
    p: float


@dataclass(frozen=True)
class AnswerSet:
    """The answers of one side of a comparison: each distinct answer once in `k` and `n` (P, A), and for each
    response (R,) the index of its answer, its image and its annotator. Equal labels on both sides are the
    same image or person."""

    k: Ints
    n: Ints
    answers: Ints
    images: Ints
    annotators: Ints


def difference(
    first: float, second: float, *, first_samples: ArrayLike, second_samples: ArrayLike
) -> Difference:
    r"""The difference of two scores.

    With d the difference of the estimates and :math:`d_b = x_b - y_b` of B defined resamples, the interval is
    the percentile interval of d_b and

    .. math:: p = \min\left(1, 2 \min\left(\frac{1 + \#\{d_b \le 0\}}{B + 1},
              \frac{1 + \#\{d_b \ge 0\}}{B + 1}\right)\right),

    the smallest level at which the interval no longer contains 0, at least 2 / (B + 1) (Efron & Tibshirani
    1993, An Introduction to the Bootstrap, chapters 13 and 15).

    Resample b of both samples (B,) must come from the same draw of shared images and annotators. An undefined
    difference (NaN, or infinity minus infinity) is left out and counted.

    Examples
    --------
    >>> found = difference(0.5, 0.2, first_samples=[0.4, 0.5, 0.6], second_samples=[0.2, 0.2, 0.2])
    >>> round(found.value, 2), round(found.interval.low, 2), found.p
    (0.3, 0.2, 0.5)
    """
    x, y = np.asarray(first_samples, dtype=np.float64), np.asarray(second_samples, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"first_samples has shape {x.shape} and second_samples {y.shape}; both need (B,).")
    with np.errstate(invalid="ignore"):
        drawn = x - y
        value = float(np.subtract(first, second))
    (interval,) = percentiles.percentile_intervals(drawn[:, None], [value])
    return Difference(value, interval, _two_sided_p(drawn) if value == value else float("nan"))


def log_ratio(
    first: float, second: float, *, first_samples: ArrayLike, second_samples: ArrayLike
) -> Difference:
    r"""The natural logarithm of the ratio of two non-negative scores: `difference` of their logarithms.

    Infinite if only one of the two is 0 or infinite, undefined if both are. Raises ValueError for negatives.

    Examples
    --------
    >>> found = log_ratio(2.0, 1.0, first_samples=[2.0, 2.0], second_samples=[1.0, 1.0])
    >>> round(found.value, 3)
    0.693
    """
    values = np.array([first, second], dtype=np.float64)
    x, y = np.asarray(first_samples, dtype=np.float64), np.asarray(second_samples, dtype=np.float64)
    if bool((values < 0).any() or (x < 0).any() or (y < 0).any()):
        raise ValueError("A ratio is taken of scores of at least 0.")
    with np.errstate(divide="ignore"):
        logs, x, y = np.log(values), np.log(x), np.log(y)
    return difference(float(logs[0]), float(logs[1]), first_samples=x, second_samples=y)


def _two_sided_p(drawn: Floats) -> float:
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return float("nan")
    tails = [(1 + int(side.sum())) / (len(defined) + 1) for side in (defined <= 0, defined >= 0)]
    return min(1.0, 2 * min(tails))


def false_discovery(p: ArrayLike) -> Floats:
    """The q (M,) of Benjamini and Hochberg (1995, doi:10.1111/j.2517-6161.1995.tb02031.x) for several
    comparisons with `p` (M,). NaN (undefined) does not count as a comparison and stays NaN.

    Valid for independent and positively dependent tests.

    Examples
    --------
    >>> false_discovery([0.01, 0.04, float("nan")]).tolist()
    [0.02, 0.04, nan]
    """
    # imported here because it takes 0.6 s
    from scipy import stats

    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"p has {values.ndim} dimensions; 1 is needed.")
    found = np.full(values.shape, np.nan)
    defined = ~np.isnan(values)
    if bool((values[defined] < 0).any() or (values[defined] > 1).any()):
        raise ValueError("p holds a value that is not between 0 and 1.")
    if defined.any():
        found[defined] = stats.false_discovery_control(values[defined], method="bh")
    return found


def paired_likelihoods(
    first: AnswerSet,
    second: AnswerSet,
    *,
    resamples: int,
    rng: np.random.Generator,
    annotator_draws: bootstrap.AnnotatorDraws | None = None,
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """`bootstrap.resampled_likelihoods` of both sides in the same resamples: (k / n, k) of the first and of
    the second side, each of shape (resamples, A of that side).

    Images and annotators on both sides are drawn once for both, as in `bootstrap.joint_weights`.
    `annotator_draws`, if given, draws the known annotators once for all groups compared. Raises ValueError if
    a side has no response.
    """
    if not (len(first.answers) and len(second.answers)):
        raise ValueError("There is no response to resample on one of the sides.")
    image_rng, annotator_rng, *side_rngs = rng.spawn(4)
    drawn = (_renumbered(first.images, second.images), _renumbered(first.annotators, second.annotators))
    image_weights = bootstrap.joint_weights(*drawn[0], resamples, image_rng)
    both = np.intersect1d(*drawn[1]) if annotator_draws is None else np.zeros(0, dtype=np.int64)
    times = np.zeros((resamples, 0), dtype=np.int64)
    if len(both):
        times = bootstrap.cluster_weights(len(both), resamples, annotator_rng)
    found = []
    for side, images, annotators, weights, side_rng in zip(
        (first, second), *drawn, image_weights, side_rngs, strict=True
    ):
        _, image_of = np.unique(images, return_inverse=True)
        shared = np.isin(annotators, both)
        top, bottom = bootstrap.weighted_sums(
            side.k[side.answers[shared]],
            side.n[side.answers[shared]],
            image_of[shared],
            np.searchsorted(both, annotators[shared]),
            image_weights=weights,
            annotator_weights=times,
        )
        if not shared.all():
            k, n = bootstrap.sums_over_annotators(
                side.k,
                side.n,
                side.answers[~shared],
                image_of[~shared],
                (annotators if annotator_draws is None else side.annotators)[~shared],
                image_weights=weights,
                rng=side_rng,
                annotator_draws=annotator_draws,
            )
            top, bottom = top + k, bottom + n
        values = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
        found.append((values, top))
    return found[0], found[1]


def _renumbered(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """The labels of both sides as numbers in order of first appearance."""
    labels = np.concatenate([first, second])
    numbers = checks.labels("labels", labels, length=len(labels))
    return numbers[: len(first)], numbers[len(first) :]
