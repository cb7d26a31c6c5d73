"""Likelihoods, tendencies and offensiveness of depictions from a judge's answers, beside those from people's
(PROTOCOL §6, §7, §16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from metrics.core.stats import spread
from metrics.core.stats.scales import SHARE
from metrics.depiction import stats, tendencies
from metrics.depiction.data import GroupFrame
from metrics.depiction.likelihood_influences import LikelihoodInfluences
from metrics.depiction.scores import group_tendency
from metrics.depiction.scores.measures import (
    MeasuredGroup,
    Ratings,
    group_offensiveness,
    measured,
    read_ratings,
    tendency_of,
)
from metrics.depiction.tendencies import GroupTendency
from metrics.machine_judges.data import Judge
from metrics.machine_judges.people import both_frames
from metrics.machine_judges.scores.judged_rows import JudgedScore, Side, judged_score, score_rows
from metrics.score_runs import compared_rows
from metrics.score_runs.compared_rows import Estimates
from metrics.score_runs.rows import Inputs, ScoreRow

_Sides = tuple[MeasuredGroup, MeasuredGroup]
"""The judge's and people's."""


def depiction_rows(judge: Judge, inputs: Inputs) -> list[ScoreRow]:
    """Rows of all groups, of pages that both answered."""
    ratings = read_ratings(inputs.study, inputs.variant)
    likelihoods: list[JudgedScore] = []
    scored: list[tuple[dict[str, Any], GroupTendency, GroupTendency]] = []
    offensive: list[tuple[dict[str, Any], Estimates, Estimates]] = []
    for both in both_frames(judge):
        shared = both.shared()
        if not len(shared.judge.answers):
            continue
        sides = _as_one(measured(shared.judge, inputs.variant)), measured(shared.people, inputs.variant)
        group = _group(shared.people)
        likelihoods += _likelihoods(sides)
        of_judge, of_people = (tendency_of(one) for one in sides)
        if of_people.point.n_stereotypical >= 2:
            scored.append((group, of_judge, of_people))
        found = [_offensiveness(one, ratings) for one in sides]
        if found[0] is not None and found[1] is not None:
            offensive.append((group, found[0], found[1]))
    return [
        *score_rows("likelihood", likelihoods, inputs),
        *_tendency_rows(scored, inputs),
        *_offensiveness_rows(offensive, inputs),
    ]


def _as_one(judge: MeasuredGroup) -> MeasuredGroup:
    """The judge's answer about a page counts as often as people answered it, but is known only once: without
    this, a likelihood of 0 or 1 would look as sure as from so many answers."""
    assert isinstance(judge.likelihoods, LikelihoodInfluences)
    pages = judge.frame.n[np.unique(judge.frame.answers)].sum(axis=0)
    step = np.divide(1.0, pages, out=np.zeros(len(pages)), where=pages > 0)
    return replace(judge, likelihoods=replace(judge.likelihoods, step=step))


def _group(frame: GroupFrame) -> dict[str, Any]:
    return {"group_id": frame.group_id, "group": frame.group}


def _likelihoods(sides: _Sides) -> list[JudgedScore]:
    """Of each attribute; both sides have the same attributes, and showed the same."""
    frame = sides[1].frame
    first, second = (stats.likelihood(one.k, one.n) for one in sides)
    a, b = (
        each.likelihoods.of(np.eye(len(each.k)))
        for each in sides
        if isinstance(each.likelihoods, LikelihoodInfluences)
    )
    scales = [SHARE] * len(first)
    apart = spread.difference(first, second, (a, b), (scales, scales))
    of_judge, of_people = (
        [
            Side(value, n, interval, k)
            for value, n, interval, k in zip(
                values.tolist(),
                own.n.tolist(),
                spread.intervals(found, values, SHARE),
                own.k.tolist(),
                strict=True,
            )
        ]
        for own, values, found in zip(sides, (first, second), (a, b), strict=True)
    )
    return [
        JudgedScore(
            of_judge[place],
            of_people[place],
            apart[place],
            {
                **_group(frame),
                "attribute_id": frame.attribute_ids[place],
                "attribute": text,
                "stereotypical": bool(frame.stereotypical[place]),
            },
        )
        for place, text in enumerate(frame.attributes)
        if text is not None and of_people[place].n
    ]


def _tendency_rows(
    scored: Sequence[tuple[dict[str, Any], GroupTendency, GroupTendency]], inputs: Inputs
) -> list[ScoreRow]:
    """Of each group, and of the means over groups."""
    rows = []
    found = [_tendency(*one) for one in scored]
    for place, name in enumerate(group_tendency.NAMES):
        rows += score_rows(name, [one[place] for one in found], inputs)
    if scored:
        means = [tendencies.mean([one[side] for _, *one in scored]) for side in (0, 1)]
        for name, mean in zip(group_tendency.NAMES, _tendency({}, *means, groups=len(scored)), strict=True):
            rows += score_rows(name, [mean], inputs)
    return rows


def _tendency(
    about: dict[str, Any], judge: GroupTendency, people: GroupTendency, *, groups: int | None = None
) -> list[JudgedScore]:
    """l_stereo, l_random and theta; the difference of theta is that of its logarithms."""
    sides = []
    for one in (judge, people):
        point = one.point
        numbers = [point.n_stereotypical, point.n_random, point.n_stereotypical + point.n_random]
        sides.append(
            [
                Side(value, number if groups is None else groups, interval)
                for value, number, interval in zip(one.values.tolist(), numbers, one.intervals(), strict=True)
            ]
        )
    apart = tendencies.differences_of(judge, people)
    return [
        JudgedScore(first, second, difference, about)
        for first, second, difference in zip(*sides, apart, strict=True)
    ]


def _offensiveness(group: MeasuredGroup, ratings: Ratings) -> Estimates | None:
    """O(id) of a group; None if it has no score."""
    found = group_offensiveness(group, ratings)
    if found is None or not found[0].n:
        return None
    point, of_o, scale = found
    return Estimates(np.array([point.value]), (point.n,), of_o, (scale,))


def _offensiveness_rows(
    found: Sequence[tuple[dict[str, Any], Estimates, Estimates]], inputs: Inputs
) -> list[ScoreRow]:
    """Of each group that has a score from both, and of the means over these groups."""
    rows = score_rows("o", [judged_score(*sides, **about) for about, *sides in found], inputs)
    if found:
        means = [compared_rows.mean([one[side] for _, *one in found]) for side in (0, 1)]
        rows += score_rows("o", [judged_score(*means)], inputs)
    return rows
