"""Read and resample both sides of a comparison of depictions together (PROTOCOL §10)."""

from collections.abc import Iterator

import numpy as np

from annotation.models import ImageSet, Study
from metrics.core.annotator_groups import GROUPINGS, group_labeller
from metrics.core.comparison_choice import ComparisonChoice, parse_comparison
from metrics.core.stats import bootstrap, differences
from metrics.core.stats.checks import Bools, Floats
from metrics.core.stats.differences import AnswerSet
from metrics.depiction.data import GroupFrame, read_depiction
from metrics.depiction.likelihood_influences import LikelihoodInfluences
from metrics.depiction.scores.measures import (
    MeasuredGroup,
    as_variant,
    influences_of,
    people_of_all_groups,
)
from metrics.score_runs import registry, shared_resamples
from metrics.score_runs.evaluation import inputs_digest
from metrics.score_runs.rows import Inputs

IMAGE_SET = "image_set"
_SEPARATE, _TOGETHER = "sides", "sides of all groups together"
_Pair = tuple[GroupFrame, GroupFrame]


def compared_studies(inputs: Inputs) -> tuple[Study, Study]:
    """The study of each side: the same study twice, unless another one is compared."""
    other = parse_comparison(inputs.parameters, by=(*GROUPINGS, IMAGE_SET)).other
    return inputs.study, other or inputs.study


def drawn_pairs(inputs: Inputs, *, together: bool = False) -> Iterator[tuple[MeasuredGroup, MeasuredGroup]]:
    """Both sides of each group on both sides, with resamples drawn together, or influences. Metrics and
    variants that compare the same sides use the same ones. `together`, for means over groups: the bootstrap
    draws known annotators once for all groups. Raises ValueError for an invalid comparison."""
    choice = parse_comparison(inputs.parameters, by=(*GROUPINGS, IMAGE_SET))
    if shared_resamples.is_sharing():
        # this digest covers the arrays of both sides, which every comparison of depictions reads
        digest = inputs_digest(inputs.study, registry.get("tendency_difference"), inputs.parameters)
        kept = shared_resamples.draw_once(
            _TOGETHER if together else _SEPARATE,
            inputs,
            digest,
            lambda: [
                tuple(one.without_responses() for one in pair) for pair in _draw(inputs, choice, together)
            ],
        )
        pairs: Iterator[tuple[MeasuredGroup, ...]] = iter(kept)
    else:
        pairs = _draw(inputs, choice, together)
    for pair in pairs:
        first, second = (as_variant(one, inputs.variant, none_of_above_selected=False) for one in pair)
        yield first, second


def _draw(
    inputs: Inputs, choice: ComparisonChoice, together: bool
) -> Iterator[tuple[MeasuredGroup, MeasuredGroup]]:
    people = people_of_all_groups(inputs) if together else None
    pairs = (
        _pairs_between_studies(inputs.study, choice.other)
        if choice.other is not None
        else _pairs_within_study(inputs.study, choice.by, (choice.first, choice.second))
    )
    for pair in pairs:
        values: list[tuple[Floats | LikelihoodInfluences | None, Floats | None]] = [(None, None)] * 2
        if inputs.clustered:
            values = [(influences_of(frame), None) for frame in pair]
        elif inputs.resamples:
            sides = [AnswerSet(one.k, one.n, one.answers, one.images, one.annotators) for one in pair]
            rng = bootstrap.generator(inputs.seed, pair[0].group)
            values = [
                *differences.paired_likelihoods(
                    *sides, resamples=inputs.resamples, rng=rng, annotator_draws=people
                )
            ]
        first, second = (
            MeasuredGroup(frame, *frame.sums(), *drawn, annotators_known=bool((frame.annotators >= 0).any()))
            for frame, drawn in zip(pair, values, strict=True)
        )
        yield first, second


def _pairs_between_studies(study: Study, other: Study) -> Iterator[_Pair]:
    others = read_depiction(other, by_response=True)
    second = next(others, None)
    for first in read_depiction(study, by_response=True):
        while second is not None and (second.group, second.group_id) < (first.group, first.group_id):
            second = next(others, None)
        if second is not None and second.group_id == first.group_id:
            yield first, second


def _pairs_within_study(study: Study, by: str, values: tuple[str, str]) -> Iterator[_Pair]:
    sets = dict(ImageSet.objects.values_list("pk", "name")) if by == IMAGE_SET else {}
    group_of = None if by == IMAGE_SET else group_labeller(study, by)
    for frame in read_depiction(study, by_response=True):
        if group_of is None:
            distinct, inverse = np.unique(frame.image_sets, return_inverse=True)
            names = [sets[pk] for pk in distinct.tolist()]
        else:
            people = np.column_stack([np.maximum(frame.annotators, -1), frame.stratum_of])
            distinct, inverse = np.unique(people, axis=0, return_inverse=True)
            names = [
                group_of([None if person < 0 else person, frame.strata[stratum], frame.region])
                for person, stratum in distinct.tolist()
            ]
        sides = [_matches(names, name)[inverse.ravel()] for name in values]
        if all(side.any() for side in sides):
            yield frame.only(sides[0]), frame.only(sides[1])


def _matches(names: list[str], value: str) -> Bools:
    return np.array([name.lower() == value.strip().lower() for name in names], dtype=np.bool_)
