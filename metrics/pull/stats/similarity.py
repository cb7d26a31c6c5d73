"""Mean cosine similarities between and within sets of image vectors (PROTOCOL §9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Floats

# Tolerance for the length of a stored unit vector: float32 and half precision round.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class VectorSet:
    """The vectors (n, dim) of a set and their lengths (n,). Dividing the weights by the lengths is cheaper
    than copying the vectors to normalise them."""

    vectors: Floats
    lengths: Floats

    def __len__(self) -> int:
        return len(self.vectors)


@dataclass(frozen=True)
class Means:
    """Means (M, dim) of M weightings of one set; `total` (M,) are the sums of the weights, `squares` (M,) of
    their squares."""

    vectors: Floats
    total: Floats
    squares: Floats


def similarity(first: ArrayLike, second: ArrayLike) -> float:
    r"""Mean cosine similarity over all pairs of an image of one set and an image of another.

    .. math:: S(X, Y) = \frac{1}{nm} \sum_i \sum_j \cos(x_i, y_j) = \bar u \cdot \bar v

    where :math:`\bar u, \bar v` are the means of the vectors scaled to length 1: O((n + m) · dim), without
    computing pairs.

    Parameters
    ----------
    first, second : array_like of float, shapes (n, dim) and (m, dim)
        Vectors of length 1. A length that differs from 1 by more than 0.001 is an error; smaller deviations
        (vectors are stored as float32) are corrected.

    Returns
    -------
    float
        Between -1 and 1; NaN (missing) if a set is empty.

    Raises
    ------
    ValueError
        If a vector is not of length 1, or the numbers of dimensions differ.

    References
    ----------
    .. [1] Jha et al. (2024), ViSAGe, ACL 2024, section 5.3. doi:10.18653/v1/2024.acl-long.667

    Examples
    --------
    >>> similarity([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]])
    0.5
    """
    sets = check_vectors(first=first, second=second)
    one, other = (weighted_means(each) for each in sets)
    return float(between(one, other)[0])


def similarity_within(vectors: ArrayLike) -> float:
    r"""Mean cosine similarity over all pairs of two different images of one set.

    .. math:: S(X, X) = \frac{|\sum_i u_i|^2 - n}{n (n - 1)}

    The formula removes the n pairs of an image with itself, whose similarity is 1.

    Parameters
    ----------
    vectors : array_like of float, shape (n, dim)
        As in `similarity`.

    Returns
    -------
    float
        NaN (missing) for fewer than two images.

    Examples
    --------
    >>> similarity_within([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    0.3333333333333333
    """
    (images,) = check_vectors(vectors=vectors)
    return float(within(weighted_means(images))[0])


def check_vectors(**sets: ArrayLike) -> list[VectorSet]:
    """Check that the sets hold unit vectors of the same dimension, and return them with their lengths."""
    found: list[VectorSet] = []
    dims: dict[str, int] = {}
    for name, values in sets.items():
        vectors = np.asarray(values)
        if not vectors.size:
            found.append(VectorSet(np.zeros((0, 0)), np.zeros(0)))
            continue
        if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
            raise ValueError(
                f"{name} has shape {vectors.shape} of {vectors.dtype}; numbers (n, dim) are needed."
            )
        vectors = vectors.astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        # written so that NaN fails too
        odd = np.flatnonzero(~(np.abs(lengths - 1) <= _TOLERANCE))
        if odd.size:
            raise ValueError(
                f"{name} holds unit vectors only; number {odd[0]} of {len(vectors)} has length "
                f"{lengths[odd[0]]:.4f}."
            )
        dims[name] = vectors.shape[1]
        found.append(VectorSet(vectors, lengths))
    if len(set(dims.values())) > 1:
        dimensions = ", ".join(f"{name} {dim}" for name, dim in dims.items())
        raise ValueError(f"Vectors of different numbers of dimensions cannot be compared: {dimensions}.")
    dim = max(dims.values(), default=0)
    return [each if len(each) else VectorSet(np.zeros((0, dim)), each.lengths) for each in found]


def weighted_means(images: VectorSet, weights: ArrayLike | None = None) -> Means:
    """The mean for each weighting (M, n), by default one equal weighting; NaN if all weights are 0."""
    by = np.ones((1, len(images))) if weights is None else np.asarray(weights, dtype=np.float64)
    total = by.sum(axis=1)
    sums = (by / images.lengths) @ images.vectors
    means = np.divide(sums, total[:, None], out=np.full(sums.shape, np.nan), where=total[:, None] > 0)
    return Means(means, total, (by * by).sum(axis=1))


def between(one: Means, other: Means) -> Floats:
    if not one.vectors.shape[1]:
        return np.full(len(one.total), np.nan)
    return np.asarray(np.einsum("md,md->m", one.vectors, other.vectors))


def within(one: Means) -> Floats:
    """S(X, X) for each weighting; pairs of an image with itself, weighted by `squares`, are removed."""
    pairs = one.total**2 - one.squares
    sums = between(one, one) * one.total**2 - one.squares
    return np.asarray(np.divide(sums, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0))
