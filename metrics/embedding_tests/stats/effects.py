"""EAT and SC-EAT: Cohen's d with its interval, Welch's t, permutation p (PROTOCOL §12)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.core.stats import bootstrap, clustered, influence
from metrics.core.stats.influence import Influences
from metrics.core.stats.scales import NUMBER
from metrics.embedding_tests.stats.permutations import MOST_EXACT as MOST_EXACT
from metrics.embedding_tests.stats.permutations import permutation_test

Floats = npt.NDArray[np.float64]
PUBLISHED = "published"
CORRECTED = "corrected"
VARIANTS = (CORRECTED, PUBLISHED)
GREATER = "greater"
LESS = "less"
PERMUTATIONS = 100_000
_ROUNDING = 1e-12
"""A standard deviation that is this share of the largest value of both sides, or less, is none."""


class DegenerateTest(ValueError):
    """A test that has no result, such as one with a group of one image. The message says why; `side`: of
    which side, x or y, or "" of both."""

    def __init__(self, why: str, *, side: str = "") -> None:
        super().__init__(f"{side}: {why}" if side else why)
        self.why, self.side = why, side


@dataclass(frozen=True)
class Effect:
    """`effect_size` d with its 95 % interval, NaN if there is none; Welch's `t` with `df`;
    `p_value` one-sided, in the direction of the test; `p_permutation` one-sided as well, of the difference of
    means; `exact`: over all `splits`, else over so many that were sampled."""

    n_x: int
    n_y: int
    effect_size: float
    effect_low: float
    effect_high: float
    t: float
    df: float
    p_value: float
    p_two_sided: float
    p_permutation: float
    exact: bool
    splits: int

    @property
    def effect(self) -> tuple[float, float, float]:
        """d and the ends of its interval, for a mark."""
        return self.effect_size, self.effect_low, self.effect_high


@dataclass(frozen=True)
class _Moments:
    """Of one group, or of many resamples of it: size, means, sums of squared deviations."""

    n: int
    mean: Floats
    squares: Floats

    def variance(self, variant: str) -> Floats:
        return self.squares / (self.n if variant == PUBLISHED else self.n - 1)


def effect(
    x: Floats,
    y: Floats,
    *,
    variant: str,
    alternative: str,
    permutations: int = PERMUTATIONS,
    resamples: int | None,
    rng: np.random.Generator,
) -> Effect:
    """The effect of the associations `x`, shape (n_x,), against `y`, shape (n_y,).

    They are s(w, A, B) of the images of two groups (EAT), or cosines of two groups' images with one text
    (SC-EAT). *published*: variances with divisor n, also inside Welch's t; *corrected*: n - 1. `alternative`
    GREATER (EAT) or LESS (SC-EAT). `resamples`: of the bootstrap over images, within each group; None for
    clustered intervals, 0 for none.
    Raises DegenerateTest.

    Examples
    --------
    >>> x, y = np.array([3.0, 4.0, 5.0]), np.array([1.0, 2.0, 3.0])
    >>> rng = np.random.default_rng(0)
    >>> found = effect(x, y, variant=CORRECTED, alternative=GREATER, resamples=0, rng=rng)
    >>> found.effect_size, round(found.t, 4), round(found.df, 4), found.p_permutation
    (2.0, 2.4495, 4.0, 0.1)
    """
    # imported here because it takes 0.6 s
    from scipy.stats import t as student_t

    if variant not in VARIANTS:
        raise ValueError(f"The variant is '{variant}'. Choose one of: {', '.join(VARIANTS)}.")
    if alternative not in {GREATER, LESS}:
        raise ValueError(f"The alternative is '{alternative}'. Choose '{GREATER}' or '{LESS}'.")
    _check(x, y)
    of_x, of_y = _moments(x), _moments(y)
    d = float(_effect_sizes(of_x, of_y, variant))
    draws, splits = rng.spawn(2)
    if resamples is None:
        [bounds] = clustered.intervals([d], effect_influences(x, y, variant=variant), NUMBER)
        low, high = bounds.low, bounds.high
    else:
        low, high = _interval(x, y, d, variant=variant, resamples=resamples, rng=draws)
    t, df = _welch(of_x, of_y, variant)
    sign = 1 if alternative == GREATER else -1
    permuted = permutation_test(sign * x, sign * y, permutations=permutations, rng=splits)
    return Effect(
        n_x=len(x),
        n_y=len(y),
        effect_size=d,
        effect_low=low,
        effect_high=high,
        t=t,
        df=df,
        p_value=float(student_t.sf(sign * t, df)),
        p_two_sided=float(2 * student_t.sf(abs(t), df)),
        p_permutation=permuted.p,
        exact=permuted.exact,
        splits=permuted.splits,
    )


def _check(x: Floats, y: Floats) -> None:
    for side, values in (("x", x), ("y", y)):
        if len(values) < 2:
            images = "no image" if not len(values) else "one image only"
            raise DegenerateTest(f"{images}; an effect size needs at least two.", side=side)
        if not np.isfinite(values).all():
            raise DegenerateTest("an association is not a finite number.", side=side)
    largest = max(float(np.abs(x).max()), float(np.abs(y).max()))
    for side, values in (("x", x), ("y", y)):
        # d and Welch's t are defined if only one side is still, but PROTOCOL §12 wants variance in both
        if float(values.std()) <= _ROUNDING * largest:
            raise DegenerateTest("the associations of all images are the same: no variance.", side=side)


def _moments(values: Floats) -> _Moments:
    mean = values.mean(axis=-1, keepdims=True)
    return _Moments(values.shape[-1], mean[..., 0], np.square(values - mean).sum(axis=-1))


def _effect_sizes(x: _Moments, y: _Moments, variant: str) -> Floats:
    """d. Infinite, or NaN, where the pooled standard deviation is zero."""
    both = x.n + y.n - 2
    # (n - 1) times a variance; a group of one, which the jackknife leaves of two, adds nothing
    pooled = sum(side.squares * ((side.n - 1) / side.n if variant == PUBLISHED else 1.0) for side in (x, y))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((x.mean - y.mean) / np.sqrt(pooled / both))


def effect_influences(x: Floats, y: Floats, *, variant: str) -> Influences:
    """The influences of images on d, whose two groups are strata: what `_lost` says of each. It holds the
    truth more often than the derivative, which makes too little of an image far from the others: without it
    the pooled standard deviation is another (docs/embedding-tests.md)."""
    parts = [
        influence.influences(
            each[:, None],
            images=[f"{name} {place}" for place in range(len(each))],
            annotators=np.full(len(each), -1),
            step=np.zeros(1),
            stratum=name,
        )
        for name, each in zip("xy", _lost(x, y, variant), strict=True)
    ]
    return influence.total([(1.0, part) for part in parts])


def _lost(x: Floats, y: Floats, variant: str) -> tuple[Floats, Floats]:
    """For each image of both groups, (n_x,) and (n_y,), by how much d is larger than without it, less the
    mean of its group, times what is left of the group: (n - 1) / n. For a mean it is the derivative."""
    of_x = _effect_sizes(_leave_one_out(x), _moments(y), variant)
    of_y = _effect_sizes(_moments(x), _leave_one_out(y), variant)
    return (of_x.mean() - of_x) * (len(x) - 1) / len(x), (of_y.mean() - of_y) * (len(y) - 1) / len(y)


def _welch(x: _Moments, y: _Moments, variant: str) -> tuple[float, float]:
    """Welch's t with the degrees of freedom of Welch and Satterthwaite."""
    of_x, of_y = float(x.variance(variant)) / x.n, float(y.variance(variant)) / y.n
    df = (of_x + of_y) ** 2 / (of_x**2 / (x.n - 1) + of_y**2 / (y.n - 1))
    return float(x.mean - y.mean) / (of_x + of_y) ** 0.5, df


def _interval(
    x: Floats, y: Floats, d: float, *, variant: str, resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The 95 % interval of d by the bias-corrected and accelerated bootstrap (Efron 1987,
    doi:10.1080/01621459.1987.10478410): plain percentiles lie too far from zero, since a resample varies less
    than its group (docs/embedding-tests.md shows the coverage of both)."""
    # imported here because it takes 0.2 s
    from scipy.special import ndtr, ndtri

    if not resamples:
        return float("nan"), float("nan")
    drawn = np.empty(resamples)
    for rows in bootstrap.chunks(resamples, len(x) + len(y)):
        number = rows.stop - rows.start
        drawn[rows] = _effect_sizes(
            _moments(x[rng.integers(0, len(x), (number, len(x)))]),
            _moments(y[rng.integers(0, len(y), (number, len(y)))]),
            variant,
        )
    drawn = np.sort(drawn[~np.isnan(drawn)])
    if not len(drawn):
        return float("nan"), float("nan")
    below = (int((drawn < d).sum()) + int((drawn <= d).sum())) / 2
    # half a resample from the ends, so that the bias is finite
    bias = float(ndtri(np.clip(below, 0.5, len(drawn) - 0.5) / len(drawn))) if len(drawn) > 1 else 0.0
    moved = bias + ndtri([0.025, 0.975])
    levels = ndtr(bias + moved / np.maximum(1 - _acceleration(x, y, variant) * moved, _ROUNDING))
    places = np.clip(np.ceil(np.round(levels * len(drawn), 9)).astype(int) - 1, 0, len(drawn) - 1)
    low, high = drawn[places].tolist()
    return min(low, d), max(high, d)


def _acceleration(x: Floats, y: Floats, variant: str) -> float:
    """The skewness of d's influence over the images of both groups, by leaving one out; 0 where that is
    undefined, as with groups of two."""
    lost = _lost(x, y, variant)
    cubes = sum(float(np.power(each, 3).sum()) for each in lost)
    squares = sum(float(np.square(each).sum()) for each in lost)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.divide(cubes, 6 * squares**1.5)
    return float(found) if np.isfinite(found) else 0.0


def _leave_one_out(values: Floats) -> _Moments:
    """The group without each of its images."""
    n, whole = len(values), _moments(values)
    deviations = values - whole.mean
    squares = whole.squares - np.square(deviations) * (n / (n - 1))
    return _Moments(n - 1, whole.mean - deviations / (n - 1), np.maximum(squares, 0.0))
