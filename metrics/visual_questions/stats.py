"""Shares of answers by group, and tests of whether groups get the same answers (PROTOCOL §12)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import bootstrap, checks
from metrics.core.stats.checks import Floats, Ints

LEAST_EXPECTED = 5
"""Where an expected count is smaller, the chi-square distribution is not good enough."""
PERMUTATIONS = 10_000
CHI_SQUARE, PERMUTATION = "chi-square", "permutation"
_Z = 1.959963984540054
_TIE = 1e-9


@dataclass(frozen=True)
class Homogeneity:
    """Pearson's statistic of a table of groups and answers, its degrees of freedom, and how p was found:
    CHI_SQUARE or PERMUTATION."""

    groups: int
    statistic: float
    df: int
    p: float
    method: str


def wilson(k: int, n: int) -> tuple[float, float]:
    """The 95 % interval of the share k of n (Wilson 1927, doi:10.1080/01621459.1927.10502953).

    Examples
    --------
    >>> [round(bound, 3) for bound in wilson(1, 10)]
    [0.018, 0.404]
    """
    if not 0 <= k <= n or n < 1:
        raise ValueError(f"{k} of {n} is no share.")
    share, z2 = k / n, _Z * _Z
    centre = share + z2 / (2 * n)
    half = _Z * ((share * (1 - share) + z2 / (4 * n)) / n) ** 0.5
    low, high = (centre - half) / (1 + z2 / n), (centre + half) / (1 + z2 / n)
    # 0 and 1 are in the interval of 0 and of n, but for rounding
    return (0.0 if k == 0 else low, 1.0 if k == n else high)


def homogeneity(
    table: ArrayLike, *, rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> Homogeneity | None:
    """Whether all groups get the same answers, from one answer for each image. `table` (G, C): images of each
    group with each answer. Rows and columns of zeros are left out; None if fewer than two are left.

    p is that of the chi-square distribution if every expected count is at least LEAST_EXPECTED. Else it is
    (b + 1) / (m + 1), where b of m tables with the same margins have at least this statistic: that is
    permuting the images between the groups.

    Examples
    --------
    >>> found = homogeneity([[30, 10], [10, 30]], rng=np.random.default_rng(0))
    >>> found.statistic, found.df, found.method
    (20.0, 1, 'chi-square')
    """
    # imported here because it takes 0.6 s
    from scipy import stats

    counts = _without_zeros(checks.counts("table", table, ndim=2))
    if min(counts.shape) < 2:
        return None
    expected = _expected(counts)
    statistic = float(_statistics(counts[None], expected)[0])
    df = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if expected.min() >= LEAST_EXPECTED:
        p, method = float(stats.chi2.sf(statistic, df)), CHI_SQUARE
    else:
        drawn = stats.random_table(counts.sum(axis=1), counts.sum(axis=0), seed=rng)
        reached = 0
        for part in bootstrap.chunks(permutations, counts.size):
            tables = drawn.rvs(size=part.stop - part.start)
            reached += int((_statistics(tables, expected) >= statistic * (1 - _TIE)).sum())
        p, method = (reached + 1) / (permutations + 1), PERMUTATION
    return Homogeneity(counts.shape[0], statistic, df, p, method)


def homogeneity_of_images(
    groups: ArrayLike,
    counts: ArrayLike,
    *,
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> Homogeneity | None:
    """The same where images have several answers, which are alike: p always permutes whole images.

    `groups` (I,): the group of each image, any labels; `counts` (I, C): its answers of each kind.
    """
    of_image = checks.counts("counts", counts, ndim=2)
    kept = of_image.sum(axis=1) > 0
    of_image = of_image[kept][:, of_image.sum(axis=0) > 0]
    group_of = checks.labels("groups", np.asarray(groups)[kept], length=len(of_image))
    number = int(group_of.max()) + 1 if len(group_of) else 0
    if number < 2 or of_image.shape[1] < 2:
        return None
    statistic = float(_pearson(_tables(group_of[None], of_image, number))[0])
    reached = 0
    for part in bootstrap.chunks(permutations, of_image.size + len(group_of)):
        labels = rng.permuted(np.tile(group_of, (part.stop - part.start, 1)), axis=1)
        reached += int((_pearson(_tables(labels, of_image, number)) >= statistic * (1 - _TIE)).sum())
    df = (number - 1) * (of_image.shape[1] - 1)
    return Homogeneity(number, statistic, df, (reached + 1) / (permutations + 1), PERMUTATION)


def _without_zeros(counts: Ints) -> Ints:
    kept: Ints = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    return kept


def _expected(counts: Ints) -> Floats:
    return np.asarray(np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum())


def _statistics(tables: Ints, expected: Floats) -> Floats:
    """Pearson's statistic of each table (B, G, C)."""
    return np.asarray(((tables - expected) ** 2 / expected).sum(axis=(1, 2)))


def _tables(labels: Ints, counts: Ints, number: int) -> Ints:
    """The table (B, G, C) of each of B labellings (B, I)."""
    return np.stack([(labels == group).astype(np.int64) @ counts for group in range(number)], axis=1)


def _pearson(tables: Ints) -> Floats:
    """Pearson's statistic of each table; where images have different numbers of answers, each has margins of
    its own."""
    rows, columns = tables.sum(axis=2, keepdims=True), tables.sum(axis=1, keepdims=True)
    expected = rows * columns / tables.sum(axis=(1, 2), keepdims=True)
    return np.asarray(((tables - expected) ** 2 / expected).sum(axis=(1, 2)))
