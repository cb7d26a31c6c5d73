"""Scores of the alternative annotator test (PROTOCOL §16)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from django.db.models import Count

from annotation.core.scales import SCALES
from annotation.models import Study, TaskKind
from metrics.core.answers import counted_judgements
from metrics.core.stats import clustered
from metrics.core.stats.checks import Ints
from metrics.core.stats.scales import SHARE
from metrics.machine_judges.data import NONE_OF_ABOVE, Judge
from metrics.machine_judges.people import PeopleAnswers, read_people
from metrics.machine_judges.scores import metric
from metrics.machine_judges.scores.clusters import clusters
from metrics.machine_judges.stats.alternative import (
    Alignment,
    AlternativeTest,
    advantage_influences,
    alternative_test,
    compare,
)
from metrics.score_runs.metric import Metric, NothingToCompute, Parameter
from metrics.score_runs.rows import Inputs, ScoreRow, score_row

FEWEST = 3
"""Annotators; with fewer the test says nothing, and a score would be about a single person."""
_NOMINAL = (TaskKind.DEPICTION, TaskKind.PREVALENCE)


def check_inputs(study: Study, parameters: Mapping[str, str]) -> None:
    """Raise NothingToCompute without the judge or its answers, or if too few people answered enough, and
    ValueError for parameters that are no numbers in their range. One query more than `metric.task_of`."""
    _epsilon(parameters)
    least = _least(parameters)
    task = metric.task_of(study, parameters)
    items = counted_judgements(study, task.kind).filter(
        response__unit__task=task, response__annotator__isnull=False, option__attribute__isnull=False
    )
    answered = items.order_by().values("response__annotator").annotate(number=Count("pk"))
    _check_number(answered.filter(number__gte=least).count(), least)


def _check_number(tested: int, least: int) -> None:
    """Raise NothingToCompute if the test would be about too few annotators."""
    if tested < FEWEST:
        raise NothingToCompute(
            "The test leaves one annotator out at a time. Annotators who are identified and have answered "
            f"at least {least} items that somebody else and the judge answered too: {tested}; {FEWEST} are "
            "needed. Choose a smaller least=NUMBER, or wait until more people have answered."
        )


def alternative_annotator_scores(inputs: Inputs) -> list[ScoreRow]:
    epsilon, least = _epsilon(inputs.parameters), _least(inputs.parameters)
    judge = metric.judge_of(inputs.study, inputs.parameters)
    people, judged = _answers(judge)
    _check_number(len(np.unique(people.annotators)), least)
    compared = compare(
        people.options,
        people.annotators,
        people.values,
        judged,
        alignment=Alignment.ACCURACY if judge.task.kind in _NOMINAL else Alignment.NEGATIVE_RMSE,
    )
    found = alternative_test(compared, epsilon=epsilon, least=least)
    _check_number(len(found.numbers), least)
    return _rows(found, clusters(judge)[people.options[found.used]], inputs)


def _rows(found: AlternativeTest, images: Ints, inputs: Inputs) -> list[ScoreRow]:
    interval = None
    if inputs.with_intervals:
        (interval,) = clustered.intervals([found.advantage], advantage_influences(found, images), SHARE)
    tested = len(found.numbers)
    return [
        score_row("winning_rate", found.winning_rate, tested, k=int(found.wins.sum())),
        score_row("advantage", found.advantage, tested, interval),
    ]


def _answers(judge: Judge) -> tuple[PeopleAnswers, Ints]:
    """The answers of identified people about the items that the judge answered, without none of the above,
    and the judge's value for the item of each. Unsure has no place on a scale of numbers: there it is no
    answer, neither of a person nor of the judge."""
    found = judge.verdicts()
    sure = _sure_values(judge.task.kind)
    usable = np.isin(found.values, sure)
    value_of = np.zeros(len(judge.items.options), dtype=np.int64)
    value_of[found.options[usable]] = found.values[usable]
    has_value = np.zeros(len(value_of), dtype=np.bool_)
    has_value[found.options[usable]] = True
    people = read_people(judge.study, judge.task, judge.items)
    people = people.only(
        (people.annotators >= 0)
        & np.isin(people.values, sure)
        & has_value[people.options]
        & (judge.items.attributes[people.options] != NONE_OF_ABOVE)
    )
    return people, value_of[people.options]


def _sure_values(kind: str) -> list[int]:
    """The values that are compared: all labels of a nominal scale, those of an ordinal one without Unsure."""
    return [label.value for label in SCALES[kind] if kind in _NOMINAL or not label.needs_justification]


def _epsilon(parameters: Mapping[str, str]) -> float:
    text = parameters["epsilon"]
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise ValueError(f"epsilon: '{text}' is not a share. Give a number from 0 to 1, such as 0.1.")
    return found


def _least(parameters: Mapping[str, str]) -> int:
    text = parameters["least"]
    if not (text.isascii() and text.isdigit() and 2 <= int(text) <= 10**6):
        raise ValueError(f"least: '{text}' is not a number of items. Give a whole number of 2 or more.")
    return int(text)


METRICS: tuple[Metric, ...] = (
    Metric(
        name="judge_alternative_annotator",
        version=1,
        title="Alternative annotator test of a machine judge",
        unit="share of annotators (winning_rate), probability (advantage), 0 to 1",
        direction="larger: the judge is as near to people as one of them; passed from a winning rate of 0.5",
        definition=(
            "Each annotator is left out in turn. For each of their items, the judge's answer and theirs are "
            "compared with those of the remaining people: the share of these with the same label (depiction, "
            "where an item is an attribute of an image, and prevalence), or minus the root of the mean "
            "squared distance (visual nature, offensiveness, bias of an association; Unsure has no place on "
            "these scales and counts as no answer, of people and of the judge). rho_j is how often the judge "
            "is at least as near as annotator j. The judge wins against j if j is nearer less than epsilon "
            "more often than the judge is, by a one-sided t-test, at a false discovery rate of 5 % over "
            "annotators (Benjamini and Yekutieli). The winning rate omega is the share of annotators against "
            "whom it wins; the advantage rho is the mean of rho_j. Items with one answer are left out, and "
            "annotators with fewer than `least` items."
        ),
        names=(
            ("winning_rate", "omega; n: annotators tested, k: those against whom the judge wins"),
            ("advantage", "rho, the average advantage probability; n: annotators tested"),
        ),
        resampling="",
        clustering="images (or whatever a unit is about) and annotators",
        section=metric.SECTION,
        reference=(
            "Calderon, Reichart & Dror (2025), doi:10.18653/v1/2025.acl-long.782; "
            "Benjamini & Yekutieli (2001), doi:10.1214/aos/1013699998"
        ),
        source=metric.SOURCE,
        parameters=(
            metric.JUDGE,
            Parameter(
                "epsilon",
                "0.1",
                "how much nearer people may be, because a judge costs less: 0 to 1. The paper uses 0.2 for "
                "experts, 0.15 for skilled annotators and 0.1 for crowd workers",
            ),
            Parameter("least", "30", "items that an annotator must have in common with others"),
        ),
        caveats=(
            "A judge that agrees with a majority has not heard those who differ: where people disagree by "
            "who they are, passing does not make it a substitute for any of them. It passes against "
            "annotators who agree little with each other, so read it beside people's agreement. As "
            "published, the test takes all items to be independent, though those of one image are not: p is "
            "too small, and the judge passes too easily, where images differ. The interval of the advantage "
            "has images and annotators as clusters, and takes the remaining people of each item as they are. "
            "Where most attributes are not depicted, a judge that never sees anything is often as near as "
            "people. Annotators who are not identified are left out."
        ),
        compute=alternative_annotator_scores,
        rule=lambda study, parameters: (
            f"{metric.describe_judge(study, parameters)}; epsilon {parameters['epsilon']}; annotators with "
            f"at least {parameters['least']} items"
        ),
        fingerprint=metric.judge_fingerprint,
        check_inputs=check_inputs,
    ),
)
