"""Stereotypical pull: how similar a group's default images are to its stereotypical ones (PROTOCOL §9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import checks
from metrics.core.stats.bootstrap import cluster_weights
from metrics.core.stats.checks import Floats, Ints
from metrics.pull.stats.similarity import Means, between, check_vectors, weighted_means, within

# The columns of `resampled`.
COLUMNS = ("s_d_s", "s_d_ns", "s_s_ns", "s_mean", "x", "s_d_d", "s_s_s", "s_ns_ns")
_INNER = COLUMNS[-3:]
# Draws in memory at a time: half a million integers are 4 MB, whatever the number of images.
_CHUNK_SIZE = 500_000


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

    Parameters
    ----------
    default, stereotypical, non_stereotypical : array_like of float, shapes (n, dim), (m, dim), (k, dim)
        The embeddings of the images; see `similarity`.

    Returns
    -------
    Pull
        `s_mean` is the mean of S(d,s), S(d,ns) and S(s,ns); `x` = S(d,s) − S(d,ns); `pulled` is whether x is
        above 0. `s_d_d`, `s_s_s` and `s_ns_ns` are the similarities within each set, which indicate how large
        the others can be. Values that need an empty set are NaN.

    Raises
    ------
    ValueError
        As `similarity`.

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

    As many prompts are drawn with replacement as there are; for each draw of a prompt, as many of its images
    are drawn anew with replacement as it has. With a single prompt only images are drawn. It is conservative:
    the variation within a prompt is counted in the draw of prompts and again in the draw of images (Davison &
    Hinkley [1]_, section 3.8).

    Parameters
    ----------
    prompts : array_like, shape (n,)
        Any labels; images with the same label are one cluster.
    resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (resamples, n)

    References
    ----------
    .. [1] Davison & Hinkley (1997), Bootstrap Methods and their Application. doi:10.1017/CBO9780511802843

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
    """The values of `pull` in each resample of prompts and images.

    The three sets are drawn independently (`two_stage_weights`). All similarities of a resample come from the
    same draw, so that the interval of x is that of a difference. An image that is drawn twice is not paired
    with itself, but a prompt is, and its images are alike: similarities within a set are therefore moved so
    that their mean is the estimate. Computed as products of weights and vectors, without a loop over
    resamples.

    Parameters
    ----------
    default, stereotypical, non_stereotypical : array_like of float
        As in `pull`.
    prompts : three array_like, shapes (n,), (m,), (k,)
        The cluster of each image.
    resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of float, shape (resamples, len(COLUMNS))
        NaN if a value is undefined in a resample.

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
    """Means over groups in resamples of the groups and of their images.

    In each of the B resamples as many groups are drawn with replacement as there are, and for each drawn
    group one of its own resamples, with all its columns.

    Parameters
    ----------
    samples : array_like of float, shape (G, B, K)
        The values of each group in its own resamples.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of float, shape (B, K)
        NaN if a drawn group has no value: the mean of the others would be a different number.

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
