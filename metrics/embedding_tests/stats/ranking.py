"""Image ranking: shares of groups among the images most similar to a prompt, over drawings (PROTOCOL §12)."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.core.stats import bootstrap

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
FEW_REGIONS, EQUAL_SHARES, EQUAL_REFERENCE = "few regions", "equal shares", "equal reference"
LEAST_REGIONS = 4
"""For an interval."""


@dataclass(frozen=True)
class Correlation:
    """Pearson's rho of a group's shares with the reference over the regions, with its 95 % interval (Fisher's
    z) and two-sided p. NaN for the reason in `problem`, one of FEW_REGIONS, EQUAL_SHARES, EQUAL_REFERENCE."""

    rho: float
    rho_low: float
    rho_high: float
    p_value: float
    n_regions: int
    problem: str = ""

    @property
    def correlation(self) -> tuple[float, float, float]:
        """rho and the ends of its interval, for a mark."""
        return self.rho, self.rho_low, self.rho_high


@dataclass(frozen=True)
class Comparison:
    """`groups`: one correlation for each group. `r2`: of the multivariate linear regression of the reference
    on the shares, the uniform average over groups (as scikit-learn's r2_score); NaN unless there are more
    regions than unknowns (a coefficient for each group, and the intercept), or where a group's reference does
    not vary."""

    groups: tuple[Correlation, ...]
    r2: float


def shares(cosines: Floats, groups: Ints, *, drawings: int, top: int, rng: np.random.Generator) -> Floats:
    """Mean shares of the groups among the `top` images, shape (prompts, groups).

    `cosines`: (prompts, images); `groups`: (images,), numbers from 0. In each of `drawings`, every group is
    brought to the size of the smallest by drawing without replacement; `top` 0: that size. Equal cosines are
    in a random order, the same in all drawings. Raises ValueError for a group without images, or a `top`
    larger than the images drawn.

    Examples
    --------
    >>> cosines, groups = np.array([[0.9, 0.1, 0.5, 0.4]]), np.array([0, 0, 1, 1])
    >>> shares(cosines, groups, drawings=10, top=1, rng=np.random.default_rng(0)).tolist()
    [[1.0, 0.0]]
    """
    sizes = np.bincount(groups) if len(groups) else np.zeros(1, dtype=np.int64)
    size = int(sizes.min())
    if not size:
        raise ValueError(f"Group {int(sizes.argmin())} has no image.")
    top = top or size
    if top > size * len(sizes):
        raise ValueError(f"The top {top} images of {size * len(sizes)} that are drawn.")
    if bool((sizes == size).all()):
        drawings = 1  # each drawing has all images
    shuffled = rng.permutation(len(groups))
    members = groups[shuffled]
    order = np.argsort(-cosines[:, shuffled], axis=1, kind="stable")
    counts = np.zeros((len(cosines), len(sizes)), dtype=np.int64)
    for rows in bootstrap.chunks(drawings, 8 * len(groups)):
        drawn = _draw(members, sizes, size, rows.stop - rows.start, rng)
        for prompt, ordered in enumerate(order):
            counts[prompt] += _count(drawn[ordered], members[ordered], top, len(sizes))
    return np.asarray(counts / (drawings * top))


def compare(found: Floats, reference: Floats) -> Comparison:
    """Shares against the reference, both (regions, groups).

    Examples
    --------
    >>> found = np.array([[0.1], [0.2], [0.3], [0.4]])
    >>> comparison = compare(found, 2 * found)
    >>> round(comparison.groups[0].rho, 9), round(comparison.r2, 9)
    (1.0, 1.0)
    """
    if found.shape != reference.shape:
        raise ValueError(f"Shares of shape {found.shape} and a reference of shape {reference.shape}.")
    return Comparison(
        groups=tuple(correlate(*each) for each in zip(found.T, reference.T, strict=True)),
        r2=_r_squared(found, reference),
    )


def correlate(found: Floats, reference: Floats) -> Correlation:
    """Shares of a group, and its reference or another variable, both of shape (regions,)."""
    # imported here because it takes 0.6 s
    from scipy.stats import pearsonr

    if problem := _problem(found, reference):
        nan = float("nan")
        return Correlation(nan, nan, nan, nan, n_regions=len(found), problem=problem)
    result = pearsonr(found, reference)
    low, high = result.confidence_interval(0.95)
    return Correlation(
        float(result.statistic), float(low), float(high), float(result.pvalue), n_regions=len(found)
    )


def _problem(found: Floats, reference: Floats) -> str:
    if len(found) < LEAST_REGIONS:
        return FEW_REGIONS
    if not _varies(found):
        return EQUAL_SHARES
    return "" if _varies(reference) else EQUAL_REFERENCE


def _draw(
    members: Ints, sizes: Ints, size: int, drawings: int, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Which images each drawing has, shape (images, drawings)."""
    drawn = np.ones((len(members), drawings), dtype=np.bool_)
    for group in np.flatnonzero(sizes > size):
        keys = rng.random((int(sizes[group]), drawings))
        last = np.partition(keys, size - 1, axis=0)[size - 1]
        drawn[members == group] = keys <= last
    return drawn


def _count(drawn: npt.NDArray[np.bool_], members: Ints, top: int, groups: int) -> Ints:
    """The groups of the first `top` images of all drawings together. `drawn`: (images, drawings), the most
    similar image first."""
    taken = drawn & (np.cumsum(drawn, axis=0, dtype=np.int32) <= top)
    return np.bincount(members, weights=taken.sum(axis=1), minlength=groups).astype(np.int64)


def _r_squared(found: Floats, reference: Floats) -> float:
    regions, groups = found.shape
    if regions < groups + 2 or not all(_varies(each) for each in reference.T):
        return float("nan")
    predictors = np.column_stack([np.ones(regions), found])
    # shares sum to one, so the solution is not unique, and what it predicts is
    residuals = reference - predictors @ np.linalg.lstsq(predictors, reference)[0]
    spread = np.square(reference - reference.mean(axis=0)).sum(axis=0)
    return float((1 - np.square(residuals).sum(axis=0) / spread).mean())


def _varies(values: Floats) -> bool:
    return float(np.ptp(values)) > 1e-12 * float(np.abs(values).max())
