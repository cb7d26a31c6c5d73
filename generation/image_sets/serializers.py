"""Serializers for image sets, their images and captions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.models import Image, Study
from generation.models.runs import PROMPT_SET_CHOICES


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
    studies = StudyNames(child=serializers.CharField(), help_text="Your studies that show it.")


class ProvenanceSerializer(serializers.Serializer[Any]):
    """How an image was made. For uploaded images `run` is null and the other fields come from their table."""

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
        allow_null=True, help_text="The safety checker's verdict; null: it did not run."
    )
    seconds = serializers.FloatField(allow_null=True, help_text="Model time: the image's share of its batch.")
    made_at = serializers.DateTimeField(allow_null=True)
    note = serializers.CharField(allow_blank=True)


@extend_schema_field({"type": ["string", "null"]})
class FileURL(serializers.Field[Any, Any, Any, Any]):
    """The API path of an image's file; null if this installation does not have it."""

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
    file = FileURL(source="*", help_text="Path of the file; null if this installation does not have it.")
    reference = serializers.CharField(allow_blank=True, help_text="Where the file is stored elsewhere.")
    provenance = serializers.SerializerMethodField(help_text="null: unknown.")

    @extend_schema_field(ProvenanceSerializer(allow_null=True))
    def get_provenance(self, image: Image) -> Any:
        provenance = getattr(image, "provenance", None)
        return None if provenance is None else ProvenanceSerializer(provenance).data


class CaptionSerializer(serializers.Serializer[Any]):
    run = serializers.IntegerField(source="run_id")
    rank = serializers.IntegerField(help_text="From 1, the captioner's best.")
    text = serializers.CharField()
    score = serializers.FloatField(allow_null=True, help_text="The captioner's own, higher is better.")
