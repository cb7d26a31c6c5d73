"""Request bodies and responses of the API of inference models."""

import json
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.api.resource import Body, Query
from annotation.models import Pool
from generation.models import RunState
from generation.runs.serializers import RunSerializer
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.inference.figures import SHOWN
from metrics.inference.queries import ResultRow, number

InferenceRunsQuery = list_query(
    "InferenceRuns",
    orders={"created_at": "created_at"},
    default="-created_at",
    state=serializers.ChoiceField(RunState.choices, required=False),
)


class FigureOfRunQuery(Query):
    show = serializers.ChoiceField(SHOWN, default=SHOWN[0], help_text="Which number is drawn.")


class EntailedPairsQuery(Query):
    source = serializers.CharField(required=False, max_length=80, help_text="Only of this source.")
    region = serializers.CharField(required=False, max_length=30, help_text="Only of groups of this region.")
    limit = serializers.IntegerField(default=50, min_value=1, max_value=500, help_text="At most so many.")


def _words(help_text: str) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(max_length=80),
        required=False,
        min_length=1,
        max_length=100,
        help_text=help_text,
    )


class InferenceRunBody(Body):
    """Missing fields have the defaults of the page's form."""

    source = serializers.SlugField(max_length=80, help_text="The source of the associations, by name.")
    threshold = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=1000,
        help_text="Votes for a stereotype; 0: every association.",
    )
    pool = serializers.ChoiceField(Pool.choices, required=False, help_text="Whose votes.")
    baseline = serializers.BooleanField(required=False, help_text="Also random pairs. Default: true.")
    seed = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1, help_text="Default: 0.")
    verbs = _words("Default: ten ordinary verbs.")
    objects = _words("Each with its article. Default: ten ordinary objects.")
    backend = serializers.CharField(max_length=40, help_text="Name of the backend.")
    model = serializers.CharField(
        required=False, allow_blank=True, max_length=200, help_text="A hub id, or a folder on the workers."
    )
    revision = serializers.CharField(required=False, allow_blank=True, max_length=80)
    labels = _words("Names of the model's labels, in its order, if its configuration has none.")
    options = serializers.DictField(
        child=serializers.JSONField(allow_null=True),
        required=False,
        help_text="Options of the backend.",
    )
    name = serializers.SlugField(
        required=False, max_length=80, help_text="Of the run. Default: from source and model."
    )


def as_form_data(body: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A request body as data for the page's form, with the form's defaults for missing fields."""
    merged = {**defaults, **body}
    for name in ("verbs", "objects", "labels"):
        if isinstance(merged.get(name), list):
            merged[name] = ", ".join(merged[name])
    if isinstance(merged.get("options"), Mapping):
        merged["options"] = "\n".join(
            f"{name}={json.dumps(value)}" for name, value in body["options"].items()
        )
    return {name: value for name, value in merged.items() if value is not None}


class InferenceRowSerializer(serializers.Serializer[Any]):
    """One source, in one region or (empty) over all groups. Null: undefined, or no interval."""

    source = serializers.CharField()
    region = serializers.CharField(allow_blank=True)
    n_groups = serializers.IntegerField()
    n_pairs = serializers.IntegerField()
    entailed_share = serializers.FloatField(allow_null=True, help_text="%E, as a share of all pairs.")
    entailed_low = serializers.FloatField(allow_null=True)
    entailed_high = serializers.FloatField(allow_null=True)
    mean_entailment_of_entailed = serializers.FloatField(
        allow_null=True, help_text="M(E) over the pairs that came out as entailment."
    )
    mean_entailment_of_entailed_low = serializers.FloatField(allow_null=True)
    mean_entailment_of_entailed_high = serializers.FloatField(allow_null=True)
    mean_entailment_of_all = serializers.FloatField(allow_null=True, help_text="M(E) over all pairs.")
    mean_entailment_of_all_low = serializers.FloatField(allow_null=True)
    mean_entailment_of_all_high = serializers.FloatField(allow_null=True)


def row_data(row: ResultRow) -> dict[str, Any]:
    """The data of InferenceRowSerializer."""
    numbers = row.numbers
    return {
        "source": row.source,
        "region": row.region,
        "n_groups": numbers.n_groups,
        "n_pairs": numbers.n_pairs,
        "entailed_share": number(numbers.share),
        "entailed_low": number(numbers.share, "low"),
        "entailed_high": number(numbers.share, "high"),
        "mean_entailment_of_entailed": number(numbers.mean_of_entailed),
        "mean_entailment_of_entailed_low": number(numbers.mean_of_entailed, "low"),
        "mean_entailment_of_entailed_high": number(numbers.mean_of_entailed, "high"),
        "mean_entailment_of_all": number(numbers.mean_of_all),
        "mean_entailment_of_all_low": number(numbers.mean_of_all, "low"),
        "mean_entailment_of_all_high": number(numbers.mean_of_all, "high"),
    }


class InferenceResultsSerializer(serializers.Serializer[Any]):
    """What is answered so far; every entailment is an error of the model."""

    run = RunSerializer()
    simulated = serializers.BooleanField(help_text="A program, and no model, gave the answers.")
    results = InferenceRowSerializer(many=True)


class EntailedPairSerializer(serializers.Serializer[Any]):
    source = serializers.CharField()
    group = serializers.CharField()
    region = serializers.CharField(allow_blank=True)
    premise = serializers.CharField()
    hypothesis = serializers.CharField()
    probability = serializers.FloatField(help_text="Of entailment.")


class EntailedPairsSerializer(serializers.Serializer[Any]):
    results = EntailedPairSerializer(many=True)


FILE_FORMATS = tuple(CONTENT_TYPES)
