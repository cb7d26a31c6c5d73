"""Pairs of an attribute and a group that both captions and people found (PROTOCOL §8; Jha et al. 2024,
ViSAGe, ACL 2024, doi:10.18653/v1/2024.acl-long.667)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import checks
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.grouped_sums import add_up
from metrics.core.stats.influence import Clusters, Influences


@dataclass(frozen=True)
class Agreement:
    """Of the pairs that captions mention, people were shown `n` and selected `k`; `unjudged` were not shown.
    `share` is k / n, NaN (undefined) for n = 0."""

    k: int
    n: int
    unjudged: int

    @property
    def share(self) -> float:
        return self.k / self.n if self.n else float("nan")


def agreement(named: ArrayLike, selected: ArrayLike, shown: ArrayLike) -> Agreement:
    """The share of pairs mentioned in captions and shown to people that somebody selected, L(attr, id) > 0.

    `named`, `selected`, `shown`, shape (P,): how often captions mention each pair, people selected it, and
    people were shown it. Raises ValueError if the shapes differ, a value is not a count, or a pair was
    selected more often than shown.

    Examples
    --------
    >>> agreement([2, 1, 0, 4], [1, 0, 3, 0], [3, 3, 3, 0])
    Agreement(k=1, n=2, unjudged=1)
    """
    k, n = checks.selected_of_shown(selected, shown, ndim=1)
    times_named = checks.counts("named", named, ndim=1)
    if times_named.shape != n.shape:
        raise ValueError(f"named has shape {times_named.shape} and shown {n.shape}; they must be the same.")
    is_named, is_shown = times_named > 0, n > 0
    return Agreement(
        int((is_named & (k > 0)).sum()), int((is_named & is_shown).sum()), int((is_named & ~is_shown).sum())
    )


def resampled(
    named: ArrayLike, selected: ArrayLike, shown: ArrayLike, *, image_weights: ArrayLike
) -> tuple[Bools, Bools]:
    """Which pairs of one group people agree with, and which are counted, in each resample: (B, A) each. The
    shares are the row sums of the first divided by those of the second.

    `named` (I, A): how often the captions of each image mention each attribute. `selected`, `shown` (B, A): k
    and n in each resample, as `bootstrap.weighted_sums` gives them, from the same draws as `image_weights`
    (B, I): a drawn image contributes both its captions and its judgements.

    Examples
    --------
    >>> agreed, counted = resampled([[1], [0]], [[1], [0]], [[2], [2]], image_weights=[[1, 1], [2, 0]])
    >>> agreed.tolist(), counted.tolist()
    ([[True], [False]], [[True], [True]])
    """
    k, n = checks.selected_of_shown(selected, shown, ndim=2)
    weights = checks.counts("image_weights", image_weights, ndim=2)
    times_named = checks.counts("named", named, ndim=2)
    if weights.shape != (len(k), len(times_named)) or times_named.shape[1] != k.shape[1]:
        raise ValueError(
            f"named has shape {times_named.shape}, selected {k.shape} and image_weights {weights.shape}; "
            "(I, A), (B, A) and (B, I) are needed."
        )
    is_named = weights @ times_named > 0
    return is_named & (k > 0), is_named & (n > 0)


@dataclass(frozen=True)
class JudgedPairs:
    """The pairs of one group: `named` (I, A), whether captions of each image mention each attribute;
    `selected` and `shown` (R, A), of each response; `images` (R,), the row of `named`; `annotators` (R,),
    below 0 if not identified."""

    named: Bools
    selected: Bools
    shown: Bools
    images: Ints
    annotators: Ints

    @property
    def pairs(self) -> tuple[Bools, Bools]:
        """Which pairs people agree with, and which are counted, (A,) each."""
        counted = self.named.any(axis=0) & self.shown.any(axis=0)
        return np.asarray(counted & self.selected.any(axis=0)), np.asarray(counted)


def agreement_influences(groups: Sequence[JudgedPairs]) -> Influences:
    r"""Influences on the agreement over all pairs of `groups`, k / n.

    A pair is mentioned, and selected, if it is at least once, which has no derivative. So an image or an
    annotator counts with what is lost without them, :math:`(\Delta k - s \Delta n) / n`, less the mean, and
    an annotator's responses about an image with what is lost without those. The variance that this jackknife
    finds of each pair is too large (Efron & Stein 1981, doi:10.1214/aos/1176345462); `_of_variance` says by
    how much. Raises ValueError without a response.

    Examples
    --------
    >>> said = np.array([[True, False], [True, False]])
    >>> one = JudgedPairs(said, said, ~said | said, images=np.array([0, 1]), annotators=np.array([5, 6]))
    >>> agreement_influences([one]).images.change.tolist()
    [[0.0], [0.0]]
    """
    responses = sum(len(one.images) for one in groups)
    if not responses:
        raise ValueError("There is no response to find influences of.")
    first = np.cumsum([0, *(len(one.named) for one in groups)])
    image = np.concatenate([one.images + start for one, start in zip(groups, first, strict=False)])
    who = np.concatenate([one.annotators for one in groups])
    people, person = np.unique(np.where(who >= 0, who, -1), return_inverse=True)
    cells, cell = np.unique(image * len(people) + person.ravel(), return_inverse=True)
    numbers = {"image": int(first[-1]), "person": len(people), "cell": len(cells)}
    lost = {
        "image": _lost(groups, image, numbers["image"], captions=True),
        "person": _lost(groups, person.ravel(), len(people)),
        "cell": _lost(groups, cell.ravel(), len(cells)),
    }
    responses_of = {
        "image": np.ones(numbers["image"]),
        "person": np.bincount(person.ravel(), minlength=len(people)).astype(np.float64),
        "cell": np.bincount(cell.ravel()).astype(np.float64),
    }
    pairs = np.array([[each.sum() for each in one.pairs] for one in groups]).sum(axis=0)
    known = people >= 0
    changes = {name: each.changes(pairs, responses_of[name]) for name, each in lost.items()}
    squares = {name: each.squares(pairs) for name, each in lost.items()}
    by_image = (changes["image"] ** 2).sum()
    times = _times_selected(groups)
    too_much = (1 - _of_variance(times)) * squares["image"].sum()
    changes["image"] *= np.sqrt(max(1 - too_much / by_image, 0.25)) if by_image else 1.0
    h = responses_of["person"] / responses
    if known.sum() == 1 and h[known][0] < 1:  # as in `influence.influences`
        known[:] = False
    cell_person = cells % len(people)
    correction = (known.sum() - 1) / max(known.sum(), 1)
    by_person = _jackknifed(changes["person"][known])
    # what pairs have in common of one image; how much a pair varies by itself is in the images
    in_common = np.bincount(cell_person, weights=changes["cell"] ** 2 - squares["cell"])
    return Influences(
        images=Clusters(
            np.arange(numbers["image"]),
            np.full(numbers["image"], 1 / numbers["image"]),
            _jackknifed(changes["image"]),
        ),
        annotators=Clusters(people[known], h[known], np.where(h[known, None] < 1, by_person, np.nan)),
        answers=correction * (squares["person"] + in_common)[known, None],
        answer_mass=add_up((responses_of["cell"] / responses) ** 2, cell_person, len(people))[known],
        step=np.array([1 / max(pairs[1], 1)]),
        least=np.array([1 / max(pairs[1], 1)]),
        most_freedom=_most_freedom(pairs, times),
        many_items=True,
    )


@dataclass(frozen=True)
class _Lost:
    """How many pairs are lost without each image, annotator, or annotator's responses about an image, (N,)
    each: `agreed` pairs, `counted` ones, and agreed ones that are no longer counted either (`both`)."""

    agreed: Ints
    counted: Ints
    both: Ints

    def changes(self, pairs: Ints, responses: Floats) -> Floats:
        """How much the agreement changes (N,) without each, which has so many `responses` (N,). `pairs` are
        the numbers (2,) of all agreed and counted pairs."""
        lost = (self.agreed - _share(pairs) * self.counted) / max(pairs[1], 1)
        # those with more responses lose more
        return np.asarray(lost - responses * lost.sum() / responses.sum())

    def squares(self, pairs: Ints) -> Floats:
        """The sums (N,) of the squares of these changes for each pair by itself."""
        share = _share(pairs)
        return np.asarray(
            (self.agreed - 2 * share * self.both + share**2 * self.counted) / max(pairs[1], 1) ** 2
        )


def _share(pairs: Ints) -> float:
    return float(pairs[0] / pairs[1]) if pairs[1] else float("nan")


def _lost(groups: Sequence[JudgedPairs], labels: Ints, number: int, *, captions: bool = False) -> _Lost:
    """What is lost without each of the `labels` (R,) of all responses, of which there are `number`;
    `captions`: they are images, numbered through all groups, and their captions are lost too."""
    found = np.zeros((3, number), dtype=np.int64)
    image = response = 0
    for one in groups:
        agreed, counted = one.pairs
        here = labels[response : response + len(one.images)]
        named, _ = _only(one.named, np.arange(len(one.named)) + image)
        selected, shown = (_only(said, here)[0] for said in (one.selected, one.shown))
        for row, (without, pairs) in enumerate(((selected, agreed), (shown, counted), (shown, agreed))):
            found[row] += np.bincount(without[pairs & (without >= 0)], minlength=number)
            if captions:
                more = pairs & (named >= 0) & (named != without)
                found[row] += np.bincount(named[more], minlength=number)
        image, response = image + len(one.named), response + len(one.images)
    return _Lost(*found)


def _times_selected(groups: Sequence[JudgedPairs]) -> Ints:
    """Of how many images each pair that people agree with was selected."""
    return np.concatenate([_only(one.selected, one.images)[1][one.pairs[0]] for one in groups])


def _only(said: Bools, labels: Ints) -> tuple[Ints, Ints]:
    """For each attribute the only label of the rows in which `said` (N, A) is true, -1 if not one, and their
    number."""
    row, attribute = np.nonzero(said)
    several = int(labels.max(initial=0)) + 1
    # one key of both is sorted in half the time of two columns
    pair_of, label_of = np.divmod(np.unique(attribute * several + labels[row]), several)
    number = np.bincount(pair_of, minlength=said.shape[1])
    single = number[pair_of] == 1
    found = np.full(said.shape[1], -1)
    found[pair_of[single]] = label_of[single]
    return found, number


def _of_variance(times: Ints) -> float:
    """The variance of the number of pairs selected at least once, as a share of what the jackknife finds.

    A pair selected by a Poisson number of clusters, in the mean m, adds exp(-m) (1 - exp(-m)) to it: the
    pairs that a second study would find in addition. From `times`, by how many each was selected, these are
    estimated as by Efron & Thisted (1976, doi:10.1093/biomet/63.3.435), with binomial weights of 3 and 1/2;
    the jackknife finds m exp(-m), the pairs selected once.
    """
    once, twice, thrice = (int((times == number).sum()) for number in (1, 2, 3))
    more = 7 / 8 * once - twice / 2 + thrice / 8
    return min(max(more / once, 0.25), 1.0) if once else 1.0


def _most_freedom(pairs: Ints, times: Ints) -> float:
    """What the degrees of freedom are limited to. What images contribute is found from the f pairs that one
    image alone has, and the variance of a count f is f: that is 2 f² / f degrees of freedom. At an end of the
    scale the interval is that of a count of 0, which does not need them."""
    if pairs[0] in (0, pairs[1]):
        return float("inf")
    return 2.0 * max(int((times == 1).sum()), 1)


def _jackknifed(changes: Floats) -> Floats:
    """The changes (N,) without each cluster as (N, 1); NaN for a single one."""
    number = len(changes)
    if number < 2:
        return np.full((number, 1), np.nan)
    return np.asarray(np.sqrt((number - 1) / number) * changes)[:, None]
