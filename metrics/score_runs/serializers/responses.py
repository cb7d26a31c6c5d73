"""Serializers of metrics, score runs and scores."""

from __future__ import annotations

import json
from typing import Any

from rest_framework import serializers

from metrics.core.serializers import (
    AttributeRefSerializer,
    GroupRefSerializer,
    MeaningSerializer,
    NumberSerializer,
)
from metrics.models import RunState, Variant
from metrics.score_runs import registry

METRIC_NAMES = [metric.name for metric in registry.metrics()]


class StoredParameters(serializers.DictField):
    """The parameters of a run, which stores them as JSON text."""

    def to_representation(self, value: str) -> dict[str, str]:
        found: dict[str, str] = super().to_representation(json.loads(value))
        return found


class ParameterSerializer(MeaningSerializer):
    default = serializers.CharField(allow_blank=True)


class MetricSerializer(serializers.Serializer[Any]):
    """A metric of the registry: its meaning, and what a reader must know before quoting it."""

    name = serializers.CharField()
    version = serializers.IntegerField(help_text="Changes whenever the numbers can.")
    title = serializers.CharField()
    definition = serializers.CharField(help_text="The formula, in words.")
    computed_from = serializers.CharField()
    unit = serializers.CharField()
    direction = serializers.CharField(help_text="How to read a larger value.")
    variants = serializers.ListField(child=serializers.ChoiceField(Variant.choices))
    variants_note = serializers.CharField(help_text="How the published formula and the corrected one differ.")
    scores = MeaningSerializer(many=True)
    parts = serializers.CharField(allow_blank=True, help_text="The possible values of a score's `part`.")
    parameters = ParameterSerializer(many=True)
    interval = serializers.CharField(allow_null=True, help_text="null: no interval.")
    reference = serializers.CharField()
    caveats = serializers.CharField(allow_blank=True)


class ScoreRunSerializer(serializers.Serializer[Any]):
    """One computation of a metric, with everything needed to repeat it."""

    id = serializers.IntegerField()
    metric = serializers.ChoiceField(METRIC_NAMES)
    version = serializers.IntegerField()
    variant = serializers.ChoiceField(Variant.choices)
    parameters = StoredParameters(child=serializers.CharField(allow_blank=True))
    digest = serializers.RegexField("^[0-9a-f]{64}$", help_text="SHA-256 of the inputs.")
    seed = serializers.IntegerField()
    resamples = serializers.IntegerField(help_text="Bootstrap resamples; 0: no intervals.")
    rule = serializers.CharField(allow_blank=True, help_text="Empty until it is done.")
    state = serializers.ChoiceField(RunState.choices)
    attempts = serializers.IntegerField()
    error = serializers.CharField(allow_blank=True)
    code_version = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    confirmed_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was last requested again and its inputs were still the same."
    )


class ScoreSerializer(NumberSerializer):
    """A score of a group, an attribute, both, or (both null) the study; of a `part` of it, if set."""

    name = serializers.CharField()
    part = serializers.CharField(allow_blank=True)
    group = GroupRefSerializer(allow_null=True)
    attribute = AttributeRefSerializer(allow_null=True)
