"""Request bodies and responses of the API of visual questions."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.api.resource import Query
from generation.models import RunState
from generation.runs.bodies import DescriptionsRunBody
from generation.runs.serializers import RunSerializer
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.numbers import finite
from metrics.visual_questions.queries import QuestionResult
from metrics.visual_questions.stats import CHI_SQUARE, PERMUTATION

FILE_FORMATS = tuple(CONTENT_TYPES)

VisualQuestionRunsQuery = list_query(
    "VisualQuestionRuns",
    orders={"created_at": "created_at"},
    default="-created_at",
    state=serializers.ChoiceField(RunState.choices, required=False),
)


class FigureOfQuestionQuery(Query):
    question = serializers.CharField(
        required=False, max_length=40, help_text="The name of a question. Default: the first."
    )


class VisualQuestionsBody(DescriptionsRunBody):
    """Missing fields have the defaults of the page's form."""

    kind = prompts = None
    questions = serializers.CharField(
        required=False,
        max_length=100_000,
        help_text="TOML: a table [[question]] for each, with name, text and perhaps answers; or a question "
        "in each line. Default: the questions that ship.",
    )


class VisualAnswerSerializer(serializers.Serializer[Any]):
    """One answer about one group. Null: no interval."""

    question = serializers.CharField(help_text="The name of the question.")
    group = serializers.CharField()
    answer = serializers.CharField(
        help_text="An answer; `other answers` and `empty answers` stand for those that are none."
    )
    n = serializers.IntegerField(help_text="Answers about images of the group.")
    k = serializers.IntegerField(help_text="How many of them are this answer.")
    share = serializers.FloatField()
    low = serializers.FloatField(
        allow_null=True,
        help_text="Of the 95 % interval: clustered by image, or Wilson's if each was asked about once.",
    )
    high = serializers.FloatField(allow_null=True)


class VisualQuestionSerializer(serializers.Serializer[Any]):
    """A question, and whether all groups get the same answers to it. Null: not tested."""

    question = serializers.CharField(help_text="The name of the question.")
    text = serializers.CharField()
    groups = serializers.IntegerField()
    statistic = serializers.FloatField(allow_null=True, help_text="Pearson's chi-square.")
    df = serializers.IntegerField(allow_null=True)
    p_value = serializers.FloatField(allow_null=True)
    q_value = serializers.FloatField(allow_null=True, help_text="Corrected for all questions of the run.")
    method = serializers.ChoiceField(
        [CHI_SQUARE, PERMUTATION],
        allow_null=True,
        help_text="How p was found: by permutation where an expected count is below 5.",
    )


class VisualQuestionResultsSerializer(serializers.Serializer[Any]):
    """What is answered so far. An answer says nothing about the person in the image."""

    run = RunSerializer()
    simulated = serializers.BooleanField(help_text="A program, and no model, gave the answers.")
    questions = VisualQuestionSerializer(many=True)
    results = VisualAnswerSerializer(many=True)


def share_data(found: Sequence[QuestionResult]) -> list[dict[str, Any]]:
    """The data of VisualAnswerSerializer: for each question, group and answer."""
    return [
        {
            "question": one.question.name,
            "group": row.group.name,
            "answer": each.name,
            "n": each.share.n,
            "k": each.share.k,
            "share": each.share.value,
            "low": finite(each.share.low),
            "high": finite(each.share.high),
        }
        for one in found
        for row in one.groups
        for each in row.shares
    ]


def question_data(found: Sequence[QuestionResult]) -> list[dict[str, Any]]:
    """The data of VisualQuestionSerializer."""
    return [
        {
            "question": one.question.name,
            "text": one.question.text,
            "groups": len(one.groups),
            "statistic": one.test.statistic if one.test else None,
            "df": one.test.df if one.test else None,
            "p_value": one.test.p if one.test else None,
            "q_value": one.q,
            "method": one.test.method if one.test else None,
        }
        for one in found
    ]
