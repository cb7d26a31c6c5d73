"""Pull of two models compared: the same resamples of what both were asked (PROTOCOL §9, §10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.core.stats import bootstrap, checks
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.pull.stats.pull import COLUMNS, columns_of, draws_within
from metrics.pull.stats.similarity import check_vectors, weighted_means

COMPARED = COLUMNS[:5]
"""Similarities between sets and what is made of them; those within a set say how large the others can be."""
_NAMES = ("default", "stereotypical", "non_stereotypical")


@dataclass(frozen=True)
class ImageVectors:
    """One set of images of a side: their vectors (n, dim) of length 1, and for each its prompt and which
    image it is, any labels (n,); equal labels on both sides are the same prompt or image."""

    vectors: ArrayLike
    prompts: ArrayLike
    images: ArrayLike


def paired_resampled(
    first: Sequence[ImageVectors], second: Sequence[ImageVectors], *, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """What `pull.resampled` gives of COMPARED, of both sides in the same resamples.

    Prompts of both sides are drawn once for both, so that what makes one description more stereotypical than
    another cancels; prompts of one side only are drawn for it alone. Within each drawn prompt as many images
    are drawn as it has: those of both sides (two embeddings of one image set) once for both, the others of
    each side for themselves. Where all prompts are shared, and all or no images, either side by itself is
    drawn as `pull.two_stage_weights` [1]_ does it.

    Parameters
    ----------
    first, second : three Pictures each
        Default, stereotypical and non-stereotypical images.
    resamples : int
    rng : numpy.random.Generator

    Returns
    -------
    (ndarray, ndarray) of float, shape (resamples, len(COMPARED)) each

    Raises
    ------
    ValueError
        As `similarity`; if a set is empty, holds an image twice, or an image has another prompt on each
        side.

    References
    ----------
    .. [1] Davison & Hinkley (1997), Bootstrap Methods and their Application. doi:10.1017/CBO9780511802843

    Examples
    --------
    >>> d, s, ns = (Pictures([each], [0], [place]) for place, each in enumerate(([1, 0], [0.8, 0.6], [0, 1])))
    >>> one, other = paired_resampled((d, s, ns), (d, ns, s), resamples=2, rng=np.random.default_rng(0))
    >>> one[:, 4].round(6).tolist(), other[:, 4].round(6).tolist()
    ([0.8, 0.8], [-0.8, -0.8])
    """
    sides = [
        check_vectors(**{name: each.vectors for name, each in zip(_NAMES, side, strict=True)})
        for side in (first, second)
    ]
    weights = [_paired_weights(*each, resamples, rng) for each in zip(_NAMES, first, second, strict=True)]
    found = [
        columns_of(
            *(weighted_means(vectors, drawn[place]) for vectors, drawn in zip(side, weights, strict=True))
        )
        for place, side in enumerate(sides)
    ]
    return found[0][:, : len(COMPARED)], found[1][:, : len(COMPARED)]


def _paired_weights(
    name: str, first: ImageVectors, second: ImageVectors, resamples: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """How often each image of one set of either side is drawn, shapes (resamples, n) and (resamples, m)."""
    images = _shared_numbers(f"{name} images", first.images, second.images)
    prompts = _shared_numbers(f"{name} prompts", first.prompts, second.prompts)
    for of_side, of_prompt in zip(images, prompts, strict=True):
        if not len(of_side):
            raise ValueError(f"{name} holds no image to resample on one of the sides.")
        if len(of_side) != len(of_prompt):
            raise ValueError(f"{name} has {len(of_side)} images and {len(of_prompt)} prompts; one of each.")
        if len(np.unique(of_side)) < len(of_side):
            raise ValueError(f"{name} holds an image twice on one side.")
    # places of the images of both sides, in one order
    _, *shared = np.intersect1d(*images, return_indices=True)
    if bool((prompts[0][shared[0]] != prompts[1][shared[1]]).any()):
        raise ValueError(f"{name} holds an image that has another prompt on each side.")
    of_prompts, of_shared, *own = rng.spawn(4)
    times = bootstrap.joint_weights(*prompts, resamples, of_prompts)
    columns = [np.unique(each, return_inverse=True)[1] for each in prompts]
    together = draws_within(columns[0][shared[0]], times[0], of_shared)
    found = []
    for column, drawn, places, alone in zip(columns, times, shared, own, strict=True):
        weights = np.empty((resamples, len(column)), dtype=np.int64)
        rest: Bools = np.ones(len(column), dtype=np.bool_)
        rest[places] = False
        weights[:, places] = together
        weights[:, rest] = draws_within(column[rest], drawn, alone)
        found.append(weights)
    return found[0], found[1]


def _shared_numbers(name: str, first: ArrayLike, second: ArrayLike) -> tuple[Ints, Ints]:
    """Labels of both sides as numbers in the order of first appearance, whatever they are called."""
    one, other = (_one_dimensional(name, each) for each in (first, second))
    numbers = checks.labels(name, np.concatenate([one, other]), length=len(one) + len(other))
    return numbers[: len(one)], numbers[len(one) :]


def _one_dimensional(name: str, given: ArrayLike) -> NDArray[np.generic]:
    array = np.asarray(given)
    if array.ndim != 1:
        raise ValueError(f"{name} have {array.ndim} dimensions; 1 is needed.")
    return array
