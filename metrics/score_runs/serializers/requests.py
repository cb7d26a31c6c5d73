"""Query parameters and request bodies of scores."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.api.resource import Body, Query
from metrics.core.serializers import MAX_ID
from metrics.models import RunState, Variant
from metrics.score_runs import registry
from metrics.score_runs.evaluation import MIN_RESAMPLES
from metrics.score_runs.serializers.responses import METRIC_NAMES


def _metrics_by_parameter() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for metric in registry.metrics():
        for each in metric.parameters:
            found.setdefault(each.name, []).append(metric.name)
    return found


def _text(help_text: str) -> serializers.Field[Any, Any, Any, Any]:
    return serializers.CharField(
        required=False, allow_blank=True, trim_whitespace=False, max_length=200, help_text=help_text
    )


METRICS_BY_PARAMETER = _metrics_by_parameter()
"""{parameter: names of the metrics that have it}."""
_CHOSEN = {name: _text(f"Parameter of {', '.join(of)}.") for name, of in METRICS_BY_PARAMETER.items()}
_VARIANT = serializers.ChoiceField(Variant.choices, default=Variant.CORRECTED.value)


def _key(help_text: str) -> serializers.Field[Any, Any, Any, Any]:
    return serializers.IntegerField(required=False, min_value=1, max_value=MAX_ID, help_text=help_text)


ScoreQuery = list_query(
    "Score",
    orders={"id": "pk"},
    default="id",
    metric=serializers.ChoiceField(METRIC_NAMES),
    variant=_VARIANT,
    name=_text("Only scores of this name, as listed by the metric."),
    part=_text("Only scores of this part; empty: only scores without a part."),
    group=_key("Only scores of the identity group with this id."),
    attribute=_key("Only scores of the attribute with this id."),
    **_CHOSEN,
)
RunScoresQuery = list_query(
    "RunScores",
    orders={"id": "pk"},
    default="id",
    name=_text("Only scores of this name, as listed by the metric."),
    part=_text("Only scores of this part; empty: only scores without a part."),
    group=_key("Only scores of the identity group with this id."),
    attribute=_key("Only scores of the attribute with this id."),
)
ScoreRunQuery = list_query(
    "ScoreRun",
    orders={"created_at": "created_at"},
    default="-created_at",
    metric=serializers.ChoiceField(METRIC_NAMES, required=False),
    variant=serializers.ChoiceField(Variant.choices, required=False),
    state=serializers.ChoiceField(RunState.choices, required=False),
)


class VariantQuery(Query):
    variant = serializers.ChoiceField(Variant.choices, default=Variant.CORRECTED.value)


class ScoreRunBody(Body):
    """The scores to compute. The same request for the same answers returns the same run."""

    metric = serializers.ChoiceField(METRIC_NAMES)
    variant = serializers.ChoiceField(Variant.choices, default=Variant.CORRECTED.value)
    parameters = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=200),
        required=False,
        help_text="As listed by the metric; omitted parameters have their defaults.",
    )
    resamples = serializers.IntegerField(
        required=False,
        min_value=MIN_RESAMPLES,
        max_value=20_000,
        help_text=f"Bootstrap resamples; default {settings.BOOTSTRAP_RESAMPLES}, as on the pages.",
    )
    seed = serializers.IntegerField(default=0, min_value=0, max_value=MAX_ID)
