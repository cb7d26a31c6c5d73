"""Which associations are stereotypes, for each pool and threshold (PROTOCOL §3; Jha et al. 2023, SeeGULL, ACL
2023, doi:10.18653/v1/2023.acl-long.548)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import checks
from metrics.core.stats.checks import Bools, Floats

THRESHOLDS = (1, 2, 3)
POOLS = ("in-region", "out-region", "both")
CELLS = tuple((pool, threshold) for pool in POOLS for threshold in THRESHOLDS)
"""Columns of every table here. 'both' is the overlap: stereotypes for both pools."""


class StereotypeTable(NamedTuple):
    """`passed` (N, 9): whether each association is a stereotype in each of CELLS; `counted` (N, 9): whether
    it has votes from that pool."""

    passed: Bools
    counted: Bools


def stereotype_table(in_region: ArrayLike, out_region: ArrayLike) -> StereotypeTable:
    """Whether at least t annotators of a pool answered Stereotypical, for each pool and t of CELLS.

    `in_region`, `out_region` (N, 3): how many annotators of the pool gave each association the answers
    Stereotypical, Non-stereotypical and Unsure. A row of zeros has no votes: it is not a stereotype and not
    counted. The overlap counts associations with votes from both pools.

    Examples
    --------
    >>> found = stereotype_table([[2, 1, 0], [3, 0, 0]], [[1, 2, 0], [0, 0, 0]])
    >>> found.passed.sum(axis=0).tolist()
    [2, 2, 1, 1, 0, 0, 1, 0, 0]
    >>> found.counted.sum(axis=0).tolist()
    [2, 2, 2, 1, 1, 1, 1, 1, 1]
    """
    tables = []
    for name, votes in (("in_region", in_region), ("out_region", out_region)):
        table = checks.counts(name, votes, ndim=2)
        if table.shape[1] != 3:
            raise ValueError(
                f"{name} has {table.shape[1]} columns; it needs 3: Stereotypical, Non-stereotypical, Unsure."
            )
        tables.append(table)
    first, second = tables
    if len(first) != len(second):
        raise ValueError(
            f"in_region has {len(first)} associations and out_region {len(second)}; as many are needed."
        )
    at_least = np.array(THRESHOLDS)
    passed = [table[:, :1] >= at_least for table in tables]
    counted = [np.repeat(table.sum(axis=1)[:, None] > 0, len(THRESHOLDS), axis=1) for table in tables]
    return StereotypeTable(
        passed=np.hstack([*passed, passed[0] & passed[1]]),
        counted=np.hstack([*counted, counted[0] & counted[1]]),
    )


def resampled_shares(
    passed: ArrayLike, counted: ArrayLike, *, resamples: int, rng: np.random.Generator
) -> Floats:
    r"""Share of the counted rows that passed, in each resample of the rows [1]_, shape (resamples, M).

    As many rows are drawn, with replacement, as there are. The number of draws of each distinct row is
    multinomial, so the cost grows with the number of distinct rows, not with the number of rows.

    .. math:: s_{bm} = \frac{\sum_i w_{bi} \, passed_{im}}{\sum_i w_{bi} \, counted_{im}}

    `passed` and `counted` (N, M) are boolean, `passed` only where `counted`. NaN if a resample contains no
    counted row. If all rows passed, or none did, every resample is the same; the interval then has no width,
    which does not mean certainty.

    .. [1] Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 5.

    Examples
    --------
    >>> drawn = resampled_shares([[True], [True]], [[True], [True]], resamples=3,
    ...                          rng=np.random.default_rng(0))
    >>> drawn.tolist()
    [[1.0], [1.0], [1.0]]
    """
    top, bottom = np.asarray(passed), np.asarray(counted)
    if top.ndim != 2 or top.shape != bottom.shape:
        raise ValueError(
            f"passed has shape {top.shape} and counted {bottom.shape}; both need the same (N, M)."
        )
    if not len(top):
        raise ValueError("There is nothing to resample.")
    if top.dtype.kind != "b" or bottom.dtype.kind != "b":
        raise ValueError("passed and counted must be True or False.")
    if bool((top & ~bottom).any()):
        raise ValueError("A row passed where it is not counted.")
    if resamples < 1:
        raise ValueError(f"{resamples} resamples: at least 1 is needed.")
    kinds, number = np.unique(np.hstack([top, bottom]), axis=0, return_counts=True)
    weights = rng.multinomial(len(top), number / len(top), size=resamples)
    sums = weights.astype(np.float64) @ kinds.astype(np.float64)
    k, n = sums[:, : top.shape[1]], sums[:, top.shape[1] :]
    return np.asarray(np.divide(k, n, out=np.full(k.shape, np.nan), where=n > 0))
