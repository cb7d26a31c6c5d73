"""EAT and SC-EAT: Cohen's d with its interval, Welch's t, permutation p (PROTOCOL §12)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
PUBLISHED = "published"
CORRECTED = "corrected"
VARIANTS = (CORRECTED, PUBLISHED)
GREATER = "greater"
LESS = "less"
PERMUTATIONS = 100_000
MOST_EXACT = 1_000_000
"""Splits, at most, for an exact permutation p."""


class DegenerateTest(ValueError):
    """A test that has no result, such as one with a group of one image. The message says why."""


@dataclass(frozen=True)
class Effect:
    """`effect_size` d with its 95 % bootstrap interval; Welch's `t` with `df`; `p_value` one-sided, in the
    direction of the test; `p_permutation` one-sided as well, of the difference of means; `exact`: over all
    `splits`, else over so many that were sampled."""

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


def effect(
    x: Floats,
    y: Floats,
    *,
    variant: str,
    alternative: str,
    permutations: int = PERMUTATIONS,
    resamples: int,
    rng: np.random.Generator,
) -> Effect:
    """The effect of the associations `x`, shape (n_x,), against `y`, shape (n_y,).

    They are s(w, A, B) of the images of two groups (EAT), or cosines of two groups' images with one text
    (SC-EAT). *published*: variances with divisor n, also inside Welch's t; *corrected*: n - 1. `alternative`
    GREATER (EAT) or LESS (SC-EAT). `resamples`: of the bootstrap over images, within each group.
    Raises DegenerateTest.
    """
    raise NotImplementedError


def benjamini_hochberg(p_values: Floats) -> Floats:
    """q-values, shape (n,), over the tests of one file."""
    raise NotImplementedError
