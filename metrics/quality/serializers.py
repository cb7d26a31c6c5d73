"""Serializers of annotator quality."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.api.resource import Query
from metrics.quality.queries.annotators import FLAGS


class QualityQuery(Query):
    order = serializers.ChoiceField(["flags", "-flags", "annotator", "-annotator"], default="-flags")


class QualityRowSerializer(serializers.Serializer[Any]):
    """One annotator, by pseudonym. Flags are reasons to look closer, not verdicts."""

    annotator = serializers.CharField()
    simulated = serializers.BooleanField()
    status = serializers.CharField(allow_blank=True, help_text="Status of the enrolment; empty without one.")
    answers = serializers.IntegerField()
    median_active_s = serializers.FloatField(allow_null=True)
    usual_active_s = serializers.FloatField(allow_null=True)
    median_idle_s = serializers.FloatField(allow_null=True)
    agreement = serializers.FloatField(allow_null=True)
    agreement_by_chance = serializers.FloatField(allow_null=True)
    pairs = serializers.IntegerField()
    checks_right = serializers.IntegerField()
    checks = serializers.IntegerField()
    none_of_above = serializers.IntegerField()
    none_of_above_offered = serializers.IntegerField()
    most_frequent = serializers.IntegerField()
    rated = serializers.IntegerField()
    flags = serializers.ListField(child=serializers.ChoiceField(list(FLAGS)))


class QualitySerializer(serializers.Serializer[Any]):
    counted_at = serializers.DateTimeField()
    unknown = serializers.IntegerField(help_text="Responses without an annotator.")
    results = QualityRowSerializer(many=True)
