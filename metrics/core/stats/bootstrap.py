"""Two-way cluster bootstrap over images and annotators (PROTOCOL §10)."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import checks, single_responses
from metrics.core.stats.checks import Floats, Ints

# Weights held at once: 4 million numbers are 32 MB, whatever the size of the study.
_CHUNK_SIZE = 4_000_000


def generator(seed: int, name: str) -> np.random.Generator:
    """A generator for one identity group: the same seed and name give the same draws whichever other
    groups are computed beside it, in whichever database.

    Examples
    --------
    >>> bool(generator(1, "Mexican").random() == generator(1, "Mexican").random())
    True
    """
    if seed < 0:
        raise ValueError(f"A seed is a whole number of at least 0, not {seed}.")
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def cluster_weights(clusters: int, resamples: int, rng: np.random.Generator) -> Ints:
    """How often each of `clusters` is drawn when as many are drawn with replacement.

    Returns
    -------
    ndarray of int, shape (resamples, clusters)
        Every row sums to `clusters`.

    Examples
    --------
    >>> cluster_weights(3, 4, np.random.default_rng(0)).sum(axis=1).tolist()
    [3, 3, 3, 3]
    """
    if clusters < 1 or resamples < 1:
        raise ValueError(f"{clusters} clusters and {resamples} resamples: both must be at least 1.")
    drawn = rng.integers(0, clusters, size=(resamples, clusters))
    drawn += np.arange(resamples)[:, None] * clusters
    return np.bincount(drawn.ravel(), minlength=resamples * clusters).reshape(resamples, clusters)


def joint_weights(
    first: ArrayLike, second: ArrayLike, resamples: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """`cluster_weights` of two sides that may have clusters in common.

    Clusters in both are drawn once for both; those of one side only are drawn for it alone. Each of the
    three strata is drawn with replacement, as many as it has, so that either side is as large in a resample
    as it is.

    Parameters
    ----------
    first, second : array_like of int, shape (R,) and (S,)
        The cluster of each row of a side; equal labels on both sides are the same cluster.

    Returns
    -------
    (ndarray, ndarray) of int, shapes (resamples, I) and (resamples, J)
        A column for each different label of the side, in rising order.

    Examples
    --------
    >>> one, other = joint_weights([5, 7, 7], [5, 7, 9], 4, np.random.default_rng(0))
    >>> bool((one == other[:, :2]).all()), other[:, 2].tolist()
    (True, [1, 1, 1, 1])
    """
    both = np.intersect1d(first, second)
    shared = cluster_weights(len(both), resamples, rng) if len(both) else None
    found = []
    for labels in (first, second):
        ordered = np.unique(labels)
        weights = np.zeros((resamples, len(ordered)), dtype=np.int64)
        known = np.isin(ordered, both)
        if shared is not None:
            weights[:, known] = shared[:, np.searchsorted(both, ordered[known])]
        if not known.all():
            weights[:, ~known] = cluster_weights(int((~known).sum()), resamples, rng)
        found.append(weights)
    return found[0], found[1]


class AnnotatorDraws:
    """How often each annotator counts in each of B resamples, the same in all that they judged.

    For numbers of several groups together: what one person does is in all the groups that they judged, and
    drawing people anew for each group would let it cancel. Each is drawn when first met, from a Poisson
    distribution of mean 1. Of many people that is drawing as many as there are with replacement, and nobody
    has to be counted beforehand [1]_. Labels below 0 are of answers of which nobody knows who gave them: not
    drawn here.

    References
    ----------
    .. [1] Owen & Eckles (2012), Bootstrapping data arrays of arbitrary order, Annals of Applied Statistics
           6(3), 895-927. doi:10.1214/12-AOAS547

    Examples
    --------
    >>> people = People(4, np.random.default_rng(0))
    >>> first = people.weights([8, 3])
    >>> bool((people.weights([5, 3])[:, 1] == first[:, 1]).all())
    True
    """

    def __init__(self, resamples: int, rng: np.random.Generator) -> None:
        self._resamples, self._rng = resamples, rng
        self._drawn: dict[int, Ints] = {}

    def weights(self, annotators: Sequence[int]) -> Ints:
        """Of each of `annotators`, shape (B, J); those who are new are drawn in this order."""
        for one in annotators:
            if one not in self._drawn:
                self._drawn[one] = self._rng.poisson(1.0, size=self._resamples)
        drawn = [self._drawn[one] for one in annotators]
        return np.column_stack(drawn) if drawn else np.zeros((self._resamples, 0), dtype=np.int64)


def weighted_sums(
    selected: ArrayLike,
    shown: ArrayLike,
    images: ArrayLike,
    annotators: ArrayLike,
    *,
    image_weights: ArrayLike,
    annotator_weights: ArrayLike,
) -> tuple[Floats, Floats]:
    r"""k and n of every attribute under given resampling weights.

    .. math:: K_{ba} = \sum_r w_{b,image(r)} \, v_{b,annotator(r)} \, k_{ra}

    Parameters
    ----------
    selected, shown : array_like of int, shape (R, A)
        For response r and attribute a: selected and shown, 0 or 1 (or more, if shown repeatedly).
    images, annotators : array_like of int, shape (R,)
        Cluster of each response, as the columns of the weights.
    image_weights, annotator_weights : array_like of int, shapes (B, I) and (B, J)
        How often each cluster was drawn in each resample.

    Returns
    -------
    (ndarray, ndarray), each of shape (B, A)
        Whole numbers, as floats.
    """
    k, n = checks.selected_of_shown(selected, shown, ndim=2)
    image_of, annotator_of = np.asarray(images), np.asarray(annotators)
    by_image = checks.counts("image_weights", image_weights, ndim=2)
    by_annotator = checks.counts("annotator_weights", annotator_weights, ndim=2)
    if image_of.shape != (len(k),) or annotator_of.shape != (len(k),):
        raise ValueError(
            f"There are {len(k)} responses, with images of shape {image_of.shape} and annotators of shape "
            f"{annotator_of.shape}; each response needs one of each."
        )
    if len(by_image) != len(by_annotator):
        raise ValueError(
            f"{len(by_image)} resamples of images and {len(by_annotator)} of annotators; as many of each."
        )
    # What one annotator says of one image always counts as often: added up before it is weighed.
    pairs, pair_of = np.unique(np.column_stack([image_of, annotator_of]), axis=0, return_inverse=True)
    both = np.zeros((len(pairs), 2 * k.shape[1]))
    np.add.at(both, pair_of.ravel(), np.hstack([k, n]))
    kind = _exact_float_type(by_image, by_annotator, both)
    both, first, second = both.astype(kind), by_image.astype(kind), by_annotator.astype(kind)
    sums = np.empty((len(by_image), both.shape[1]))
    step = max(1, _CHUNK_SIZE // max(1, len(pairs)))
    for start in range(0, len(by_image), step):
        rows = slice(start, start + step)
        weights = first[rows][:, pairs[:, 0]]
        np.multiply(weights, second[rows][:, pairs[:, 1]], out=weights)
        sums[rows] = weights @ both
    return sums[:, : k.shape[1]], sums[:, k.shape[1] :]


def _exact_float_type(
    by_image: Ints, by_annotator: Ints, both: Floats
) -> type[np.float32] | type[np.float64]:
    """The smaller kind of float in which no sum is rounded: whole numbers are exact up to 2^24 in float32."""
    if not both.size or not by_image.size:
        return np.float64
    most = float(by_image.max()) * float(by_annotator.max()) * float(both.sum(axis=0).max())
    return np.float32 if most < 2**24 else np.float64


def resampled_likelihoods(
    selected: ArrayLike,
    shown: ArrayLike,
    images: ArrayLike,
    annotators: ArrayLike,
    *,
    resamples: int,
    rng: np.random.Generator,
    answers: ArrayLike | None = None,
    people: AnnotatorDraws | None = None,
) -> tuple[Floats, Floats]:
    """Likelihoods and selections of one identity group in each resample of images and annotators.

    Images and annotators are drawn independently, each with replacement and as many as there are; a
    response weighs the product of how often its image and its annotator were drawn, the "pigeonhole"
    bootstrap [1]_. It errs on the safe side: never too narrow for two crossed kinds of cluster, but where
    neither images nor annotators differ its variance is about three times the true one, which makes the
    interval 1.7 times too wide. Where annotators are not identified, give each response a cluster of its
    own: two answers of one person then count as independent, which nothing here can make up for.

    Annotators who gave one response each are not drawn one by one where many of those responses are the
    same: how often each kind of response is drawn has the same distribution, and takes no longer for ten
    million of them (`metrics.core.stats.single_responses`).

    Parameters
    ----------
    selected, shown : array_like of int, shape (R, A)
        As in `weighted_sums`.
    images, annotators : array_like, shape (R,)
        Any labels; equal labels are one cluster.
    resamples : int
    rng : numpy.random.Generator
    answers : array_like of int, shape (R,), optional
        Which row of `selected` and `shown` each response is, where they hold different answers once each.
    people : People, optional
        Draws the annotators of several groups once for all; without, they are drawn for this one alone.

    Returns
    -------
    (ndarray, ndarray), each of shape (resamples, A)
        k / n, NaN where an attribute was not shown in a resample, so that it drops out of that resample's
        mean; and k.

    References
    ----------
    .. [1] Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics 1(2), 386-411.
           doi:10.1214/07-AOAS122

    Examples
    --------
    >>> values, _ = resampled_likelihoods([[1], [1]], [[1], [1]], [1, 2], [7, 8], resamples=3,
    ...                                   rng=np.random.default_rng(1))
    >>> sorted(set(values[~np.isnan(values)].tolist()))
    [1.0]
    """
    k, n = checks.selected_of_shown(selected, shown, ndim=2)
    if answers is None:
        k, n, answer_of = _unique_answers(k, n)
    else:
        answer_of = np.asarray(answers)
        if answer_of.ndim != 1 or (answer_of.size and not 0 <= answer_of.min() <= answer_of.max() < len(k)):
            raise ValueError(f"answers must be rows of selected and shown, of which there are {len(k)}.")
    if not len(answer_of):
        raise ValueError("There is no response to resample.")
    image_of = checks.labels("images", images, length=len(answer_of))
    for_images, for_annotators = rng.spawn(2)
    top, bottom = sums_over_annotators(
        k,
        n,
        answer_of,
        image_of,
        np.asarray(annotators),
        image_weights=cluster_weights(int(image_of.max()) + 1, resamples, for_images),
        rng=for_annotators,
        people=people,
    )
    values = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
    return values, top


def sums_over_annotators(
    k: Ints,
    n: Ints,
    answer_of: Ints,
    image_of: Ints,
    annotators: Ints,
    *,
    image_weights: Ints,
    rng: np.random.Generator,
    people: AnnotatorDraws | None = None,
) -> tuple[Floats, Floats]:
    """k and n of every attribute, shape (B, A) each, for given weights of the images and drawn annotators.

    `answer_of`, `image_of` and `annotators` (R,): each response's row of `k` and `n` (P, A), its column of
    `image_weights` (B, I), and any label of its annotator. Those whom `people` draw are not drawn here.
    """
    if people is not None:
        return _sums_over_shared_annotators(
            k, n, answer_of, image_of, annotators, image_weights=image_weights, rng=rng, people=people
        )
    annotator_of = checks.labels("annotators", annotators, length=len(answer_of))
    for_many, for_singles = rng.spawn(2)
    single = single_responses.groupable_responses(annotator_of, answer_of)
    others, members = np.unique(annotator_of[~single], return_inverse=True)
    clusters, resamples = len(others) + int(single.sum()), len(image_weights)
    weights = np.zeros((resamples, 0), dtype=np.int64)
    top, bottom = np.zeros((resamples, k.shape[1])), np.zeros((resamples, k.shape[1]))
    if len(others):
        weights = _first_columns(clusters, len(others), resamples, for_many)
        top, bottom = weighted_sums(
            k[answer_of[~single]],
            n[answer_of[~single]],
            image_of[~single],
            members,
            image_weights=image_weights,
            annotator_weights=weights,
        )
    if single.any():
        drawn = single_responses.draw_answers(
            image_of[single],
            answer_of[single],
            answers=len(k),
            image_weights=image_weights,
            draws=clusters - weights.sum(axis=1),
            rng=for_singles,
        )
        top += drawn @ k
        bottom += drawn @ n
    return top, bottom


def _sums_over_shared_annotators(
    k: Ints,
    n: Ints,
    answer_of: Ints,
    image_of: Ints,
    annotators: Ints,
    *,
    image_weights: Ints,
    rng: np.random.Generator,
    people: AnnotatorDraws,
) -> tuple[Floats, Floats]:
    known = annotators >= 0
    # in the order in which they come, so that a draw does not depend on their labels
    members = checks.labels("annotators", annotators[known], length=int(known.sum()))
    top, bottom = weighted_sums(
        k[answer_of[known]],
        n[answer_of[known]],
        image_of[known],
        members,
        image_weights=image_weights,
        annotator_weights=people.weights(list(dict.fromkeys(annotators[known].tolist()))),
    )
    if not known.all():
        more = sums_over_annotators(
            k,
            n,
            answer_of[~known],
            image_of[~known],
            annotators[~known],
            image_weights=image_weights,
            rng=rng,
        )
        top, bottom = top + more[0], bottom + more[1]
    return top, bottom


def _unique_answers(k: Ints, n: Ints) -> tuple[Ints, Ints, Ints]:
    """The different answers, in the order in which they first occur, and which of them each row is."""
    rows, first, inverse = np.unique(np.hstack([k, n]), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    renumbered = np.empty_like(order)
    renumbered[order] = np.arange(len(order))
    return rows[order, : k.shape[1]], rows[order, k.shape[1] :], renumbered[inverse.ravel()]


def _first_columns(clusters: int, wanted: int, resamples: int, rng: np.random.Generator) -> Ints:
    """The first `wanted` columns of `cluster_weights`, with no more than `_AT_ONCE` held beside them."""
    step = max(1, _CHUNK_SIZE // clusters)
    return np.concatenate(
        [
            cluster_weights(clusters, min(step, resamples - start), rng)[:, :wanted]
            for start in range(0, resamples, step)
        ]
    )
