"""Scores that compare tendencies and offensiveness of depictions (PROTOCOL §10)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from metrics.comparisons.paired_groups import compared_studies, drawn_pairs
from metrics.core.stats.differences import Difference
from metrics.core.stats.influence import Influences
from metrics.core.stats.scales import SHARE
from metrics.depiction import tendencies
from metrics.depiction.data import GroupFrame
from metrics.depiction.scores import group_tendency
from metrics.depiction.scores.measures import (
    MeasuredGroup,
    Ratings,
    group_offensiveness,
    measured_groups,
    read_ratings,
    tendency_of,
)
from metrics.depiction.tendencies import GroupTendency
from metrics.score_runs import compared_rows
from metrics.score_runs.compared_rows import SIDES, ComparedEstimates, Estimates
from metrics.score_runs.rows import Inputs, ScoreRow

NAMES = ("l_stereo", "l_random", "log_theta")


def tendency_difference_scores(inputs: Inputs) -> list[ScoreRow]:
    found: list[tuple[GroupFrame, int, list[Difference]]] = []
    scored: list[tuple[GroupTendency, GroupTendency]] = []
    known = False
    for sides, first, second in _reported(drawn_pairs(inputs)):
        number = first.point.n_stereotypical + first.point.n_random
        found.append((sides[0].without_responses().frame, number, tendencies.differences_of(first, second)))
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
    pairs: Iterable[tuple[MeasuredGroup, MeasuredGroup]],
) -> Iterator[tuple[tuple[MeasuredGroup, MeasuredGroup], GroupTendency, GroupTendency]]:
    """The tendencies of each group that has more than one stereotype on both sides."""
    for sides in pairs:
        first, second = (tendency_of(one) for one in sides)
        if min(first.point.n_stereotypical, second.point.n_stereotypical) >= 2:
            yield sides, first, second


def _shares_annotators(sides: tuple[MeasuredGroup, MeasuredGroup], inputs: Inputs) -> bool:
    """Whether drawing annotators once for all groups changes the resamples of this group."""
    return inputs.resamples > 0 and not inputs.clustered and any(one.annotators_known for one in sides)


def _means(scored: list[tuple[GroupTendency, GroupTendency]], inputs: Inputs) -> list[ScoreRow]:
    """Rows of the means of both sides over all groups, and their differences."""
    sides = [tendencies.mean([pair[place] for pair in scored]) for place in (0, 1)]
    rows = []
    for name, each in zip(NAMES, tendencies.differences_of(*sides), strict=True):
        rows += compared_rows.rows_with_q(name, [(None, "", len(scored), each)], inputs)
    for part, side in zip(SIDES, sides, strict=True):
        rows += group_tendency.score_rows(side, None, part=part, groups=len(scored))
    return rows


def tendency_contrast_scores(inputs: Inputs) -> list[ScoreRow]:
    groups = []
    for group in measured_groups(inputs, none_of_above_selected=False, together=True):
        one = tendency_of(group)
        if one.point.n_stereotypical >= 2:
            groups.append((group.without_responses().frame, group.frame.region, _l_stereo(one)))
    return compared_rows.contrast_rows(["l_stereo"], groups, inputs)


def _l_stereo(one: GroupTendency) -> Estimates:
    return Estimates(
        np.array([one.point.l_stereo]), (one.point.n_stereotypical,), one.stereo_spread, (SHARE,)
    )


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
    pairs: Iterable[tuple[MeasuredGroup, MeasuredGroup]], rated: Sequence[Ratings]
) -> Iterator[tuple[tuple[MeasuredGroup, MeasuredGroup], ComparedEstimates]]:
    """O(id) of each group that has a score on both sides."""
    for sides in pairs:
        first, second = (_group_offensiveness(one, known) for one, known in zip(sides, rated, strict=True))
        if first is not None and second is not None:
            yield sides, ComparedEstimates(sides[0].without_responses().frame, "", first.n, first, second)


def _defined_on_both(one: ComparedEstimates) -> tuple[Estimates, Estimates]:
    """Both sides without resamples in which either has no score, so that both means are over the same
    groups."""
    a, b = one.first.spread, one.second.spread
    if isinstance(a, Influences) or isinstance(b, Influences):
        return one.first, one.second
    missing = np.isnan(a) | np.isnan(b)
    return (
        replace(one.first, spread=np.where(missing, np.nan, a)),
        replace(one.second, spread=np.where(missing, np.nan, b)),
    )


def offensiveness_contrast_scores(inputs: Inputs) -> list[ScoreRow]:
    known = read_ratings(inputs.study, inputs.variant)
    groups = []
    for group in measured_groups(inputs, none_of_above_selected=False, together=True):
        own = _group_offensiveness(group, known)
        if own is not None:
            groups.append((group.without_responses().frame, group.frame.region, own))
    return compared_rows.contrast_rows(["o"], groups, inputs)


def _group_offensiveness(group: MeasuredGroup, known: Ratings) -> Estimates | None:
    """O(id) of a group; None if it has no score."""
    found = group_offensiveness(group, known)
    if found is None or not found[0].n:
        return None
    point, of_o, scale = found
    return Estimates(np.array([point.value]), (point.n,), of_o, (scale,))
