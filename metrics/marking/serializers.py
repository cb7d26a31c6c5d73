"""Queries and responses of the API of marking."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from annotation.api.resource import Query
from generation.recipes.recipes import FAKE
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.numbers import finite
from metrics.marking.queries import MarkingRow

FILE_FORMATS = tuple(CONTENT_TYPES)


class MarkingQuery(Query):
    words = serializers.CharField(
        required=False,
        max_length=50_000,
        trim_whitespace=False,
        help_text="A line for each group, `Group: word, word`. Default: its name, demonym and singular.",
    )
    nouns = serializers.CharField(
        required=False, max_length=2000, help_text="With commas. Default: person, man, woman, and plurals."
    )
    alone = serializers.BooleanField(
        default=False, help_text="A word counts without a noun, also in `a white shirt`."
    )
    all_ranks = serializers.BooleanField(
        default=False, help_text="All captions of an image, not only the first-ranked."
    )


class MarkedGroupSerializer(serializers.Serializer[Any]):
    """The texts of one run about one group. Null: unknown, or no interval."""

    run = serializers.IntegerField()
    name = serializers.CharField(allow_blank=True, help_text="Of a run of descriptions.")
    model = serializers.CharField()
    simulated = serializers.BooleanField(help_text="A program, and no model, wrote the texts.")
    top_p = serializers.FloatField(allow_null=True, help_text="As the recipe says it.")
    group = serializers.CharField()
    n = serializers.IntegerField(help_text="Texts about images of the group.")
    marked = serializers.IntegerField(help_text="How many of them name the group.")
    share = serializers.FloatField()
    low = serializers.FloatField(allow_null=True, help_text="Of the 95 % interval, clustered by image.")
    high = serializers.FloatField(allow_null=True)


class MarkingSerializer(serializers.Serializer[Any]):
    """Groups are self-identified, or as the image set names them."""

    image_set = serializers.CharField()
    words = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()), help_text="Group -> its words."
    )
    nouns = serializers.ListField(child=serializers.CharField())
    alone = serializers.BooleanField()
    all_ranks = serializers.BooleanField()
    results = MarkedGroupSerializer(many=True)


def row_data(rows: Sequence[MarkingRow]) -> list[dict[str, Any]]:
    """The data of MarkedGroupSerializer."""
    return [
        {
            "run": row.run.pk,
            "name": row.run.name,
            "model": row.run.model,
            "simulated": row.run.backend == FAKE,
            "top_p": row.top_p,
            "group": row.group.name,
            "n": row.share.n,
            "marked": row.share.k,
            "share": row.share.value,
            "low": finite(row.share.low),
            "high": finite(row.share.high),
        }
        for row in rows
    ]
