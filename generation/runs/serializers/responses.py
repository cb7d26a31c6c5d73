"""Serializers of the API's responses about runs and plans."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from generation.models import RunKind, RunState
from generation.runs.services import ACTIONS


class JobCountsSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="Not retried automatically.")


class RunSerializer(serializers.Serializer[Any]):
    """One recipe for one image set; the same recipe gives the same run."""

    id = serializers.IntegerField(source="run.pk")
    kind = serializers.ChoiceField(RunKind.choices, source="run.kind")
    state = serializers.ChoiceField(RunState.choices, source="run.state")
    image_set = serializers.CharField(source="run.image_set.name")
    backend = serializers.CharField(source="run.backend")
    model = serializers.CharField()
    recipe = serializers.DictField(source="run.recipe", help_text="Everything that determines the results.")
    recipe_hash = serializers.CharField(source="run.recipe_hash", help_text="SHA-256 of the recipe, in hex.")
    error = serializers.CharField(
        source="run.error", allow_blank=True, help_text="Why it was paused by an error."
    )
    created_at = serializers.DateTimeField(source="run.created_at")
    started_at = serializers.DateTimeField(source="run.started_at", allow_null=True)
    finished_at = serializers.DateTimeField(source="run.finished_at", allow_null=True)
    jobs = JobCountsSerializer(source="*")


class FailureSerializer(serializers.Serializer[Any]):
    error = serializers.CharField()
    jobs = serializers.IntegerField()
    parked = serializers.IntegerField(help_text="How many of these are not retried automatically.")
    example = serializers.CharField()


class RunProgressSerializer(JobCountsSerializer):
    pending = serializers.IntegerField()
    claimed = serializers.IntegerField()
    rate = serializers.FloatField(allow_null=True, help_text="Jobs per second, over the last two minutes.")
    seconds_left = serializers.FloatField(allow_null=True)
    errors = FailureSerializer(many=True)


class MadeWithSerializer(serializers.Serializer[Any]):
    """A model that made results of the run."""

    model = serializers.CharField()
    revision = serializers.CharField(allow_blank=True)
    device = serializers.CharField()
    libraries = serializers.DictField(child=serializers.CharField(), help_text="Name: version.")
    code = serializers.CharField(help_text="Revision of this program.")
    since = serializers.DateTimeField()


class OneRunSerializer(RunSerializer):
    made_with = MadeWithSerializer(
        many=True, source="run.made_with", help_text="Each distinct model version once, oldest first."
    )
    jobs = RunProgressSerializer(source="progress")
    actions = serializers.ListField(
        child=serializers.ChoiceField(list(ACTIONS)), help_text="The available actions."
    )


class EstimateSerializer(serializers.Serializer[Any]):
    seconds = serializers.FloatField(help_text="Model time, on one worker.")
    bytes = serializers.IntegerField(help_text="Files and rows.")
    measured = serializers.BooleanField(help_text="true: from jobs of this installation; false: assumed.")
    basis = serializers.CharField(help_text="What the estimate is based on.")


class PlannedSerializer(serializers.Serializer[Any]):
    """What a plan makes. `run` is null if nothing was written and the run would be new."""

    run = serializers.IntegerField(allow_null=True)
    state = serializers.ChoiceField(RunState.choices, allow_null=True)
    recipe_hash = serializers.RegexField("^[0-9a-f]{64}$")
    image_set = serializers.CharField()
    total = serializers.IntegerField(help_text="Jobs of the plan.")
    added = serializers.IntegerField(help_text="How many of these no run has yet.")
    groups = serializers.IntegerField()
    pictures = serializers.DictField(
        child=serializers.IntegerField(), help_text="Prompt set: number of images."
    )
    prompts = serializers.ListField(
        child=serializers.CharField(), help_text="The prompts of the first group, as examples."
    )
    notes = serializers.ListField(child=serializers.CharField())
    estimate = EstimateSerializer()
