"""Serializers shared by the rooms: numbers, and the groups and attributes they describe."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from metrics.core.json_numbers import ScoreNumber

MAX_ID = 2**63 - 1


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
