"""Serializers shared by the rooms: numbers, and the groups and attributes they describe."""

import math
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

MAX_ID = 2**63 - 1


@extend_schema_field(
    {
        "oneOf": [{"type": "number"}, {"type": "string", "enum": ["inf", "-inf"]}, {"type": "null"}],
        "description": 'A number; "inf" or "-inf" where it is infinite; null where it is undefined.',
    }
)
class ScoreNumber(serializers.Field[Any, Any, Any, Any]):
    """A number of a score: "inf" and "-inf" if infinite, null if undefined."""

    def to_representation(self, value: float) -> float | str | None:
        number: float | str | None = json_safe(value)
        return number


def json_safe(value: Any) -> Any:
    """`value` with every infinite or undefined float replaced, also in nested dicts and lists."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {key: json_safe(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_safe(each) for each in value]
    return value


def text_choice(help_text: str, *, max_length: int = 200) -> serializers.Field[Any, Any, Any, Any]:
    """A query parameter whose value is taken as it is written, also if it is empty."""
    return serializers.CharField(
        required=False, allow_blank=True, trim_whitespace=False, max_length=max_length, help_text=help_text
    )


class MeaningSerializer(serializers.Serializer[Any]):
    """A name and its meaning."""

    name = serializers.CharField()
    meaning = serializers.CharField()


class GroupRefSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()


class AttributeRefSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    text = serializers.CharField()


class NumberSerializer(serializers.Serializer[Any]):
    """A number with its 95 % interval and the counts that it is based on."""

    value = ScoreNumber()
    low = ScoreNumber()
    high = ScoreNumber()
    n = serializers.IntegerField()
    k = serializers.IntegerField(allow_null=True, help_text="How many of the n were positive.")
    infinite = serializers.IntegerField(allow_null=True, help_text="Resamples without a finite value.")
    undefined = serializers.IntegerField(allow_null=True, help_text="Resamples without any value.")


class IdentityGroupSerializer(GroupRefSerializer):
    demonym = serializers.CharField(allow_blank=True)
    country = serializers.CharField(allow_blank=True)
    region = serializers.CharField(allow_blank=True)


class AskedSerializer(serializers.Serializer[Any]):
    """An asking, and its answer."""

    id = serializers.IntegerField(source="job_id")
    key = serializers.CharField(source="job.key")
    number = serializers.IntegerField(source="job.number")
    prompt = serializers.CharField(source="job.prompt")
    text = serializers.CharField(allow_blank=True)


class MadeStudySerializer(serializers.Serializer[Any]):
    """The draft of a study about what a model said, and its source of associations."""

    study = serializers.SlugField(source="name", help_text="The draft study.")
    source = serializers.SlugField(source="name", help_text="The source without votes.")
