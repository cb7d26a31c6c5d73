"""Prediction-powered scores: people about a random part, a machine judge about everything (PROTOCOL §16)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from annotation.core.scales import SCALES
from annotation.models import IdentityGroup, Study, TaskKind
from metrics.core.stats import clustered
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.means import HIGHEST, LOWEST
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import NUMBER, SHARE, Scale
from metrics.depiction import data as depiction_data
from metrics.depiction.data import GroupFrame
from metrics.depiction.likelihood_influences import SumInfluences
from metrics.depiction.scores.group_tendency import NAMES
from metrics.depiction.scores.measures import MeasuredGroup, measured
from metrics.depiction.tendencies import GroupTendency, compute, log_gradient
from metrics.machine_judges.data import Judge
from metrics.machine_judges.people import both_frames
from metrics.machine_judges.scores import metric
from metrics.machine_judges.scores.part import AskedPart, asked_part, check_part
from metrics.machine_judges.stats.prediction_powered import Combined, Estimate, combine, mean_estimate
from metrics.score_runs.metric import Metric, NothingToCompute, Parameters, stereotype_rule
from metrics.score_runs.rows import Inputs, ScoreRow, score_row

COMBINED, PEOPLE, JUDGE = "of: combined", "of: people", "of: judge"
STEREOTYPICAL = 1
"""On the scale of prevalence."""


@dataclass(frozen=True)
class _Rated:
    """How answers to a kind of rating task become one score."""

    name: str
    scale: Scale
    keeps_unsure: bool


_RATED = {
    TaskKind.VISUAL_NATURE: _Rated("visual_mean", Scale(1.0, 5.0), keeps_unsure=True),
    TaskKind.PREVALENCE: _Rated("stereotypical", SHARE, keeps_unsure=True),
    TaskKind.OFFENSIVENESS: _Rated("offence", Scale(LOWEST, HIGHEST), keeps_unsure=True),
    TaskKind.ASSOCIATION: _Rated("level", Scale(1.0, 5.0), keeps_unsure=False),
}


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
        people = both.people.only(np.isin(both.people.images, asked))
        inside = np.isin(both.judge.images, asked)
        frames = [people, both.judge.only(inside), both.judge.only(~inside), both.judge]
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
    for place, name in enumerate(NAMES):
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
    """Answers to rating tasks (R,): the identity group and the cluster of each, its annotator (below 0: not
    identified) and its value."""

    groups: Ints
    clusters: Ints
    annotators: Ints
    values: Floats

    def only(self, chosen: Bools) -> _Answers:
        return _Answers(
            self.groups[chosen], self.clusters[chosen], self.annotators[chosen], self.values[chosen]
        )

    def estimate(self, scale: Scale) -> Estimate:
        return mean_estimate(self.values, self.clusters, self.annotators, scale)

    @property
    def number(self) -> int:
        """Of clusters."""
        return len(np.unique(self.clusters))


def _rated(judge: Judge, part: AskedPart) -> Iterator[list[ScoreRow]]:
    rated, verdicts = _RATED[TaskKind(judge.task.kind)], judge.verdicts()
    nobody = np.full(len(verdicts.options), -1)
    people = _answers(judge, part, part.people.options, part.people.values, part.people.annotators)
    judged = _answers(judge, part, verdicts.options, verdicts.values, nobody)
    names = IdentityGroup.objects.filter(pk__in=np.unique(judge.items.groups).tolist()).order_by("name", "pk")
    asked = np.unique(part.clusters[part.inside])
    yield _of_answers(rated, people, judged, asked, None)
    for pk, name in names.values_list("pk", "name"):
        own, model = people.only(people.groups == pk), judged.only(judged.groups == pk)
        yield _of_answers(rated, own, model, asked, _Group(pk, name))


def _answers(judge: Judge, part: AskedPart, options: Ints, values: Ints, annotators: Ints) -> _Answers:
    kind = TaskKind(judge.task.kind)
    unsure = [label.value for label in SCALES[kind] if label.needs_justification]
    number = (values == STEREOTYPICAL) if kind == TaskKind.PREVALENCE else values
    found = _Answers(
        judge.items.groups[options], part.clusters[options], annotators, number.astype(np.float64)
    )
    return found if _RATED[kind].keeps_unsure else found.only(~np.isin(values, unsure))


def _of_answers(
    rated: _Rated, people: _Answers, judged: _Answers, asked: Ints, group: _Group | None
) -> list[ScoreRow]:
    inside = np.isin(judged.clusters, asked)
    part, rest = judged.only(inside), judged.only(~inside)
    if not all(len(each.values) for each in (people, part, rest)):
        return []
    name, scale = rated.name, rated.scale
    own, everywhere = people.estimate(scale), judged.estimate(scale)
    found = combine(own, part.estimate(scale), rest.estimate(scale), scale)
    alone = [clustered.intervals([one.value], one.influences, scale)[0] for one in (own, everywhere)]
    return [
        score_row(name, found.value, judged.number, found.interval, group=group, part=COMBINED),
        score_row(name, own.value, people.number, alone[0], group=group, part=PEOPLE),
        score_row(name, everywhere.value, judged.number, alone[1], group=group, part=JUDGE),
        score_row("tuning", found.tuning, people.number, group=group, part=f"of: {name}"),
    ]


def _without_interval(row: ScoreRow) -> ScoreRow:
    return replace(row, low=None, high=None, infinite=None, undefined=None)


def inputs_fingerprint(study: Study, parameters: Parameters) -> list[object]:
    """Changes with the judge's answers, people's, and which attributes are stereotypes."""
    stereotypes = depiction_data.inputs_fingerprint(study, parameters)
    return [*metric.judge_fingerprint(study, parameters), *stereotypes]


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
            "means of ratings. The interval adds up the influences by image: those of the part have people's "
            "minus lambda times the judge's, those of the rest the judge's; annotators have people's. "
            "Refused unless the part was drawn at random (`people_share`), all of it is answered, and the "
            "judge lacks readable answers about 5 % of the items at most."
        ),
        names=(
            ("l_stereo", "mean likelihood of the stereotypes of a group; n: images"),
            ("l_random", "mean likelihood of its other attributes; n: images"),
            ("theta", "l_stereo / l_random; n: images"),
            ("visual_mean", "mean rating of visual nature, 1 to 5, Unsure is 3; n: attributes"),
            ("stereotypical", "share of answers Stereotypical; n: associations"),
            ("offence", "mean rating of offensiveness, -1 to 4, Unsure is 0; n: associations"),
            ("level", "mean level of bias, 1 to 5, without Unsure; n: associations"),
            ("tuning", "lambda; n: images, attributes or associations of the part"),
        ),
        parts=(
            "`of: combined`, `of: people` (the part alone), `of: judge` (everything); of tuning `of: NAME`, "
            "the score that it is of"
        ),
        resampling="",
        clustering="images (or whatever a unit is about) and annotators",
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
            "about 30 images the interval can be a little narrow. The combined theta is not the ratio of the "
            "combined l_stereo and l_random. Only attributes that people and the judge saw in part and rest "
            "count, and only groups with images in both; an image that the judge could not be read about "
            "counts in people's score only."
        ),
        compute=judge_combined_scores,
        rule=stereotype_rule,
        fingerprint=inputs_fingerprint,
        check_inputs=check_inputs,
    ),
)
