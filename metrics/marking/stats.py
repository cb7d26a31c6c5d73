"""Share of the texts about images that name the images' group (PROTOCOL §12)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metrics.core.stats.image_shares import Share, shares_of_images


@dataclass(frozen=True)
class Counts:
    """For each image of a group, in one order: how many texts it has, and how many of them name the group."""

    marked: Sequence[int]
    texts: Sequence[int]


def share_of_counts(counts: Counts, *, resamples: int | None, rng: np.random.Generator) -> Share:
    """The share of all texts, with a 95 % interval over images: clustered if `resamples` is None.

    Examples
    --------
    >>> share_of_counts(Counts([1, 0], [1, 1]), resamples=0, rng=np.random.default_rng(0)).value
    0.5
    """
    marked = np.asarray(counts.marked, dtype=np.int64).reshape(-1, 1)
    [found] = shares_of_images(marked, counts.texts, resamples=resamples, rng=rng)
    return found


def in_order_of_images(by_image: Mapping[int, tuple[int, int]]) -> Counts:
    """From image -> (marked, texts)."""
    ordered = [by_image[image] for image in sorted(by_image)]
    return Counts([marked for marked, _ in ordered], [texts for _, texts in ordered])
