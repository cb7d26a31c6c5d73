"""Scores of a league of models: their means and places, and which groups differ (PROTOCOL §10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from metrics.core.stats import influence, spread
from metrics.core.stats.influence import Influences
from metrics.core.stats.scales import Scale
from metrics.depiction import tendencies
from metrics.depiction.scores import group_tendency
from metrics.depiction.tendencies import GroupTendency
from metrics.league.data.depiction import MeasuredGroup, Model, read_models
from metrics.league.data.studies import read_studies
from metrics.league.kinds import DEPICTION
from metrics.league.scores.joint_rows import people_shared, place_rows, spread_rows, without_intervals
from metrics.score_runs.rows import Inputs, ScoreRow, score_row


@dataclass(frozen=True)
class _Compared:
    """A group in each of the models, in their order."""

    group_id: int
    group: str
    of_each: tuple[MeasuredGroup, ...]


@dataclass(frozen=True)
class _Ranked:
    """What a model is ranked by: L(stereo), ln theta or O, with its influences."""

    value: float
    influences: Influences


def tendency_league_scores(inputs: Inputs) -> list[ScoreRow]:
    models = read_models(read_studies(inputs.study, inputs.parameters), inputs.variant)
    scored = [one for one in models if one.groups]
    compared, rows = _compared(scored)
    for model in models:
        rows += _counts(model, len(compared))
    rows.append(people_shared(model.people for model in models))
    if compared:
        rows += _means(scored, compared, inputs) + _groups(scored, compared, inputs)
    return rows if inputs.with_intervals else without_intervals(rows)


def _compared(models: Sequence[Model]) -> tuple[list[_Compared], list[ScoreRow]]:
    """The groups that are reported in all models, with a variance and with L(stereo) and L(random) both
    defined, so that theta, a ratio of means, is over the same groups in each; and rows of the others."""
    names = {one.group_id: one.group for model in models for one in model.groups.values()}
    kept, rows = [], []
    for group_id, name in sorted(names.items(), key=lambda pair: (pair[1], pair[0])):
        there = [model.groups[group_id] for model in models if group_id in model.groups]
        group = _Compared(group_id, name, tuple(there))
        defined = sum(one.is_defined for one in there)
        if defined == len(models) and all(one.has_variance for one in there):
            kept.append(group)
            continue
        rows.append(score_row("left_out", len(there), len(models), group=group))
        if defined < len(there):
            rows.append(score_row("left_out_defined", defined, len(models), group=group))
    return kept, rows


def _counts(model: Model, compared: int) -> list[ScoreRow]:
    """How much there is of a model."""
    known = len(model.people)
    return [
        score_row("images", model.images, model.answers, part=model.part),
        score_row("answers", model.answers, model.answers, part=model.part),
        score_row("people", known or float("nan"), model.answers, part=model.part),
        score_row("groups", len(model.groups), compared, part=model.part),
    ]


def _means(models: Sequence[Model], groups: Sequence[_Compared], inputs: Inputs) -> list[ScoreRow]:
    """Rows of the means of each model over `groups`, its places, and the p of all models being equal."""
    rows: list[ScoreRow] = []
    means = [
        tendencies.mean([group.of_each[place].tendency for group in groups]) for place in range(len(models))
    ]
    for model, mean in zip(models, means, strict=True):
        rows += group_tendency.score_rows(mean, None, part=model.part, groups=len(groups))
    parts = [model.part for model in models]
    rows += place_rows(DEPICTION, "l_stereo", parts, [_by_share(one) for one in means], inputs)
    rows += place_rows(DEPICTION, "theta", parts, [_by_theta(one) for one in means], inputs)
    seen = [group for group in groups if all(one.offensiveness is not None for one in group.of_each)]
    if seen:
        ranked = []
        for place, model in enumerate(models):
            found, scale = _mean_offensiveness([group.of_each[place] for group in seen])
            (interval,) = spread.intervals(found.influences, [found.value], scale)
            rows.append(score_row("o", found.value, len(seen), interval, part=model.part))
            ranked.append(found)
        rows += place_rows(DEPICTION, "o", parts, ranked, inputs)
    return rows


def _by_share(mean: GroupTendency) -> _Ranked:
    found = mean.stereo_spread
    assert isinstance(found, Influences)
    return _Ranked(mean.point.l_stereo, found)


def _by_theta(mean: GroupTendency) -> _Ranked:
    """By ln theta; without a finite one there is no place."""
    assert not isinstance(mean.likelihoods, np.ndarray)
    found = mean.likelihoods.of(tendencies.log_gradient(mean.point)).columns([2])
    with np.errstate(divide="ignore"):
        return _Ranked(float(np.log(mean.point.theta)), found)


def _mean_offensiveness(groups: Sequence[MeasuredGroup]) -> tuple[_Ranked, Scale]:
    """The unweighted mean of O over groups that all have one."""
    found = [one.offensiveness for one in groups if one.offensiveness is not None]
    together = influence.total([(1 / len(found), one.influences) for one in found], over_groups=True)
    low, high = np.mean([(one.scale.low, one.scale.high) for one in found], axis=0).tolist()
    return _Ranked(float(np.mean([one.value for one in found])), together), Scale(low, high)


def _groups(models: Sequence[Model], groups: Sequence[_Compared], inputs: Inputs) -> list[ScoreRow]:
    """Rows of each group in each model, of how far its L(stereo) are apart with the q of that, and of how
    many of its attributes are those of all models."""
    rows: list[ScoreRow] = []
    apart = spread_rows([[_by_share(one.tendency) for one in group.of_each] for group in groups], inputs)
    for group, of_group in zip(groups, apart, strict=True):
        for model, one in zip(models, group.of_each, strict=True):
            rows += group_tendency.score_rows(one.tendency, group, part=model.part)
            rows.append(score_row("images", one.images, one.images, group=group, part=model.part))
        shown = [one.attributes for one in group.of_each]
        common, all_of_them = frozenset.intersection(*shown), frozenset.union(*shown)
        rows.append(score_row("attributes_shared", len(common), len(all_of_them), group=group))
        rows += [replace(row, group_id=group.group_id, group=group.group) for row in of_group]
    return rows
