"""Serializers of agreement."""

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
        help_text="Also within and between these groups of annotators; admins only.",
    )


class AgreementRowSerializer(serializers.Serializer[Any]):
    part = serializers.CharField(help_text="The task, the level of its scale, and whose answers.")
    alpha = NumberSerializer(allow_null=True)
    fleiss_kappa = NumberSerializer(allow_null=True)
    percentage = NumberSerializer(allow_null=True)
    cross_kappa = NumberSerializer(allow_null=True)
    box_iou = NumberSerializer(allow_null=True)


class AgreementDifferenceSerializer(serializers.Serializer[Any]):
    part = serializers.CharField(help_text="The task, the level of its scale, and the two groups.")
    alpha_difference = NumberSerializer(
        allow_null=True, help_text="Alpha within the first group minus that within the second."
    )
    alpha_difference_p = NumberSerializer(allow_null=True)
    alpha_difference_q = NumberSerializer(
        allow_null=True,
        help_text="Adjusted over both measures and all pairs of groups of the task and level.",
    )
    percentage_difference = NumberSerializer(allow_null=True, help_text="The same for the percentage.")
    percentage_difference_p = NumberSerializer(allow_null=True)
    percentage_difference_q = NumberSerializer(allow_null=True)


class AgreementSerializer(serializers.Serializer[Any]):
    run = ScoreRunSerializer(allow_null=True)
    stale = serializers.BooleanField()
    simulated = serializers.BooleanField()
    results = AgreementRowSerializer(many=True)
    differences = AgreementDifferenceSerializer(
        many=True, help_text="Between groups of annotators; empty if `by` is none."
    )
