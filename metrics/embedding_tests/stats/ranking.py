"""Image ranking: shares of groups among the images most similar to a prompt, over drawings (PROTOCOL §12)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Correlation:
    """Pearson's rho of a group's shares with the reference over the regions, with its 95 % interval (Fisher's
    z) and two-sided p. NaN where a side does not vary."""

    rho: float
    rho_low: float
    rho_high: float
    p_value: float


@dataclass(frozen=True)
class Comparison:
    """`groups`: one correlation for each group. `r2`: of the multivariate linear regression of the reference
    on the shares, the uniform average over groups (as scikit-learn's r2_score); NaN with fewer regions than
    unknowns."""

    groups: tuple[Correlation, ...]
    r2: float


def shares(cosines: Floats, groups: Ints, *, drawings: int, top: int, rng: np.random.Generator) -> Floats:
    """Mean shares of the groups among the `top` images, shape (prompts, groups).

    `cosines`: (prompts, images); `groups`: (images,), numbers from 0. In each of `drawings`, every group is
    brought to the size of the smallest by drawing without replacement; `top` 0: that size. Raises ValueError
    for a group without images, or a `top` larger than the images drawn.
    """
    raise NotImplementedError


def compare(found: Floats, reference: Floats) -> Comparison:
    """Shares against the reference, both (regions, groups)."""
    raise NotImplementedError
