"""Paired resamples of the pull of two models (PROTOCOL §9, §10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.core.stats import bootstrap, checks
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.pull.stats.pull import COLUMNS, check_vectors, columns_of, draws_within, weighted_means

COMPARED = COLUMNS[:5]
"""The compared columns: similarities between sets, their mean and x. Similarities within sets are not
compared."""
_NAMES = ("default", "stereotypical", "non_stereotypical")


@dataclass(frozen=True)
class ImageVectors:
    """One image set of a side: unit vectors (n, dim), and for each a label of its prompt and of its image
    (n,). Equal labels on both sides are the same prompt or image."""

    vectors: NDArray[Any]
    prompts: NDArray[Any]
    images: NDArray[Any]


def paired_resampled(
    first: Sequence[ImageVectors], second: Sequence[ImageVectors], *, resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The columns COMPARED of `pull.resampled`, for both sides in the same resamples, shape (resamples,
    len(COMPARED)) each.

    `first` and `second` are the default, stereotypical and non-stereotypical images of each side. Prompts on
    both sides are drawn once for both, so that differences between descriptions cancel; prompts on one side
    only are drawn for that side. Within each drawn prompt as many images are drawn as it has: images on both
    sides (two embeddings of one image set) once for both, the others separately for each side. If all prompts
    are shared, and all or no images, each side alone is drawn as in `pull.two_stage_weights`.

    Raises ValueError as `pull`; also if a set is empty or contains an image twice, or if an image has
    different prompts on the two sides.

    Examples
    --------
    >>> vectors = [1, 0], [0.8, 0.6], [0, 1]
    >>> d, s, ns = (ImageVectors([each], [0], [index]) for index, each in enumerate(vectors))
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
    """How often each image of a set is drawn on each side, shapes (resamples, n) and (resamples, m)."""
    images = _shared_numbers(f"{name} images", first.images, second.images)
    prompts = _shared_numbers(f"{name} prompts", first.prompts, second.prompts)
    for of_side, of_prompt in zip(images, prompts, strict=True):
        if not len(of_side):
            raise ValueError(f"{name} holds no image to resample on one of the sides.")
        if len(of_side) != len(of_prompt):
            raise ValueError(f"{name} has {len(of_side)} images and {len(of_prompt)} prompts; one of each.")
        if len(np.unique(of_side)) < len(of_side):
            raise ValueError(f"{name} holds an image twice on one side.")
    # indices of the shared images on each side, in the same order
    _, *shared = np.intersect1d(*images, return_indices=True)
    if bool((prompts[0][shared[0]] != prompts[1][shared[1]]).any()):
        raise ValueError(f"{name} holds an image that has another prompt on each side.")
    prompt_rng, shared_rng, *side_rngs = rng.spawn(4)
    times = bootstrap.joint_weights(*prompts, resamples, prompt_rng)
    columns = [np.unique(each, return_inverse=True)[1] for each in prompts]
    together = draws_within(columns[0][shared[0]], times[0], shared_rng)
    found = []
    for column, drawn, places, side_rng in zip(columns, times, shared, side_rngs, strict=True):
        weights = np.empty((resamples, len(column)), dtype=np.int64)
        rest: Bools = np.ones(len(column), dtype=np.bool_)
        rest[places] = False
        weights[:, places] = together
        weights[:, rest] = draws_within(column[rest], drawn, side_rng)
        found.append(weights)
    return found[0], found[1]


def _shared_numbers(name: str, first: ArrayLike, second: ArrayLike) -> tuple[Ints, Ints]:
    """The labels of both sides as numbers in order of first appearance."""
    one, other = np.asarray(first), np.asarray(second)
    for array in (one, other):
        if array.ndim != 1:
            raise ValueError(f"{name} have {array.ndim} dimensions; 1 is needed.")
    numbers = checks.labels(name, np.concatenate([one, other]), length=len(one) + len(other))
    return numbers[: len(one)], numbers[len(one) :]
