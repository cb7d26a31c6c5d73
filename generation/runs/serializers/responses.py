"""What the API says of image sets and runs, and what a run is planned from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.models import Image, Study
from generation.models import RunKind, RunState
from generation.models.runs import PROMPT_SET_CHOICES

ACTIONS = ("start", "pause", "resume", "cancel", "retry")


class StudyNames(serializers.ListField):
    def to_representation(self, data: Iterable[Study]) -> list[str]:
        return [study.name for study in data]


class ImageSetSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="image_set.name")
    title = serializers.CharField(source="image_set.title")
    model_name = serializers.CharField(
        source="image_set.model_name", allow_blank=True, help_text="The text-to-image model, where known."
    )
    licence = serializers.CharField(source="image_set.licence", allow_blank=True)
    drawn = serializers.BooleanField(
        source="image_set.drawn", help_text="Drawn sample pictures, not a model's output."
    )
    images = serializers.IntegerField()
    groups = serializers.IntegerField()
    studies = StudyNames(child=serializers.CharField(), help_text="The studies of your own that show it.")


class ProvenanceSerializer(serializers.Serializer[Any]):
    """How an image came to be. `run` is null for images that were brought; the rest is then what their
    file said."""

    run = serializers.IntegerField(source="run_id", allow_null=True)
    prompt_set = serializers.ChoiceField(PROMPT_SET_CHOICES, allow_blank=True)
    attribute = serializers.CharField(allow_null=True)
    seed = serializers.IntegerField(allow_null=True)
    recipe_hash = serializers.CharField(allow_blank=True)
    model = serializers.CharField(allow_blank=True)
    revision = serializers.CharField(allow_blank=True)
    libraries = serializers.DictField(
        child=serializers.CharField(allow_null=True), help_text="Name: version."
    )
    device = serializers.CharField(allow_blank=True)
    code_revision = serializers.CharField(allow_blank=True)
    flagged = serializers.BooleanField(
        allow_null=True, help_text="The safety checker's verdict; null: it was not asked."
    )
    seconds = serializers.FloatField(allow_null=True, help_text="Model time, its share of the batch.")
    made_at = serializers.DateTimeField(allow_null=True)
    note = serializers.CharField(allow_blank=True)


@extend_schema_field({"type": ["string", "null"]})
class FileAddress(serializers.Field[Any, Any, Any, Any]):
    """Where the API gives out an image's file; null if it has none here."""

    def to_representation(self, image: Image) -> str | None:
        return reverse("api:image_file", args=[image.pk]) if image.file else None


class ImageSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    image_set = serializers.CharField(source="image_set.name")
    group = serializers.CharField(source="group.name")
    group_id = serializers.IntegerField()
    index = serializers.IntegerField(help_text="Number within its set and group, from 1.")
    prompt = serializers.CharField(allow_blank=True)
    width = serializers.IntegerField(help_text="pixels")
    height = serializers.IntegerField(help_text="pixels")
    sha256 = serializers.CharField(allow_blank=True)
    file = FileAddress(source="*", help_text="Path of the file, if it is here.")
    reference = serializers.CharField(allow_blank=True, help_text="Where it is kept outside.")
    provenance = serializers.SerializerMethodField(help_text="null: nothing is known of it.")

    @extend_schema_field(ProvenanceSerializer(allow_null=True))
    def get_provenance(self, image: Image) -> Any:
        known = getattr(image, "provenance", None)
        return None if known is None else ProvenanceSerializer(known).data


class CaptionSerializer(serializers.Serializer[Any]):
    run = serializers.IntegerField(source="run_id")
    rank = serializers.IntegerField(help_text="From 1, the captioner's best.")
    text = serializers.CharField()
    score = serializers.FloatField(allow_null=True, help_text="The captioner's own, higher is better.")


class JobCountsSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="Not tried again by themselves.")


class RunSerializer(serializers.Serializer[Any]):
    """One recipe over one image set; the same recipe is the same run."""

    id = serializers.IntegerField(source="run.pk")
    kind = serializers.ChoiceField(RunKind.choices, source="run.kind")
    state = serializers.ChoiceField(RunState.choices, source="run.state")
    image_set = serializers.CharField(source="run.image_set.name")
    backend = serializers.CharField(source="run.backend")
    model = serializers.CharField()
    recipe = serializers.DictField(source="run.recipe", help_text="Everything that decides what comes out.")
    recipe_hash = serializers.CharField(source="run.recipe_hash", help_text="SHA-256 of the recipe, in hex.")
    error = serializers.CharField(source="run.error", allow_blank=True, help_text="Why it paused by itself.")
    created_at = serializers.DateTimeField(source="run.created_at")
    started_at = serializers.DateTimeField(source="run.started_at", allow_null=True)
    finished_at = serializers.DateTimeField(source="run.finished_at", allow_null=True)
    jobs = JobCountsSerializer(source="*")


class FailureSerializer(serializers.Serializer[Any]):
    error = serializers.CharField()
    jobs = serializers.IntegerField()
    parked = serializers.IntegerField(help_text="Of these, not tried again by themselves.")
    example = serializers.CharField()


class StandingSerializer(JobCountsSerializer):
    pending = serializers.IntegerField()
    claimed = serializers.IntegerField()
    rate = serializers.FloatField(allow_null=True, help_text="Jobs a second, over the last two minutes.")
    seconds_left = serializers.FloatField(allow_null=True)
    errors = FailureSerializer(many=True)


class MadeWithSerializer(serializers.Serializer[Any]):
    """What a model that made something of a run said of itself."""

    model = serializers.CharField()
    revision = serializers.CharField(allow_blank=True)
    device = serializers.CharField()
    libraries = serializers.DictField(child=serializers.CharField(), help_text="Name: version.")
    code = serializers.CharField(help_text="Revision of this program.")
    since = serializers.DateTimeField()


class OneRunSerializer(RunSerializer):
    made_with = MadeWithSerializer(
        many=True, source="run.made_with", help_text="Each way of making once, the first first."
    )
    jobs = StandingSerializer(source="stands")
    actions = serializers.ListField(
        child=serializers.ChoiceField(ACTIONS), help_text="What can be done to it as it stands."
    )


class EstimateSerializer(serializers.Serializer[Any]):
    seconds = serializers.FloatField(help_text="Model time, on one worker.")
    bytes = serializers.IntegerField(help_text="Files and rows.")
    measured = serializers.BooleanField(help_text="From jobs of this installation, or assumed.")
    basis = serializers.CharField(help_text="What the estimate was taken from.")


class PlannedSerializer(serializers.Serializer[Any]):
    """What a plan comes to. `run` is the run that stands for it: null if nothing was written and it would be
    a new one."""

    run = serializers.IntegerField(allow_null=True)
    state = serializers.ChoiceField(RunState.choices, allow_null=True)
    recipe_hash = serializers.RegexField("^[0-9a-f]{64}$")
    image_set = serializers.CharField()
    total = serializers.IntegerField(help_text="Jobs that the plan wants.")
    added = serializers.IntegerField(help_text="Of these, jobs that no run has yet.")
    groups = serializers.IntegerField()
    pictures = serializers.DictField(
        child=serializers.IntegerField(), help_text="Prompt set: how many pictures of it."
    )
    prompts = serializers.ListField(
        child=serializers.CharField(), help_text="The prompts of the first group, as examples."
    )
    notes = serializers.ListField(child=serializers.CharField())
    estimate = EstimateSerializer()
