r"""Resample responses of annotators who gave only one, in groups of equal responses (PROTOCOL §10).

Two equal responses to images of equal weight w are interchangeable. If M of N responses have answer p on
images of weight w, all such cells (w, p) are multinomial: the same distribution as drawing single responses.

.. math:: K_{ba} = \sum_w w \sum_p C_{bwp} k_{pa}, \qquad
          C_b \sim \mathrm{Multinomial}(R_b, M_{bwp} / N)
"""

import numpy as np

from metrics.core.stats.checks import Bools, Floats, Ints

# Drawing a cell takes about as long as drawing `_COST` single responses, and images have about `_WEIGHTS`
# different weights.
_COST = 4
_WEIGHTS = 7


def groupable_responses(annotators: Ints, answers: Ints) -> Bools:
    """Mask of the responses that are their annotator's only one, if drawing them in groups is faster; else
    all False."""
    single = (np.bincount(annotators) == 1)[annotators]
    distinct = len(np.unique(answers[single]))
    return single if _COST * _WEIGHTS * distinct <= int(single.sum()) else np.zeros_like(single)


def draw_answers(
    images: Ints,
    answers_of: Ints,
    *,
    answers: int,
    image_weights: Ints,
    draws: Ints,
    rng: np.random.Generator,
) -> Floats:
    """How often each answer counts in each resample (B, answers): draws times the weight of the image.

    `images` and `answers_of` (N,): each response's image, as a column of `image_weights` (B, I), the index
    of its answer. `draws` (B,): how many of the N responses are drawn, with replacement.

    Examples
    --------
    >>> draw_answers(np.array([0, 0, 1]), np.array([0, 0, 0]), answers=1, image_weights=np.array([[3, 0]]),
    ...               draws=np.array([0]), rng=np.random.default_rng(1)).tolist()
    [[0.0]]
    """
    # whole numbers are exact up to 2^24 in float32
    kind = np.float32 if len(images) < 2**24 else np.float64
    table = np.zeros((image_weights.shape[1], answers), dtype=kind)
    np.add.at(table, (images, answers_of), 1)
    left, open_draws = np.full(len(draws), len(images)), draws.copy()
    counted = np.zeros((len(draws), answers))
    most = int(image_weights.max())
    # comparing small integer types is faster
    weights = image_weights.astype(np.uint8) if most < 2**8 else image_weights
    # Draws of images of weight 0 count nothing; they are left over at the end.
    for weight in range(1, most + 1):
        cells = np.rint((weights == weight).astype(kind) @ table).astype(np.int64)
        for answer in np.flatnonzero(cells.any(axis=0)).tolist():
            members = cells[:, answer]
            share = np.divide(members, left, out=np.zeros(len(left)), where=left > 0)
            drawn = rng.binomial(open_draws, share)
            counted[:, answer] += weight * drawn
            left -= members
            open_draws -= drawn
    return counted
