r"""What a pilot says about how much images and annotators differ (PROTOCOL §17). Pure: no Django.

With :math:`e = k - L n` what an answer says of an attribute beyond its likelihood, three mean products of two
answers are computed, each plus the variance that the estimated likelihoods have in common with them:

- of two annotators about the same attribute of the same image: how much images differ for an attribute;
- of two annotators about an image, over all attributes of a kind: how much whole images differ;
- of one annotator about two images, over all attributes of a kind: how much annotators differ.

The standard deviations in logits are those under which the model of `simulation` has the same three numbers
(method of moments).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.differences import AnswerSet
from metrics.core.stats.grouped_sums import add_up
from metrics.depiction.likelihood_influences import likelihood_influences
from metrics.planning.simulation import Design, logits_of, over, searched, variance_over

LEAST_IMAGES, LEAST_ANNOTATORS = 5, 5
_LARGEST = 5.0
"""No larger standard deviation is estimated, in logits."""


class PilotRefused(ValueError):
    """Too few answers to estimate anything from. The message says what is missing."""


@dataclass(frozen=True)
class Estimates:
    """What was estimated, from so many images and annotators of so many groups. `negative`: what came out
    below 0, and was taken as 0. Standard deviations in logits, as in `stats.Assumptions`."""

    l_stereo: float
    l_random: float
    stereotypical: int
    others: int
    apart: float
    of_images: float
    of_whole_images: float
    of_people: float
    images: int
    annotators: int
    answers: int
    groups: int
    negative: tuple[str, ...]


@dataclass(frozen=True)
class _Moments:
    """Of one group: the mean products, and the numbers of attributes of both kinds."""

    shares: Floats  # of both kinds, (2,)
    numbers: tuple[int, int]
    by_attribute: float
    by_image: Floats  # (2,)
    by_annotator: Floats  # (2,)
    between_attributes: Floats  # the variance of likelihoods within each kind, (2,)


def estimate(groups: Sequence[tuple[AnswerSet, Bools]]) -> Estimates:
    """From the answers about each identity group, and which of its attributes are stereotypical (A,). Groups
    count by their answers. Raises PilotRefused."""
    images = len({int(image) for side, _ in groups for image in side.images.tolist()})
    people = [side.annotators[side.annotators >= 0] for side, _ in groups]
    annotators = len(np.unique(np.concatenate([*people, np.zeros(0, dtype=np.int64)])))
    answers = sum(len(side.answers) for side, _ in groups)
    identified = sum(map(len, people))
    if answers and 2 * identified < answers:
        raise PilotRefused(
            "The annotators of this study are not identified, so nothing says how much they differ. Choose "
            "another study, or state what you expect."
        )
    if images < LEAST_IMAGES or annotators < LEAST_ANNOTATORS:
        raise PilotRefused(
            f"A pilot needs answers about at least {LEAST_IMAGES} images from at least {LEAST_ANNOTATORS} "
            f"annotators; this study has {images} and {annotators}. Collect more, or state what you expect."
        )
    usable = [(side, kinds) for side, kinds in groups if _is_usable(side, kinds)]
    if not usable:
        raise PilotRefused(
            "No identity group of this study has images that several annotators judged, annotators who "
            "judged several images, and both stereotypical and other attributes. Collect more answers, or "
            "state what you expect."
        )
    weights = np.array([len(side.answers) for side, _ in usable], dtype=np.float64)
    moments = _mean([_moments(side, kinds) for side, kinds in usable], weights / weights.sum())
    design, apart, negative = _solved(moments)
    stereotypical, others = moments.numbers
    return Estimates(
        l_stereo=float(moments.shares[0]),
        l_random=float(moments.shares[1]),
        stereotypical=stereotypical,
        others=others,
        apart=apart,
        of_images=design.of_images,
        of_whole_images=design.of_whole_images,
        of_people=design.of_people,
        images=images,
        annotators=annotators,
        answers=answers,
        groups=len(usable),
        negative=negative,
    )


def _is_usable(side: AnswerSet, kinds: Bools) -> bool:
    """Whether each kind of attribute was shown, and there are pairs of answers of all three sorts."""
    times = np.bincount(side.answers, minlength=len(side.k))
    shown = (times @ side.n) > 0
    known = side.annotators >= 0
    cells = np.unique(np.column_stack([side.images, side.annotators])[known], axis=0)
    several = [len(np.unique(cells[:, which])) < len(cells) for which in (0, 1)]
    return bool(shown[kinds].any() and shown[~kinds].any() and all(several))


def _moments(side: AnswerSet, kinds: Bools) -> _Moments:
    found = likelihood_influences(
        side.k, side.n, answers=side.answers, images=side.images, annotators=side.annotators
    )
    times = np.bincount(side.answers, minlength=len(side.k))
    shown = times @ side.n
    some = shown > 0
    kinds = kinds[some]
    likelihoods = (times @ side.k)[some] / shown[some]
    means = np.column_stack([which / which.sum() for which in (kinds, ~kinds)])
    whole = np.zeros((len(some), 2))
    whole[some] = means
    noise = found.of(whole).standard_errors()[0] ** 2
    own_noise = found.of(np.eye(len(some))[:, some]).standard_errors()[0] ** 2
    known = side.annotators >= 0
    rows = side.answers[known]
    n = side.n[rows][:, some].astype(np.float64)
    e = side.k[rows][:, some] - likelihoods * n
    image, person = side.images[known], side.annotators[known]
    by_kind = (np.column_stack([e @ kinds, e @ ~kinds]), np.column_stack([n @ kinds, n @ ~kinds]))
    between = [
        likelihoods[which].var(ddof=1) - own_noise[which].mean() if which.sum() > 1 else 0.0
        for which in (kinds, ~kinds)
    ]
    return _Moments(
        shares=likelihoods @ means,
        numbers=(int(kinds.sum()), int((~kinds).sum())),
        by_attribute=_products(e, n, image, person, together=True) + float(own_noise.mean()),
        by_image=_products_by_column(*by_kind, image, person) + noise,
        by_annotator=_products_by_column(*by_kind, person, image) + noise,
        between_attributes=np.array(between),
    )


def _products_by_column(e: Floats, n: Floats, same: Ints, other: Ints) -> Floats:
    columns = range(e.shape[1])
    return np.array([_products(e[:, [c]], n[:, [c]], same, other, together=False) for c in columns])


def _products(e: Floats, n: Floats, same: Ints, other: Ints, *, together: bool) -> float:
    """The mean product of two of `e` (R, A) with the same label in `same` (R,), different ones in `other`
    (R,), and in the same column; `n`: how often each was shown. 0 without such a pair."""
    _, group = np.unique(same, return_inverse=True)
    pairs, cell = np.unique(np.column_stack([same, other]), axis=0, return_inverse=True)
    number = int(group.max()) + 1
    sums = []
    for values in (e, n):
        whole, parts = add_up(values, group, number), add_up(values, cell.ravel(), len(pairs))
        sums.append(float((whole**2).sum() - (parts**2).sum()))
    return sums[0] / sums[1] if sums[1] > 0 else 0.0


def _mean(each: Sequence[_Moments], weights: Floats) -> _Moments:
    def mean(get: Callable[[_Moments], object]) -> Floats:
        return np.asarray(np.tensordot(weights, np.array([get(one) for one in each]), axes=1))

    numbers = np.maximum(mean(lambda one: one.numbers).round(), 1).astype(int).tolist()
    return _Moments(
        shares=np.clip(mean(lambda one: one.shares), 0.001, 0.999),
        numbers=(numbers[0], numbers[1]),
        by_attribute=float(mean(lambda one: one.by_attribute)),
        by_image=mean(lambda one: one.by_image),
        by_annotator=mean(lambda one: one.by_annotator),
        between_attributes=mean(lambda one: one.between_attributes),
    )


def _solved(found: _Moments) -> tuple[Design, float, tuple[str, ...]]:
    """The effects under which the model has the moments `found`, how much attributes differ, and which
    variances came out below 0."""
    design, apart = Design(of_images=1.0, of_people=0.5), 0.5
    for _ in range(6):  # each is solved for with the others held
        design, apart = _improved(found, design)
    below = {
        "attributes": found.between_attributes.sum(),
        "annotators": found.by_annotator.sum(),
        "images": found.by_attribute,
    }
    return design, apart, tuple(name for name, value in below.items() if value < 0)


def _improved(found: _Moments, design: Design) -> tuple[Design, float]:
    def likelihoods_vary(sd: float) -> float:
        return _spread(found, design, sd)

    apart = searched(likelihoods_vary, float(found.between_attributes.sum()), 0.0, 3.0, steps=16)
    logits = [
        logits_of(design, share, number, apart=apart)
        for share, number in zip(found.shares.tolist(), found.numbers, strict=True)
    ]

    def annotators_vary(sd: float) -> float:
        return _shared(logits, sd, design.between_images)

    people = searched(annotators_vary, float(found.by_annotator.sum()), 0.0, _LARGEST, steps=20)

    def attributes_of_images_vary(sd: float) -> float:
        return _own(logits, sd, people)

    between = searched(attributes_of_images_vary, found.by_attribute, 0.0, _LARGEST, steps=20)

    def whole_images_vary(sd: float) -> float:
        return _of_images(logits, sd, between, people)

    whole = searched(whole_images_vary, float(found.by_image.sum()), 0.0, between, steps=20)
    own = float(np.sqrt(max(between**2 - whole**2, 0.0)))
    return replace(design, of_people=people, of_images=own, of_whole_images=whole), apart


def _spread(found: _Moments, design: Design, apart: float) -> float:
    """The variances of the likelihoods within each kind, added up."""
    total = float(np.hypot(design.between_images, design.of_people))
    return sum(
        float(over(logits_of(design, share, n, apart=apart), total).var(ddof=1))
        for share, n in zip(found.shares.tolist(), found.numbers, strict=True)
        if n > 1
    )


def _own(logits: Sequence[Floats], between: float, people: float) -> float:
    """The variance over images of the chance of an attribute, mean over all attributes."""
    return float(np.diag(variance_over(np.concatenate(logits), between, people)).mean())


def _of_images(logits: Sequence[Floats], whole: float, between: float, people: float) -> float:
    """The variance over images of the mean chance of each kind, added up over both."""
    rest = float(np.sqrt(max(between**2 - whole**2, 0.0) + people**2))
    found = 0.0
    for each in logits:
        common = variance_over(each, whole, rest)
        own = np.diag(variance_over(each, between, people)) - np.diag(common)
        found += float(common.mean() + own.sum() / len(each) ** 2)
    return found


def _shared(logits: Sequence[Floats], people: float, images: float) -> float:
    """The variance over annotators of their mean chance of each kind, added up over both."""
    return sum(float(variance_over(each, people, images).mean()) for each in logits)
