"""Serializers of figures and progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from annotation.api.resource import Query
from annotation.models import StudyStatus, TaskKind
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.serializers import MeaningSerializer
from metrics.dashboards.figures import FIGURES

FILE_FORMATS = list(CONTENT_TYPES)


class FigureOptionSerializer(MeaningSerializer):
    choices = serializers.ListField(
        child=serializers.CharField(allow_blank=True),
        help_text="Empty: any text. Otherwise the allowed values; the first is the default.",
    )


class FigureSourceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    options = FigureOptionSerializer(many=True)
    formats = serializers.ListField(child=serializers.ChoiceField(FILE_FORMATS))


class FigureSerializer(serializers.Serializer[Any]):
    """A figure with the numbers it shows: `rows` in the order of `columns`."""

    name = serializers.CharField()
    title = serializers.CharField()
    alt = serializers.CharField(help_text="A text alternative to the picture.")
    notes = serializers.ListField(child=serializers.CharField())
    columns = serializers.ListField(child=serializers.CharField())
    rows = serializers.ListField(child=serializers.ListField(child=serializers.JSONField()))
    digest = serializers.RegexField("^[0-9a-f]{64}$")
    specification = serializers.DictField(help_text="Vega-Lite.")


class CountsSerializer(serializers.Serializer[Any]):
    """Responses by state; `wanted` is their sum, the target."""

    wanted = serializers.IntegerField()
    filled = serializers.IntegerField()
    leased = serializers.IntegerField()
    open = serializers.IntegerField()


class StratumCountsSerializer(CountsSerializer):
    stratum = serializers.CharField(source="name")


class TaskProgressSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(TaskKind.choices, source="task.kind")
    version = serializers.IntegerField(source="task.version")
    total = CountsSerializer()
    strata = StratumCountsSerializer(many=True)


class RateSerializer(serializers.Serializer[Any]):
    hours = serializers.IntegerField(help_text="The length of the period.")
    an_hour = serializers.FloatField(help_text="Responses an hour.")
    hours_left = serializers.FloatField(allow_null=True)


class DaySerializer(serializers.Serializer[Any]):
    day = serializers.DateField()
    responses = serializers.IntegerField()


class PaceSerializer(serializers.Serializer[Any]):
    timed = serializers.IntegerField(help_text="Responses whose time is known.")
    last_hour = serializers.IntegerField()
    at_work = serializers.IntegerField(help_text="Annotators who answered in the last 15 minutes.")
    enrolled = serializers.IntegerField()
    surplus = serializers.IntegerField()
    withdrawn = serializers.IntegerField()
    rates = RateSerializer(many=True)
    days = DaySerializer(many=True)


class AlertSerializer(serializers.Serializer[Any]):
    """An alert for leads. unsure: `k` of `n` answers about attribute `name` are Unsure. fast: annotator
    `name` takes `seconds` over `n` answers, where `usual` is usual. stratum: `n` slots of the stratum `name`
    are open, each item needs `needed` such people, and `k` are enrolled."""

    kind = serializers.ChoiceField(["unsure", "fast", "stratum"])
    name = serializers.CharField()
    k = serializers.IntegerField()
    n = serializers.IntegerField()
    needed = serializers.IntegerField()
    seconds = serializers.FloatField()
    usual = serializers.FloatField()


class ProgressSerializer(serializers.Serializer[Any]):
    """Counted at `counted_at`; for a large study this can be an earlier count."""

    study = serializers.CharField()
    status = serializers.ChoiceField(StudyStatus.choices)
    simulated = serializers.BooleanField()
    counted_at = serializers.DateTimeField()
    total = CountsSerializer()
    tasks = TaskProgressSerializer(many=True)
    pace = PaceSerializer()
    alerts = AlertSerializer(many=True)


def _option(help_text: str) -> serializers.Field[Any, Any, Any, Any]:
    return serializers.CharField(
        required=False, allow_blank=True, trim_whitespace=False, max_length=200, help_text=help_text
    )


def figure_query() -> type[Query]:
    """The options of all figures."""
    options: dict[str, list[str]] = {}
    for name, source in FIGURES.items():
        for option in source.options:
            options.setdefault(option, []).append(name)
    fields: Mapping[str, Any] = {name: _option(f"Option of {', '.join(of)}.") for name, of in options.items()}
    return type("FigureQuery", (Query,), {**fields, "__doc__": "Options of figures, as listed."})


FigureQuery = figure_query()
