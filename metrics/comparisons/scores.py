"""Scores that compare tendencies and offensiveness of depictions (PROTOCOL §10)."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from metrics.comparisons.paired_groups import compared_studies, drawn_pairs
from metrics.core.stats import differences
from metrics.core.stats.differences import Difference
from metrics.depiction import stats
from metrics.depiction.data import GroupFrame
from metrics.depiction.scores import group_tendency
from metrics.depiction.scores.group_tendency import GroupTendency
from metrics.depiction.scores.measures import (
    Ratings,
    ResampledGroup,
    group_offensiveness,
    read_ratings,
    resampled_groups,
)
from metrics.score_runs import compared_rows
from metrics.score_runs.compared_rows import SIDES, ComparedEstimates, Estimates
from metrics.score_runs.rows import Inputs, ScoreRow

NAMES = ("l_stereo", "l_random", "log_theta")
_NO_SAMPLES = np.empty(0)


def tendency_difference_scores(inputs: Inputs) -> list[ScoreRow]:
    found: list[tuple[GroupFrame, int, list[Difference]]] = []
    scored: list[tuple[GroupTendency, GroupTendency]] = []
    known = False
    for sides, first, second in _reported(drawn_pairs(inputs)):
        number = first.point.n_stereotypical + first.point.n_random
        found.append((sides[0].without_responses().frame, number, _differences(first, second)))
        scored.append((first, second))
        known |= _shares_annotators(sides, inputs)
    rows = [
        row
        for place, name in enumerate(NAMES)
        for row in compared_rows.rows_with_q(
            name, [(frame, "", number, each[place]) for frame, number, each in found], inputs
        )
    ]
    for (frame, *_), each in zip(found, scored, strict=True):
        for part, side in zip(SIDES, each, strict=True):
            rows += group_tendency.score_rows(side, frame, part=part)
    if known:
        scored = [(first, second) for _, first, second in _reported(drawn_pairs(inputs, together=True))]
    return rows + _means(scored, inputs) if scored else rows


def _reported(
    pairs: Iterable[tuple[ResampledGroup, ResampledGroup]],
) -> Iterator[tuple[tuple[ResampledGroup, ResampledGroup], GroupTendency, GroupTendency]]:
    """The tendencies of each group that has more than one stereotype on both sides."""
    for sides in pairs:
        first, second = (_tendency(one) for one in sides)
        if min(first.point.n_stereotypical, second.point.n_stereotypical) >= 2:
            yield sides, first, second


def _shares_annotators(sides: tuple[ResampledGroup, ResampledGroup], inputs: Inputs) -> bool:
    """Whether drawing annotators once for all groups changes the resamples of this group."""
    return inputs.resamples > 0 and any(one.annotators_known for one in sides)


def _means(scored: list[tuple[GroupTendency, GroupTendency]], inputs: Inputs) -> list[ScoreRow]:
    """Rows of the means of both sides over all groups, and their differences."""
    sides = [group_tendency.mean([pair[place] for pair in scored]) for place in (0, 1)]
    rows = []
    for name, each in zip(NAMES, _differences(*sides), strict=True):
        rows += compared_rows.rows_with_q(name, [(None, "", len(scored), each)], inputs)
    for part, side in zip(SIDES, sides, strict=True):
        rows += group_tendency.score_rows(side, None, part=part, groups=len(scored))
    return rows


def _tendency(group: ResampledGroup) -> GroupTendency:
    return group_tendency.compute(group.k, group.n, group.frame.stereotypical, group.likelihoods)


def _differences(first: GroupTendency, second: GroupTendency) -> list[Difference]:
    """The differences of l_stereo and l_random, and the logarithm of the ratio of theta."""
    a, b = (
        [_NO_SAMPLES if each is None else each for each in (side.stereo, side.random)]
        for side in (first, second)
    )
    one, two = first.point, second.point
    return [
        differences.difference(one.l_stereo, two.l_stereo, first_samples=a[0], second_samples=b[0]),
        differences.difference(one.l_random, two.l_random, first_samples=a[1], second_samples=b[1]),
        differences.log_ratio(
            one.theta, two.theta, first_samples=stats.ratio(*a), second_samples=stats.ratio(*b)
        ),
    ]


def tendency_contrast_scores(inputs: Inputs) -> list[ScoreRow]:
    groups = []
    for group in resampled_groups(inputs, none_of_above_selected=False, together=True):
        one = _tendency(group)
        if one.point.n_stereotypical >= 2:
            samples = _NO_SAMPLES if one.stereo is None else one.stereo
            own = Estimates(np.array([one.point.l_stereo]), (one.point.n_stereotypical,), samples[:, None])
            groups.append((group.without_responses().frame, group.frame.region, own))
    return compared_rows.contrast_rows(["l_stereo"], groups, inputs)


def offensiveness_difference_scores(inputs: Inputs) -> list[ScoreRow]:
    rated = [read_ratings(study, inputs.variant) for study in compared_studies(inputs)]
    found, known = [], False
    for sides, one in _compared_offensiveness(drawn_pairs(inputs), rated):
        found.append(one)
        known |= _shares_annotators(sides, inputs)
    if not found:
        return []
    together = found
    if known:
        together = [one for _, one in _compared_offensiveness(drawn_pairs(inputs, together=True), rated)]
    means = [
        compared_rows.mean(side) for side in zip(*(_defined_on_both(one) for one in together), strict=True)
    ]
    whole = ComparedEstimates(None, "", means[0].n, *means)
    rows = compared_rows.difference_rows(["o"], found, inputs)
    return rows + compared_rows.difference_rows(["o"], [whole], inputs)


def _compared_offensiveness(
    pairs: Iterable[tuple[ResampledGroup, ResampledGroup]], rated: Sequence[Ratings]
) -> Iterator[tuple[tuple[ResampledGroup, ResampledGroup], ComparedEstimates]]:
    """O(id) of each group that has a score on both sides."""
    for sides in pairs:
        first, second = (_group_offensiveness(one, known) for one, known in zip(sides, rated, strict=True))
        if first is not None and second is not None:
            yield sides, ComparedEstimates(sides[0].without_responses().frame, "", first.n, first, second)


def _defined_on_both(one: ComparedEstimates) -> tuple[Estimates, Estimates]:
    """Both sides without resamples in which either has no score, so that both means are over the same
    groups."""
    missing = np.isnan(one.first.samples) | np.isnan(one.second.samples)
    first, second = (
        Estimates(side.values, side.n, np.where(missing, np.nan, side.samples))
        for side in (one.first, one.second)
    )
    return first, second


def offensiveness_contrast_scores(inputs: Inputs) -> list[ScoreRow]:
    known = read_ratings(inputs.study, inputs.variant)
    groups = []
    for group in resampled_groups(inputs, none_of_above_selected=False, together=True):
        own = _group_offensiveness(group, known)
        if own is not None:
            groups.append((group.without_responses().frame, group.frame.region, own))
    return compared_rows.contrast_rows(["o"], groups, inputs)


def _group_offensiveness(group: ResampledGroup, known: Ratings) -> Estimates | None:
    """O(id) of a group; None if it has no score."""
    found = group_offensiveness(group, known)
    if found is None or not found[0].n:
        return None
    point, samples = found
    samples = _NO_SAMPLES if samples is None else samples
    return Estimates(np.array([point.value]), (point.n,), samples[:, None])
