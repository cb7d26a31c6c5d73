"""Serializers, query parameters and request bodies of metrics, score runs and scores."""

import json
from typing import Any

from django.conf import settings
from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.api.resource import Body, Query
from annotation.core.leases import JobState
from annotation.models import Intervals
from metrics.core.serializers import (
    MAX_ID,
    AttributeRefSerializer,
    GroupRefSerializer,
    MeaningSerializer,
    NumberSerializer,
    text_choice,
)
from metrics.models import RunIntervals, Variant
from metrics.score_runs import registry
from metrics.score_runs.evaluation import MIN_RESAMPLES

METRIC_NAMES = [metric.name for metric in registry.metrics()]
MAX_PARAMETER = 1900
"""Characters of one parameter: `ScoreRun.parameters` holds all of a run."""


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
    interval = serializers.CharField(
        allow_null=True, help_text="How its intervals are computed, by either method; null: no interval."
    )
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
    intervals = serializers.ChoiceField(
        RunIntervals.choices,
        help_text="How its 95 % intervals are computed: clustered standard errors, bootstrap, or none.",
    )
    seed = serializers.IntegerField(help_text="Of the bootstrap.")
    resamples = serializers.IntegerField(help_text="Of the bootstrap; 0 with other intervals.")
    rule = serializers.CharField(allow_blank=True, help_text="Empty until it is done.")
    state = serializers.ChoiceField(JobState.choices)
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


def _metrics_by_parameter() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for metric in registry.metrics():
        for each in metric.parameters:
            found.setdefault(each.name, []).append(metric.name)
    return found


def _key(help_text: str) -> serializers.Field[Any, Any, Any, Any]:
    return serializers.IntegerField(required=False, min_value=1, max_value=MAX_ID, help_text=help_text)


METRICS_BY_PARAMETER = _metrics_by_parameter()
"""{parameter: names of the metrics that have it}."""
_CHOSEN = {
    name: text_choice(f"Parameter of {', '.join(of)}.", max_length=MAX_PARAMETER)
    for name, of in METRICS_BY_PARAMETER.items()
}
_FILTERS = {
    "name": text_choice("Only scores of this name, as listed by the metric."),
    "part": text_choice("Only scores of this part; empty: only scores without a part."),
    "group": _key("Only scores of the identity group with this id."),
    "attribute": _key("Only scores of the attribute with this id."),
}
ScoreQuery = list_query(
    "Score",
    orders={"id": "pk"},
    default="id",
    metric=serializers.ChoiceField(METRIC_NAMES),
    variant=serializers.ChoiceField(Variant.choices, default=Variant.CORRECTED.value),
    **_FILTERS,
    **_CHOSEN,
)
RunScoresQuery = list_query("RunScores", orders={"id": "pk"}, default="id", **_FILTERS)
ScoreRunQuery = list_query(
    "ScoreRun",
    orders={"created_at": "created_at"},
    default="-created_at",
    metric=serializers.ChoiceField(METRIC_NAMES, required=False),
    variant=serializers.ChoiceField(Variant.choices, required=False),
    state=serializers.ChoiceField(JobState.choices, required=False),
)


class VariantQuery(Query):
    variant = serializers.ChoiceField(Variant.choices, default=Variant.CORRECTED.value)


class ScoreRunBody(Body):
    """The scores to compute. The same request for the same answers returns the same run."""

    metric = serializers.ChoiceField(METRIC_NAMES)
    variant = serializers.ChoiceField(Variant.choices, default=Variant.CORRECTED.value)
    parameters = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=MAX_PARAMETER),
        required=False,
        help_text="As listed by the metric; omitted parameters have their defaults.",
    )
    intervals = serializers.ChoiceField(
        Intervals.choices,
        required=False,
        help_text="How 95 % intervals are computed; by default as the study has chosen, or, with resamples "
        "or a seed, by the bootstrap. A metric without clustered intervals always has bootstrap intervals.",
    )
    resamples = serializers.IntegerField(
        required=False,
        min_value=MIN_RESAMPLES,
        max_value=20_000,
        help_text=f"Of the bootstrap; default {settings.BOOTSTRAP_RESAMPLES}. Not with clustered intervals.",
    )
    seed = serializers.IntegerField(
        default=0, min_value=0, max_value=MAX_ID, help_text="Of the bootstrap. Not with clustered intervals."
    )
