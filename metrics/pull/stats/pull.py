"""Stereotypical pull: how similar a group's default images are to its stereotypical ones (PROTOCOL §9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import checks
from metrics.core.stats.bootstrap import cluster_weights
from metrics.core.stats.checks import Floats, Ints

# The columns of `resampled`.
COLUMNS = ("s_d_s", "s_d_ns", "s_s_ns", "s_mean", "x", "s_d_d", "s_s_s", "s_ns_ns")
_INNER = COLUMNS[-3:]
# Draws in memory at a time: half a million integers are 4 MB, whatever the number of images.
_CHUNK_SIZE = 500_000
# Tolerance for the length of a stored unit vector: float32 and half precision round.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Pull:
    """Result of `pull`. NaN means undefined; `pulled` is None if x is undefined."""

    s_d_s: float
    s_d_ns: float
    s_s_ns: float
    s_mean: float
    x: float
    s_d_d: float
    s_s_s: float
    s_ns_ns: float
    pulled: bool | None


def pull(default: ArrayLike, stereotypical: ArrayLike, non_stereotypical: ArrayLike) -> Pull:
    """The similarities of one identity group's three image sets, and whether it is pulled.

    `default`, `stereotypical` and `non_stereotypical` are the embeddings of the images, of shapes (n, dim),
    (m, dim) and (k, dim) and of length 1 (`check_vectors` raises ValueError). `s_mean` is the mean of S(d,s),
    S(d,ns) and S(s,ns); `x` = S(d,s) − S(d,ns); `pulled` is whether x is above 0. `s_d_d`, `s_s_s` and
    `s_ns_ns` are the similarities within each set, which indicate how large the others can be. Values that
    need an empty set are NaN.

    Examples
    --------
    >>> found = pull([[1.0, 0.0]], [[0.8, 0.6]], [[0.0, 1.0]])
    >>> round(found.x, 6), found.pulled
    (0.8, True)
    """
    sets = check_vectors(default=default, stereotypical=stereotypical, non_stereotypical=non_stereotypical)
    values = dict(zip(COLUMNS, columns_of(*(weighted_means(each) for each in sets))[0].tolist(), strict=True))
    x = values["x"]
    return Pull(**values, pulled=None if x != x else x > 0)


def two_stage_weights(prompts: ArrayLike, resamples: int, rng: np.random.Generator) -> Ints:
    """How often each image is drawn if prompts are drawn first, and then images within each drawn prompt.

    `prompts` (n,) are any labels; images with the same label are one cluster. As many prompts are drawn with
    replacement as there are; for each draw of a prompt, as many of its images are drawn anew with replacement
    as it has. With a single prompt only images are drawn. It is conservative: the variation within a prompt
    is counted in the draw of prompts and again in the draw of images (Davison & Hinkley 1997, Bootstrap
    Methods and their Application, section 3.8, doi:10.1017/CBO9780511802843). Shape (resamples, n).

    Examples
    --------
    >>> two_stage_weights(["a", "a", "b", "b"], 3, np.random.default_rng(0)).sum(axis=1).tolist()
    [4, 4, 4]
    """
    values = np.asarray(prompts)
    label = checks.labels("prompts", values, length=values.size)
    if not label.size:
        raise ValueError("There is no image to resample.")
    times = cluster_weights(int(label.max()) + 1, resamples, rng)
    return draws_within(label, times, rng)


def draws_within(cluster_of: Ints, times: Ints, rng: np.random.Generator) -> Ints:
    """How often each image is drawn, given how often (`times`, (B, P)) its cluster was drawn. For each draw
    of a cluster, as many of its images are drawn with replacement as it has.

    `cluster_of` (n,): the column of `times` of each image. Shape (B, n).

    Examples
    --------
    >>> drawn = draws_within(np.array([0, 0, 1]), np.array([[2, 0]]), np.random.default_rng(0))
    >>> int(drawn.sum()), drawn[0, 2].item()
    (4, 0)
    """
    images, sizes = len(cluster_of), np.bincount(cluster_of, minlength=times.shape[1])
    order, first = np.argsort(cluster_of, kind="stable"), np.cumsum(sizes) - sizes
    weights = np.zeros((len(times), images), dtype=np.int64)
    step = max(1, _CHUNK_SIZE // max(1, images))
    for start in range(0, len(times), step):
        rows = times[start : start + step]
        # one entry for each draw of an image: its resample and its cluster
        number = (rows * sizes).ravel()
        row = np.repeat(np.repeat(np.arange(len(rows)), len(sizes)), number)
        cluster = np.repeat(np.tile(np.arange(len(sizes)), len(rows)), number)
        drawn = order[first[cluster] + rng.integers(0, sizes[cluster])]
        counted = np.bincount(row * images + drawn, minlength=len(rows) * images)
        weights[start : start + step] = counted.reshape(len(rows), images)
    return weights


def resampled(
    default: ArrayLike,
    stereotypical: ArrayLike,
    non_stereotypical: ArrayLike,
    *,
    prompts: tuple[ArrayLike, ArrayLike, ArrayLike],
    resamples: int,
    rng: np.random.Generator,
) -> Floats:
    """The values of `pull` in each resample of prompts and images, shape (resamples, len(COLUMNS)).

    `prompts`, of shapes (n,), (m,) and (k,), are the clusters of the images of `pull`. The three sets are
    drawn independently (`two_stage_weights`). All similarities of a resample come from the same draw, so that
    the interval of x is that of a difference. An image that is drawn twice is not paired with itself, but a
    prompt is, and its images are alike: similarities within a set are therefore moved so that their mean is
    the estimate. Computed as products of weights and vectors, without a loop over resamples. NaN if a value
    is undefined in a resample.

    Examples
    --------
    >>> one = resampled([[1.0, 0.0]], [[0.8, 0.6]], [[0.0, 1.0]], prompts=([1], [1], [1]), resamples=2,
    ...                 rng=np.random.default_rng(0))
    >>> one[:, COLUMNS.index("x")].round(6).tolist()
    [0.8, 0.8]
    """
    sets = check_vectors(default=default, stereotypical=stereotypical, non_stereotypical=non_stereotypical)
    means = []
    for images, of_set in zip(sets, prompts, strict=True):
        checks.labels("prompts", of_set, length=len(images))
        weights = two_stage_weights(of_set, resamples, rng) if len(images) else np.zeros((resamples, 0))
        means.append(weighted_means(images, weights))
    return _recentre_within(columns_of(*means), columns_of(*(weighted_means(each) for each in sets))[0])


def resampled_mean(samples: ArrayLike, *, rng: np.random.Generator) -> Floats:
    """Means over groups in resamples of the groups and of their images, shape (B, K).

    `samples` (G, B, K): the values of each group in its own resamples. In each of the B resamples as many
    groups are drawn with replacement as there are, and for each drawn group one of its own resamples, with
    all its columns. NaN if a drawn group has no value: the mean of the others would be a different number.

    Examples
    --------
    >>> resampled_mean([[[1.0], [1.0]]], rng=np.random.default_rng(0)).tolist()
    [[1.0], [1.0]]
    """
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim != 3 or not values.shape[0] or not values.shape[1]:
        raise ValueError(
            f"samples has shape {values.shape}; (G, B, K) with at least one group and one resample is needed."
        )
    groups, resamples = values.shape[:2]
    group = rng.integers(0, groups, size=(resamples, groups))
    row = rng.integers(0, resamples, size=(resamples, groups))
    return np.asarray(values[group, row].mean(axis=1))


def _recentre_within(drawn: Floats, estimates: Floats) -> Floats:
    """The resamples (B, K), with S within each set moved so that the mean is the estimate (K,).

    A resample pairs images of the same prompt about twice as often as the study does, so that its images are
    always more alike. The interval only needs the spread (`percentiles.recentred`).
    """
    found = drawn.copy()
    for place in map(COLUMNS.index, _INNER):
        known = ~np.isnan(drawn[:, place])
        if known.any():
            moved = drawn[:, place] - drawn[known, place].mean() + estimates[place]
            found[:, place] = np.clip(moved, -1.0, 1.0)
    return found


def columns_of(default: Means, stereotypical: Means, non_stereotypical: Means) -> Floats:
    """The values of COLUMNS for each of M weightings of the three sets, shape (M, len(COLUMNS))."""
    d_s = between(default, stereotypical)
    d_ns = between(default, non_stereotypical)
    s_ns = between(stereotypical, non_stereotypical)
    inner = [within(each) for each in (default, stereotypical, non_stereotypical)]
    return np.column_stack([d_s, d_ns, s_ns, (d_s + d_ns + s_ns) / 3, d_s - d_ns, *inner])


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


def check_vectors(**sets: ArrayLike) -> list[VectorSet]:
    """The named sets with the lengths of their vectors. Raises ValueError unless all are arrays of numbers
    (n, dim) with the same `dim` and a length within 0.001 of 1; a set without vectors has any dimension."""
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
    r"""S(X, Y) for each weighting: the mean cosine similarity over all pairs, without computing them.

    .. math:: S(X, Y) = \frac{1}{nm} \sum_i \sum_j \cos(x_i, y_j) = \bar u \cdot \bar v
    """
    if not one.vectors.shape[1]:
        return np.full(len(one.total), np.nan)
    return np.asarray(np.einsum("md,md->m", one.vectors, other.vectors))


def within(one: Means) -> Floats:
    r"""S(X, X) for each weighting; pairs of an image with itself, weighted by `squares`, are removed.

    .. math:: S(X, X) = \frac{|\sum_i u_i|^2 - n}{n (n - 1)}
    """
    pairs = one.total**2 - one.squares
    sums = between(one, one) * one.total**2 - one.squares
    return np.asarray(np.divide(sums, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0))
