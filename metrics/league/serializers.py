"""Serializers of the API of leagues."""

from typing import Any

from rest_framework import serializers

from annotation.api.resource import Query
from metrics.core.serializers import (
    AttributeRefSerializer,
    GroupRefSerializer,
    NumberSerializer,
    text_choice,
)
from metrics.league.data.studies import MAX_NAMES
from metrics.league.kinds import KINDS
from metrics.score_runs.serializers import ScoreRunSerializer


class LeagueQuery(Query):
    studies = text_choice("Names of the other studies, with commas; all must be yours.", max_length=MAX_NAMES)
    of = serializers.ChoiceField(
        list(KINDS), required=False, help_text="The kind of task that is compared; by default images, if any."
    )


class NamedNumberSerializer(NumberSerializer):
    name = serializers.CharField(help_text="As the metric lists them.")


class LeagueRowSerializer(serializers.Serializer[Any]):
    """A study or, of images, those of one image set as judged in one study."""

    study = serializers.SlugField()
    image_set = serializers.SlugField(allow_blank=True)
    model = serializers.CharField(allow_blank=True, help_text="Name of the model, where known.")
    images = serializers.IntegerField(allow_null=True)
    people = serializers.IntegerField(allow_null=True, help_text="null: nobody is identified.")
    answers = serializers.IntegerField()
    scores = NamedNumberSerializer(many=True)


class LeagueUnitSerializer(serializers.Serializer[Any]):
    """A group or attribute that is compared: its scores in each row, in their order, how far the first of
    them are apart, and q of all being equal."""

    group = GroupRefSerializer(allow_null=True)
    attribute = AttributeRefSerializer(allow_null=True)
    scores = NamedNumberSerializer(many=True)
    spread = NumberSerializer(allow_null=True)
    spread_q = NumberSerializer(allow_null=True)


class LeftOutSerializer(serializers.Serializer[Any]):
    """A group or attribute that is not in all rows, or has no interval or, of images, no l_random in one of
    them."""

    group = GroupRefSerializer(allow_null=True)
    attribute = AttributeRefSerializer(allow_null=True)
    there = serializers.IntegerField(help_text="Rows in which it is reported.")
    defined = serializers.IntegerField(help_text="Those of them in which its scores are defined.")
    of = serializers.IntegerField()
    reason = serializers.CharField(help_text="In words.")


class SettingValueSerializer(serializers.Serializer[Any]):
    value = serializers.CharField(allow_blank=True)
    studies = serializers.ListField(child=serializers.SlugField())


class SettingSerializer(serializers.Serializer[Any]):
    """A setting that is not equal in all studies."""

    name = serializers.CharField()
    matters = serializers.BooleanField(help_text="It changes what is measured.")
    values = SettingValueSerializer(many=True)


class LeagueSerializer(serializers.Serializer[Any]):
    """A league; `run` is null until scores are computed: request them with POST score-runs of the study
    `run_study`, of this metric with these parameters."""

    of = serializers.CharField(help_text="The kind of task that is compared.")
    run_study = serializers.SlugField()
    metric = serializers.CharField()
    parameters = serializers.DictField(child=serializers.CharField(allow_blank=True))
    run = ScoreRunSerializer(allow_null=True)
    stale = serializers.BooleanField()
    simulated = serializers.BooleanField(help_text="A program, not people, made some of the answers.")
    rows = LeagueRowSerializer(many=True)
    tests = NamedNumberSerializer(many=True, help_text="p of all being equal, by each score.")
    units = LeagueUnitSerializer(many=True)
    left_out = LeftOutSerializer(many=True)
    protocol = SettingSerializer(many=True)
