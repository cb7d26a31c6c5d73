"""Responses of the API about the results of one machine judge."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from annotation.api.resource import Query
from annotation.models import TaskKind
from generation.runs.serializers import RunSerializer, SpentSerializer
from metrics.agreement.queries import BY
from metrics.core.serializers import AttributeRefSerializer, GroupRefSerializer, NumberSerializer
from metrics.machine_judges.parsing import Problem
from metrics.machine_judges.queries.results import AgreementRow, Results, ScoreTables
from metrics.score_runs.serializers import ScoreRunSerializer

AGREEMENT_SCORES = (
    *("judge_percentage", "people_percentage"),
    *("percentage_difference", "percentage_difference_p", "percentage_difference_q"),
)
COEFFICIENT_SCORES = (
    *("judge_kappa", "people_alpha", "kappa_difference", "kappa_difference_p", "kappa_difference_q"),
    *("judge_iou", "people_iou", "iou_difference"),
)
SIDES = ("judge", "people", "difference", "combined", "tuning")


class JudgeResultsQuery(Query):
    by = serializers.ChoiceField(
        BY, default=BY[0], help_text="Also agreement with these groups of annotators."
    )


class JudgeDesignSerializer(serializers.Serializer[Any]):
    """What the judge was asked."""

    task = serializers.ChoiceField(TaskKind.choices)
    task_version = serializers.IntegerField()
    prompt_version = serializers.IntegerField()
    boxes = serializers.CharField(help_text="How it gives the corners of boxes; none: it gives no boxes.")
    again = serializers.IntegerField(help_text="Items that were asked about again in each other variant.")
    wording = serializers.CharField(allow_blank=True)
    languages = serializers.ListField(child=serializers.CharField())
    seed = serializers.IntegerField()


class JudgeProblemSerializer(serializers.Serializer[Any]):
    problem = serializers.ChoiceField([each.value for each in Problem])
    unusable = NumberSerializer()


class JudgeStabilitySerializer(serializers.Serializer[Any]):
    variant = serializers.CharField(help_text="What differed when it was asked again.")
    stability = NumberSerializer(help_text="Share of verdicts that are the same as at first.")


class _AgreementSerializer(serializers.Serializer[Any]):
    """AGREEMENT_SCORES."""

    judge_percentage = NumberSerializer(allow_null=True)
    people_percentage = NumberSerializer(allow_null=True)
    percentage_difference = NumberSerializer(allow_null=True, help_text="The judge's minus people's, points.")
    percentage_difference_p = NumberSerializer(allow_null=True)
    percentage_difference_q = NumberSerializer(allow_null=True)


class JudgeReadingSerializer(_AgreementSerializer):
    """Agreement about all items, at one level of the scale."""

    reading = serializers.CharField()
    judge_kappa = NumberSerializer(allow_null=True)
    people_alpha = NumberSerializer(allow_null=True)
    kappa_difference = NumberSerializer(allow_null=True)
    kappa_difference_p = NumberSerializer(allow_null=True)
    kappa_difference_q = NumberSerializer(allow_null=True)
    judge_iou = NumberSerializer(allow_null=True, help_text="Overlap of boxes.")
    people_iou = NumberSerializer(allow_null=True)
    iou_difference = NumberSerializer(allow_null=True)


class JudgeAgreementRowSerializer(_AgreementSerializer):
    """Agreement about the items of a region, an identity group or an attribute, or with a group of
    annotators."""

    region = serializers.CharField(allow_blank=True, help_text="Empty: all regions.")
    annotators = serializers.CharField(allow_blank=True, help_text="Empty: all annotators.")
    group = GroupRefSerializer(allow_null=True)
    attribute = AttributeRefSerializer(allow_null=True)


class JudgeConfusionSerializer(serializers.Serializer[Any]):
    people = serializers.CharField(help_text="What people answered.")
    judge = serializers.CharField(help_text="What the judge answered there.")
    share = NumberSerializer(help_text="Of people's answers.")


class JudgeAlternativeSerializer(serializers.Serializer[Any]):
    """The alternative annotator test; null without a result."""

    winning_rate = NumberSerializer(allow_null=True, help_text="Omega; n annotators, k of them beaten.")
    advantage = NumberSerializer(allow_null=True, help_text="Rho, the mean advantage probability.")


class JudgeScoreSerializer(serializers.Serializer[Any]):
    """A score from the judge's answers beside the same from people's."""

    name = serializers.CharField()
    group = GroupRefSerializer(allow_null=True, help_text="Null: everything.")
    judge = NumberSerializer(allow_null=True)
    people = NumberSerializer(allow_null=True)
    difference = NumberSerializer(allow_null=True, help_text="The judge's minus people's; of theta, of logs.")
    p = NumberSerializer(allow_null=True)
    q = NumberSerializer(allow_null=True)
    combined = NumberSerializer(allow_null=True, help_text="Prediction-powered; only in `combined`.")
    tuning = NumberSerializer(allow_null=True, help_text="Lambda: how much the judge counts.")


class JudgeResultsSerializer(serializers.Serializer[Any]):
    """Nothing here is a score of the study. `score_runs`: where the numbers come from. Empty lists and nulls:
    not computed yet, or `refused`, by metric with the reason."""

    run = RunSerializer()
    simulated = serializers.BooleanField(help_text="A program, and no model, gave the answers.")
    design = JudgeDesignSerializer()
    spent = SpentSerializer()
    seconds = serializers.FloatField(allow_null=True, help_text="Model time of all answers.")
    score_runs = ScoreRunSerializer(many=True)
    refused = serializers.DictField(child=serializers.CharField())
    finding = serializers.ListField(child=serializers.CharField(), help_text="In sentences.")
    warnings = serializers.ListField(child=serializers.CharField(), help_text="What it does not mean.")
    problems = JudgeProblemSerializer(many=True)
    overall = JudgeReadingSerializer(many=True)
    places = JudgeAgreementRowSerializer(many=True, help_text="By region and group of annotators.")
    groups = JudgeAgreementRowSerializer(many=True)
    attributes = JudgeAgreementRowSerializer(many=True, help_text="Those with the lowest differences.")
    confusion = JudgeConfusionSerializer(many=True)
    stability = JudgeStabilitySerializer(many=True)
    alternative = JudgeAlternativeSerializer(allow_null=True)
    scores = JudgeScoreSerializer(many=True)
    combined = JudgeScoreSerializer(many=True)


def results_data(found: Results) -> dict[str, Any]:
    """What JudgeResultsSerializer shows of stored scores."""
    alternative = {name: found.alternative.get(name) for name in ("winning_rate", "advantage")}
    return {
        "score_runs": list(found.runs.values()),
        "problems": [{"problem": one, "unusable": score} for one, score in found.problems.items()],
        "overall": [
            {"reading": row.reading, **_named(row.scores, (*AGREEMENT_SCORES, *COEFFICIENT_SCORES))}
            for row in found.readings
        ],
        "places": [_row_data(row) for row in found.places],
        "groups": [_row_data(row) for row in found.groups],
        "attributes": [_row_data(row) for row in found.attributes],
        "confusion": _confusion_data(found),
        "stability": [{"variant": one, "stability": score} for one, score in found.stability.items()],
        "alternative": alternative if found.alternative else None,
        "scores": _table_data(found.scores),
        "combined": _table_data(found.combined),
    }


def _named(scores: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: scores.get(name) for name in names}


def _row_data(row: AgreementRow) -> dict[str, Any]:
    about = {name: getattr(row, name) for name in ("region", "annotators", "group", "attribute")}
    return {**about, **_named(row.scores, AGREEMENT_SCORES)}


def _confusion_data(found: Results) -> list[dict[str, Any]]:
    if found.confusion is None:
        return []
    return [
        {"people": of_people, "judge": of_judge, "share": score}
        for of_people, _, cells in found.confusion.rows
        for of_judge, score in zip(found.confusion.labels, cells, strict=True)
        if score is not None
    ]


def _table_data(tables: ScoreTables) -> list[dict[str, Any]]:
    return [
        {"name": name, "group": row.group, "p": row.p, "q": row.q, **_named(row.of, SIDES)}
        for name, rows in tables
        for row in rows
    ]
