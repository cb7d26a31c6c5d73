"""Serializers of the scores of identity groups."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from metrics.core.serializers import IdentityGroupSerializer, NumberSerializer
from metrics.score_runs.serializers.responses import ScoreRunSerializer


class IdentityRowSerializer(serializers.Serializer[Any]):
    group = IdentityGroupSerializer()
    l_stereo = NumberSerializer(allow_null=True)
    l_random = NumberSerializer(allow_null=True)
    theta = NumberSerializer(allow_null=True)
    offensiveness = NumberSerializer(
        source="o", allow_null=True, help_text="Only for groups with a stereotype that was seen and rated."
    )


class IdentitiesSerializer(serializers.Serializer[Any]):
    """`unreported`: judged groups with at most one stereotypical attribute."""

    run = ScoreRunSerializer(allow_null=True)
    offensiveness_run = ScoreRunSerializer(allow_null=True)
    stale = serializers.BooleanField()
    simulated = serializers.BooleanField()
    results = IdentityRowSerializer(many=True)
    unreported = IdentityGroupSerializer(many=True)
