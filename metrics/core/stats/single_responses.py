r"""Responses of annotators who gave only one: drawn by kinds of response, not one by one (PROTOCOL §10).

Where annotators are not identified each response is a cluster of its own, so that a resample draws as many
responses as there are, each equally likely, and the draw weighs its image's own weight w. Two responses that
say the same and whose images have the same weight are then interchangeable. If M responses of N say p on
images of weight w, how often those M are drawn together in R draws is binomial(R, M / N), and all such cells
(w, p) together are multinomial: the very distribution of drawing single responses and counting. Nothing is
approximated; only which of the interchangeable ones were drawn is not asked.

.. math:: K_{ba} = \sum_w w \sum_p C_{bwp} k_{pa}, \qquad
          C_b \sim \mathrm{Multinomial}(R_b, M_{bwp} / N)
"""

from __future__ import annotations

import numpy as np

from metrics.core.stats.checks import Bools, Floats, Ints

# Drawing a cell takes about as long as drawing this many single responses, and an image's weight is one of
# about so many numbers.
_COST = 4
_WEIGHTS = 7


def groupable_responses(annotators: Ints, answers: Ints) -> Bools:
    """Which responses are their annotator's only one, if drawing them by kinds is quicker; else none."""
    single = (np.bincount(annotators) == 1)[annotators]
    kinds = len(np.unique(answers[single]))
    return single if _COST * _WEIGHTS * kinds <= int(single.sum()) else np.zeros_like(single)


def draw_answers(
    images: Ints,
    answers_of: Ints,
    *,
    answers: int,
    image_weights: Ints,
    draws: Ints,
    rng: np.random.Generator,
) -> Floats:
    """How often each answer counts in each resample: drawn, times the weight of its images.

    Parameters
    ----------
    images, answers_of : ndarray of int, shape (N,)
        Each response's image, as the columns of `image_weights`, and which of `answers` it is.
    image_weights : ndarray of int, shape (B, I)
    draws : ndarray of int, shape (B,)
        How many of the N responses are drawn, with replacement.

    Returns
    -------
    ndarray, shape (B, answers)
        Whole numbers, as floats.

    Examples
    --------
    >>> drawn_answers(np.array([0, 0, 1]), np.array([0, 0, 0]), answers=1, image_weights=np.array([[3, 0]]),
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
    # small numbers are compared many at a time
    weights = image_weights.astype(np.uint8) if most < 2**8 else image_weights
    # What falls on images of weight 0 counts nothing, and is what is left at the end.
    for weight in range(1, most + 1):
        cells = np.rint((weights == weight).astype(kind) @ table).astype(np.int64)
        for answer in np.flatnonzero(cells.any(axis=0)).tolist():
            among = cells[:, answer]
            share = np.divide(among, left, out=np.zeros(len(left)), where=left > 0)
            drawn = rng.binomial(open_draws, share)
            counted[:, answer] += weight * drawn
            left -= among
            open_draws -= drawn
    return counted
