"""Numbers of scores in JSON, which has neither infinity nor NaN."""

from __future__ import annotations

import math
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers


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
