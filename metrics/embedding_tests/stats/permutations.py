"""One-sided permutation p of a difference of means, over all splits or over sampled ones (PROTOCOL §12).

A difference of means grows with the sum of its first group, so a split is judged by the sum of a subset. A
subset of given size is drawn from blocks of a few values: how many lie in each block follows the
hypergeometric distribution, and all subsets of a block with that many values are equally likely, so their
sums stand in a table. This is exact, and costs two random numbers a block instead of one a value.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil, comb

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MOST_EXACT = 1_000_000
"""Splits, at most, for an exact p."""
_BLOCK = 14
_SLICE = 1 << 16
"""Permutations with one random generator, so that p does not depend on the number of threads."""
_CHUNK = 1 << 15
"""Permutations at a time: what is worked on stays in the processor's cache."""
_THREADS = 4
_TOLERANCE = 1e-12
"""Sums that differ by this share of the sum of all absolute values are equal."""


@dataclass(frozen=True)
class Permutations:
    """`exact`: over all `splits`, else over so many that were sampled."""

    p: float
    exact: bool
    splits: int


def permutation_test(x: Floats, y: Floats, *, permutations: int, rng: np.random.Generator) -> Permutations:
    """Share of the splits of `x`, shape (n_x,), and `y`, (n_y,), with a difference of means at least as large
    as theirs. Exact up to MOST_EXACT splits; else of `permutations` sampled splits, (b + 1) / (m + 1).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> permutation_test(np.array([3.0, 4.0]), np.array([1.0, 2.0]), permutations=1, rng=rng)
    Permutations(p=0.16666666666666666, exact=True, splits=6)
    """
    if permutations < 1:
        raise ValueError(f"{permutations} permutations: at least 1 is needed.")
    # The sum of the smaller group decides: a large sum of x is a small sum of y.
    values = np.concatenate([x, y]) if len(x) <= len(y) else -np.concatenate([y, x])
    values = values - values.mean()
    size = min(len(x), len(y))
    bound = float(values[:size].sum()) - _TOLERANCE * float(np.abs(values).sum())
    splits = comb(len(values), size)
    if splits <= MOST_EXACT:
        return Permutations(int((all_sums(values, size) >= bound).sum()) / splits, True, splits)
    reached = int((sampled_sums(values, size, permutations, rng) >= bound).sum())
    return Permutations((reached + 1) / (permutations + 1), False, permutations)


def all_sums(values: Floats, size: int) -> Floats:
    """The sums of all subsets of `size` of the values, in no order."""
    by_size = {0: np.zeros(1)}
    for number, value in enumerate(values, start=1):
        # Subsets that are already too small to become whole are left out.
        least = max(0, size - (len(values) - number))
        by_size = {
            chosen: np.concatenate(
                [by_size.get(chosen, np.empty(0)), by_size.get(chosen - 1, np.empty(0)) + value]
            )
            for chosen in range(least, min(number, size) + 1)
        }
    return by_size[size]


def sampled_sums(values: Floats, size: int, number: int, rng: np.random.Generator) -> Floats:
    """The sums of `number` independent random subsets of `size` of the values, shape (number,). All subsets
    are equally likely."""
    sums, left = np.zeros(number), np.full(number, size, dtype=np.int64)
    slices = [slice(start, min(start + _SLICE, number)) for start in range(0, number, _SLICE)]
    tasks = list(zip(slices, rng.spawn(len(slices)), strict=True))
    blocks = np.array_split(values, ceil(len(values) / _BLOCK))
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1, len(tasks))) as pool:
        remaining = len(values)
        for block in blocks:
            draw = _drawer(block, remaining, left, sums)
            _finish(pool.map(draw, tasks))
            remaining -= len(block)
    return sums


def _finish(results: Iterable[None]) -> None:
    for _ in results:
        pass


def _drawer(
    block: Floats, remaining: int, left: Ints, sums: Floats
) -> Callable[[tuple[slice, np.random.Generator]], None]:
    """What draws from `block` for a slice of the permutations. They have `left` values to draw from the
    `remaining` ones, those of the block included."""
    columns = len(block) + 1
    least = int(left.min())
    lefts, taken = np.arange(least, left.max() + 1)[:, None], np.arange(columns)
    ways = _log_choose(len(block), taken) + _log_choose(remaining - len(block), lefts - taken)
    keep, other = _alias_tables(np.exp(ways - ways.max(axis=1, keepdims=True)))
    sums_by_size, starts, counts = _subset_sums(block)

    def draw(task: tuple[slice, np.random.Generator]) -> None:
        rows, rng = task
        for start in range(rows.start, rows.stop, _CHUNK):
            part = slice(start, min(start + _CHUNK, rows.stop))
            uniform = rng.random(part.stop - part.start)
            uniform *= columns
            chosen = uniform.astype(np.int64)
            uniform -= chosen
            cell = (left[part] - least) * columns
            cell += chosen
            chosen = np.where(uniform < keep.take(cell), chosen, other.take(cell))
            left[part] -= chosen
            rng.random(out=uniform)
            uniform *= counts.take(chosen)
            place = uniform.astype(np.int64)
            place += starts.take(chosen)
            sums[part] += sums_by_size.take(place)

    return draw


def _log_choose(values: int, chosen: Ints) -> Floats:
    """Logarithm of how many subsets there are; minus infinity where `chosen` is below 0 or above `values`."""
    # imported here because it takes 0.2 s
    from scipy.special import gammaln

    # the logarithm of gamma is infinite at 0, -1, -2 ...
    found: Floats = gammaln(values + 1) - gammaln(chosen + 1) - gammaln(values - chosen + 1)
    return found


def _subset_sums(block: Floats) -> tuple[Floats, Ints, Floats]:
    """Sums of all subsets, the smaller subsets first; where those of each size start; how many there are."""
    sums, sizes = np.zeros(1), np.zeros(1, dtype=np.int64)
    for value in block:
        sums, sizes = np.concatenate([sums, sums + value]), np.concatenate([sizes, sizes + 1])
    counts = np.bincount(sizes)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return sums[np.argsort(sizes, kind="stable")], starts, counts.astype(np.float64)


def _alias_tables(weights: Floats) -> tuple[Floats, Ints]:
    """Walker's alias method for each row of `weights`, (rows, outcomes), of any sum.

    An outcome drawn uniformly is kept with its probability in the first table, else replaced by the one in
    the second. Both are flat.
    """
    rows, outcomes = np.arange(len(weights)), weights.shape[1]
    height = weights / weights.sum(axis=1, keepdims=True) * outcomes
    keep = np.ones_like(height)
    other = np.tile(np.arange(outcomes), (len(rows), 1))
    # An outcome that is done is never looked at again, also where rounding leaves the others just below one.
    done = np.zeros(height.shape, dtype=np.bool_)
    for _ in range(outcomes - 1):
        low = np.where(done, np.inf, height).argmin(axis=1)
        high = np.where(done, -np.inf, height).argmax(axis=1)
        missing = np.maximum(1 - height[rows, low], 0)
        keep[rows, low] = 1 - missing
        other[rows, low] = high
        height[rows, high] -= missing
        done[rows, low] = True
    return keep.ravel(), other.ravel()
