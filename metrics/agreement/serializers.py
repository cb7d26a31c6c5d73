"""What the API is asked and says of agreement."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.api.resource import Query
from metrics.agreement.queries import BY
from metrics.core.serializers import NumberSerializer
from metrics.score_runs.serializers.responses import ScoreRunSerializer


class AgreementQuery(Query):
    by = serializers.ChoiceField(
        BY,
        default=BY[0],
        help_text="Also within and between these groups of annotators; for admins.",
    )


class AgreementRowSerializer(serializers.Serializer[Any]):
    part = serializers.CharField(help_text="Which task, how its scale is read, whose answers.")
    alpha = NumberSerializer(allow_null=True)
    fleiss_kappa = NumberSerializer(allow_null=True)
    percentage = NumberSerializer(allow_null=True)
    cross_kappa = NumberSerializer(allow_null=True)
    box_iou = NumberSerializer(allow_null=True)


class AgreementDifferenceSerializer(serializers.Serializer[Any]):
    part = serializers.CharField(help_text="Which task, how its scale is read, and which two groups.")
    alpha_difference = NumberSerializer(
        allow_null=True, help_text="Alpha within the first group less that within the second."
    )
    alpha_difference_p = NumberSerializer(allow_null=True)
    alpha_difference_q = NumberSerializer(
        allow_null=True, help_text="Over both measures of all pairs of groups of the task and reading."
    )
    percentage_difference = NumberSerializer(allow_null=True, help_text="The same of the percentage.")
    percentage_difference_p = NumberSerializer(allow_null=True)
    percentage_difference_q = NumberSerializer(allow_null=True)


class AgreementSerializer(serializers.Serializer[Any]):
    run = ScoreRunSerializer(allow_null=True)
    stale = serializers.BooleanField()
    simulated = serializers.BooleanField()
    results = AgreementRowSerializer(many=True)
    differences = AgreementDifferenceSerializer(
        many=True, help_text="Between groups of annotators; none where `by` is none."
    )
