"""Two-way cluster bootstrap over images and annotators (PROTOCOL §10)."""

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import checks, single_responses
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.grouped_sums import add_up

# Numbers in memory at a time: 4 million are 32 MB, whatever the size of the study.
_CHUNK_SIZE = 4_000_000


def generator(seed: int, name: str) -> np.random.Generator:
    """A random generator for one identity group. The same seed and name give the same draws, whatever other
    groups are computed, and in every database.

    Examples
    --------
    >>> bool(generator(1, "Mexican").random() == generator(1, "Mexican").random())
    True
    """
    if seed < 0:
        raise ValueError(f"A seed is a whole number of at least 0, not {seed}.")
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def chunks(resamples: int, numbers: int) -> Iterator[slice]:
    """Slices of the resamples, of which each needs so many `numbers`, that fit in memory at once."""
    step = max(1, _CHUNK_SIZE // max(1, numbers))
    for start in range(0, resamples, step):
        yield slice(start, min(start + step, resamples))


def cluster_weights(clusters: int, resamples: int, rng: np.random.Generator) -> Ints:
    """How often each of `clusters` clusters is drawn when that many are drawn with replacement: shape
    (resamples, clusters), every row sums to `clusters`.

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
    """`cluster_weights` for two sides that may share clusters.

    Clusters on both sides are drawn once for both; clusters on one side only are drawn for that side. Each of
    these three strata is drawn with replacement, as many times as it has clusters, so that each side keeps
    its size in every resample.

    `first` (R,) and `second` (S,): the cluster of each row; equal labels on both sides are the same cluster.
    The weights, (resamples, I) and (resamples, J), have a column for each distinct label in ascending order.

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
    """How often each annotator is drawn in each of B resamples, the same for all groups that they judged.

    For numbers over several groups: a person's habits affect all groups that they judged. Each annotator is
    drawn at first use from a Poisson distribution with mean 1, which for many people approximates drawing
    with replacement (Owen & Eckles 2012, Annals of Applied Statistics 6(3), doi:10.1214/12-AOAS547). Unknown
    annotators (negative labels) are not drawn here.

    Examples
    --------
    >>> annotator_draws = AnnotatorDraws(4, np.random.default_rng(0))
    >>> first = annotator_draws.weights([8, 3])
    >>> bool((annotator_draws.weights([5, 3])[:, 1] == first[:, 1]).all())
    True
    """

    def __init__(self, resamples: int, rng: np.random.Generator) -> None:
        self._resamples, self._rng = resamples, rng
        self._drawn: dict[int, Ints] = {}

    def weights(self, annotators: Sequence[int]) -> Ints:
        """The weights of `annotators`, shape (B, J). New annotators are drawn in this order."""
        for annotator in annotators:
            if annotator not in self._drawn:
                self._drawn[annotator] = self._rng.poisson(1.0, size=self._resamples)
        drawn = [self._drawn[annotator] for annotator in annotators]
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

    `selected` and `shown` (R, A): how often response r selected attribute a, and how often it was shown.
    `images` and `annotators` (R,): the column of each response in `image_weights` (B, I) and
    `annotator_weights` (B, J), which say how often each cluster was drawn. Both results (B, A) are whole
    numbers, as floats. Raises ValueError for shapes that do not match.
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
    # All answers of one annotator about one image have the same weight, so add them up first.
    shape = by_image.shape[1], by_annotator.shape[1]
    # one number a pair: to sort rows of two takes four times as long
    pairs, pair_of = np.unique(
        np.ravel_multi_index((image_of.astype(int), annotator_of.astype(int)), shape), return_inverse=True
    )
    of_image, of_annotator = np.unravel_index(pairs, shape)
    both = add_up(np.hstack([k, n]), pair_of, len(pairs))
    kind = _exact_float_type(by_image, by_annotator, both)
    both, first, second = both.astype(kind), by_image.astype(kind), by_annotator.astype(kind)
    sums = np.empty((len(by_image), both.shape[1]))
    for rows in chunks(len(by_image), len(pairs)):
        weights: Any = first[rows][:, of_image]
        np.multiply(weights, second[rows][:, of_annotator], out=weights)
        sums[rows] = weights @ both
    return sums[:, : k.shape[1]], sums[:, k.shape[1] :]


def _exact_float_type(
    by_image: Ints, by_annotator: Ints, both: Floats
) -> type[np.float32] | type[np.float64]:
    """The smaller float type in which no sum is rounded: float32 holds integers exactly up to 2^24."""
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
    annotator_draws: AnnotatorDraws | None = None,
) -> tuple[Floats, Floats]:
    """Likelihoods and selection counts of one identity group in each resample of images and annotators.

    Images and annotators are drawn independently, each with replacement and as many as there are: the
    pigeonhole bootstrap (Owen 2007, Annals of Applied Statistics 1(2), doi:10.1214/07-AOAS122). It is
    never too narrow; if neither images nor annotators differ, the interval is 1.7 times too wide. If
    annotators are not identified, give each response a cluster of its own: two answers of one person then
    count as independent.

    `selected` and `shown` (R, A) as in `weighted_sums`; `images` and `annotators` (R,): any labels, equal
    labels are one cluster. `answers` (R,): the row of `selected` and `shown` of each response, if these hold
    each distinct answer once. `annotator_draws` draws annotators once for several groups. The results, each
    (resamples, A), are k / n (NaN if the attribute was not shown) and k. ValueError without a response.

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
    image_rng, annotator_rng = rng.spawn(2)
    top, bottom = sums_over_annotators(
        k,
        n,
        answer_of,
        image_of,
        np.asarray(annotators),
        image_weights=cluster_weights(int(image_of.max()) + 1, resamples, image_rng),
        rng=annotator_rng,
        annotator_draws=annotator_draws,
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
    annotator_draws: AnnotatorDraws | None = None,
) -> tuple[Floats, Floats]:
    """k and n of every attribute, shape (B, A) each, for given image weights and drawn annotators.

    `answer_of`, `image_of` and `annotators` (R,): each response's row of `k` and `n` (P, A), its column of
    `image_weights` (B, I), and a label of its annotator.
    """
    if annotator_draws is not None:
        return _sums_over_shared_annotators(
            k, n, answer_of, image_of, annotators, image_weights, rng, annotator_draws
        )
    annotator_of = checks.labels("annotators", annotators, length=len(answer_of))
    multiple_rng, single_rng = rng.spawn(2)
    single = single_responses.groupable_responses(annotator_of, answer_of)
    others, members = np.unique(annotator_of[~single], return_inverse=True)
    clusters, resamples = len(others) + int(single.sum()), len(image_weights)
    weights = np.zeros((resamples, 0), dtype=np.int64)
    top, bottom = np.zeros((resamples, k.shape[1])), np.zeros((resamples, k.shape[1]))
    if len(others):
        weights = _first_columns(clusters, len(others), resamples, multiple_rng)
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
            rng=single_rng,
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
    image_weights: Ints,
    rng: np.random.Generator,
    annotator_draws: AnnotatorDraws,
) -> tuple[Floats, Floats]:
    known = annotators >= 0
    # in order of appearance, so that a draw does not depend on the labels
    members = checks.labels("annotators", annotators[known], length=int(known.sum()))
    top, bottom = weighted_sums(
        k[answer_of[known]],
        n[answer_of[known]],
        image_of[known],
        members,
        image_weights=image_weights,
        annotator_weights=annotator_draws.weights(list(dict.fromkeys(annotators[known].tolist()))),
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
    """The distinct answers in order of first appearance, and the index of each row's answer."""
    rows, first, inverse = np.unique(np.hstack([k, n]), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    renumbered = np.empty_like(order)
    renumbered[order] = np.arange(len(order))
    return rows[order, : k.shape[1]], rows[order, k.shape[1] :], renumbered[inverse.ravel()]


def _first_columns(clusters: int, number: int, resamples: int, rng: np.random.Generator) -> Ints:
    """The first `number` columns of `cluster_weights`, with few numbers in memory besides them."""
    found = np.empty((resamples, number), dtype=np.int64)
    for rows in chunks(resamples, clusters):
        found[rows] = cluster_weights(clusters, rows.stop - rows.start, rng)[:, :number]
    return found
