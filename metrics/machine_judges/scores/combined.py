"""Prediction-powered scores: people about a random part, a machine judge about everything (PROTOCOL §16)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import Study, TaskKind
from metrics.core.answers import describe_stereotype_rule
from metrics.core.stats import clustered
from metrics.core.stats.checks import Bools, Ints
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import NUMBER, SHARE
from metrics.depiction import data as depiction_data
from metrics.depiction.data import GroupFrame
from metrics.depiction.likelihood_influences import SumInfluences
from metrics.depiction.scores import group_tendency
from metrics.depiction.scores.measures import MeasuredGroup, measured
from metrics.depiction.tendencies import GroupTendency, compute, log_gradient
from metrics.machine_judges.data import Judge, judge_runs
from metrics.machine_judges.people import both_frames
from metrics.machine_judges.scores import metric
from metrics.machine_judges.scores.judged_ratings import NAMES, groups_of, has_value, weighted
from metrics.machine_judges.scores.part import AskedPart, asked_part, check_part
from metrics.machine_judges.stats.by_group import Ratings, by_group
from metrics.machine_judges.stats.prediction_powered import Combined, Estimate, combine
from metrics.score_runs.metric import Metric, NothingToCompute, Parameters
from metrics.score_runs.rows import Inputs, ScoreRow, score_row
from metrics.votes.data.source import votes_fingerprint

COMBINED, PEOPLE, JUDGE = "of: combined", "of: people", "of: judge"


@dataclass(frozen=True)
class _Group:
    group_id: int | None
    group: str


def check_inputs(study: Study, parameters: Parameters) -> None:
    """Raise NothingToCompute without the judge or its answers, or where people did not answer a random
    part."""
    check_part(metric.task_of(study, parameters))


def judge_combined_scores(inputs: Inputs) -> list[ScoreRow]:
    judge = metric.judge_of(inputs.study, inputs.parameters)
    part = asked_part(judge)
    found = _depicted(judge, part) if judge.task.kind == TaskKind.DEPICTION else _rated(judge, part)
    rows = [row for each in found for row in each]
    if not rows:
        raise NothingToCompute(
            "No group or scale has answers both in the part and in the rest. "
            "Ask people about a larger part: set people_share of the task in a new study."
        )
    return rows if inputs.with_intervals else [_without_interval(row) for row in rows]


def _depicted(judge: Judge, part: AskedPart) -> Iterator[list[ScoreRow]]:
    asked = np.unique(part.clusters[part.inside])
    for both in both_frames(judge):
        inside = np.isin(both.judge.images, asked)
        frames = [both.people, both.judge.only(inside), both.judge.only(~inside), both.judge]
        if all(len(frame.answers) for frame in frames):
            yield _of_group(frames)


def _of_group(frames: Sequence[GroupFrame]) -> list[ScoreRow]:
    """Of people, and of the judge in the part, the rest, and everywhere; all of the same attributes."""
    groups = [measured(frame) for frame in frames]
    shown = np.logical_and.reduce([one.n > 0 for one in groups])
    own, part, rest, judge = (_tendency(one, shown) for one in groups)
    if own.point.n_stereotypical < 2:  # not reported (PROTOCOL §6)
        return []
    group = _Group(frames[0].group_id, frames[0].group)
    asked, all_images = (len(np.unique(frames[place].images)) for place in (0, 3))
    rows = []
    sides = zip(*map(_estimates, (own, part, rest)), strict=True)
    combined = [
        combine(people, here, there, scale)
        for (people, here, there), scale in zip(sides, (SHARE, SHARE, NUMBER), strict=True)
    ]
    for place, name in enumerate(group_tendency.NAMES):
        found = combined[place]
        value, interval = _theta(found, own) if name == "theta" else (found.value, found.interval)
        rows += [
            score_row(name, value, all_images, interval, group=group, part=COMBINED),
            score_row(name, own.values[place], asked, own.intervals()[place], group=group, part=PEOPLE),
            score_row(
                name, judge.values[place], all_images, judge.intervals()[place], group=group, part=JUDGE
            ),
            score_row("tuning", found.tuning, asked, group=group, part=f"of: {name}"),
        ]
    return rows


def _tendency(group: MeasuredGroup, shown: Bools) -> GroupTendency:
    return compute(group.k * shown, group.n * shown, group.frame.stereotypical, group.likelihoods)


def _estimates(found: GroupTendency) -> list[Estimate]:
    """l_stereo, l_random, and the logarithm of theta."""
    assert isinstance(found.likelihoods, SumInfluences)
    influences = found.likelihoods.of(log_gradient(found.point))
    with np.errstate(divide="ignore"):
        values = [*found.values[:2].tolist(), float(np.log(found.values[2]))]
    return [Estimate(value, influences.columns([place])) for place, value in enumerate(values)]


def _theta(found: Combined, people: GroupTendency) -> tuple[float, Interval | None]:
    """theta from its logarithm. Where people's is 0, infinite or undefined, theirs."""
    if not found.tuning:
        return float(people.values[2]), people.intervals()[2]
    low, high = np.exp(np.clip([found.interval.low, found.interval.high], -700, 700)).tolist()
    return float(np.exp(found.value)), clustered.around(float(np.exp(found.value)), Interval(low, high))


@dataclass(frozen=True)
class _Answers:
    """Ratings (R,) of one side: the places of their options in Items, their values and annotators."""

    options: Ints
    values: Ints
    annotators: Ints

    def only(self, chosen: Bools) -> _Answers:
        return _Answers(self.options[chosen], self.values[chosen], self.annotators[chosen])


def _rated(judge: Judge, part: AskedPart) -> Iterator[list[ScoreRow]]:
    verdicts, own = judge.verdicts(), part.people
    nobody = np.full(len(verdicts.options), -1)
    judged = _Answers(verdicts.options, verdicts.values, nobody)
    people = _Answers(own.options, own.values, own.annotators)
    sides = [each.only(has_value(judge, each.values)) for each in (people, judged)]
    yield _of_items(judge, part, sides, np.ones_like(part.inside), None)
    for pk, name, about in groups_of(judge):
        yield _of_items(judge, part, sides, about, _Group(pk, name))


def _of_items(
    judge: Judge, part: AskedPart, sides: Sequence[_Answers], about: Bools, group: _Group | None
) -> list[ScoreRow]:
    """The rows of the items `about` (O,). They were drawn by identity group."""
    people, judged = (side.only(about[side.options]) for side in sides)
    inside = part.inside[judged.options]
    parts = [people, judged.only(inside), judged.only(~inside)]
    if not all(len(each.values) for each in parts):
        return []
    drawn, units = judge.items.groups, np.unique(judge.items.units[about], return_index=True)[1]
    groups, number = np.unique(drawn[about][units], return_counts=True)
    sizes = dict(zip(groups.tolist(), number.tolist(), strict=True))
    scale = weighted(judge, people.options, people.values).scale
    own_ratings, of_part, of_rest = (_ratings(judge, each) for each in parts)
    found = by_group(own_ratings, of_part, of_rest, sizes, scale)
    if found is None:
        return []
    combined = combine(found.people, found.part, found.rest, scale)
    alone, everywhere = (
        clustered.intervals([one.value], one.influences, scale)[0] for one in (found.people, found.judge)
    )
    name = NAMES[TaskKind(judge.task.kind)]
    known = judged.only(np.isin(drawn[judged.options], drawn[people.options]))
    asked, everything = (len(np.unique(part.clusters[each.options])) for each in (people, known))
    return [
        score_row(name, combined.value, everything, combined.interval, group=group, part=COMBINED),
        score_row(name, found.people.value, asked, alone, group=group, part=PEOPLE),
        score_row(name, found.judge.value, everything, everywhere, group=group, part=JUDGE),
        score_row("tuning", combined.tuning, asked, group=group, part=f"of: {name}"),
    ]


def _ratings(judge: Judge, side: _Answers) -> Ratings:
    found = weighted(judge, side.options, side.values)
    return Ratings(
        found.values, found.weights, found.items, side.annotators, judge.items.groups[side.options]
    )


def _without_interval(row: ScoreRow) -> ScoreRow:
    return replace(row, low=None, high=None, infinite=None, undefined=None)


def _rule(study: Study, parameters: Parameters) -> str:
    """Which judge; of depiction also which attributes are stereotypes."""
    found = metric.describe_judge(study, parameters)
    run = judge_runs(study).filter(name=parameters["judge"]).first()
    depicts = run is not None and run.recipe["design"]["task"] == TaskKind.DEPICTION
    return f"{found}; {describe_stereotype_rule(study)}" if depicts else found


def inputs_fingerprint(study: Study, parameters: Parameters) -> list[object]:
    """Changes with the judge's answers, people's, which attributes are stereotypes, and the groups of
    attributes."""
    stereotypes = depiction_data.inputs_fingerprint(study, parameters)
    votes = votes_fingerprint(study, parameters)
    return [*metric.judge_fingerprint(study, parameters), *stereotypes, *votes]


METRICS: tuple[Metric, ...] = (
    Metric(
        name="judge_combined",
        version=1,
        title="Scores of people and a machine judge combined",
        unit="that of each score; 0 to 1 (tuning)",
        direction="that of each score; a larger tuning: relies more on the judge",
        definition=(
            "People judged a random part of the images (or of what is rated), and the judge everything. "
            "Combined = people (part) + lambda * (judge (rest) - judge (part)): the judge may be wrong in "
            "any way, as it is wrong alike in part and rest. lambda is that of the least variance, from 0 "
            "(people alone) to 1. Computed for l_stereo and l_random, for the logarithm of theta, and for "
            "means of ratings, as `judge_scores` defines them. The part has its own fraction of each "
            "identity group, so a score of all groups is the mean of those of the groups, each with the "
            "weight of its items (N_g / N), of people and of the judge alike, with one lambda for all, as "
            "small groups cannot tell their own. A group of one item, or one that the judge answered about "
            "in the part or in the rest only, counts with people's mean. "
            "The interval adds up the influences by image: those of the part have people's "
            "minus lambda times the judge's, those of the rest the judge's; annotators have people's. Groups "
            "are strata, which each have 10 items in the part, or are put together until they have. "
            "Refused unless the part was drawn at random (`people_share`), all of it is answered, and the "
            "judge lacks readable answers about 5 % of the items at most."
        ),
        names=(
            ("l_stereo", "mean likelihood of the stereotypes of a group; n: images"),
            ("l_random", "mean likelihood of its other attributes; n: images"),
            ("theta", "l_stereo / l_random; n: images"),
            ("visual_mean", "mean over attributes of their mean rating, 1 to 5, Unsure is 3; n: attributes"),
            ("stereotypical", "share of answers Stereotypical, within a group; n: associations"),
            ("offence", "mean rating of offensiveness, -1 to 4, Unsure is 0, within a group; n: units"),
            ("level", "mean over associations of their mean level, 1 to 5, without Unsure; n: associations"),
            ("tuning", "lambda; n: images, attributes, associations or units of the part"),
        ),
        parts=(
            "`of: combined`, `of: people` (the part alone), `of: judge` (everything); of tuning `of: NAME`, "
            "the score that it is of"
        ),
        resampling="",
        clustering=(
            "images (or whatever a unit is about) and annotators; of offence attributes and annotators"
        ),
        section=metric.SECTION,
        reference=(
            "Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), doi:10.1126/science.adi6000; "
            "Angelopoulos, Duchi & Zrnic (2023), arXiv:2311.01453"
        ),
        source=metric.SOURCE,
        parameters=(metric.JUDGE,),
        caveats=(
            "The combined score estimates what these people would say about all images; it does not say what "
            "others would, nor that the judge is right: read `of: judge` beside `of: people`. It gains "
            "little where people differ more than images do, or where the judge does not follow them, and "
            "nothing for those who differ from a majority that the judge follows. With a part of fewer than "
            "about 30 images the interval can be a little narrow. Items count as drawn from others like "
            "them, also where all of a group were judged, so the interval is rather too wide for these very "
            "items. A score of all groups differs from that of `judge_scores`, which takes answers alike, "
            "where the part has other fractions of some groups; a group about which no answer counts is left "
            "out of it. The combined theta is not the ratio of the combined l_stereo and l_random. Only "
            "attributes that people and the judge saw in part and rest count, and only groups with images "
            "in both; an image that the judge could not be read about counts in people's score only."
        ),
        compute=judge_combined_scores,
        rule=_rule,
        fingerprint=inputs_fingerprint,
        check_inputs=check_inputs,
    ),
)
