"""Request bodies for planning runs, one per kind: the typed fields of the page's forms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.api.resource import Body, Query
from generation.models import RunKind, RunState
from generation.plans.prompt_choices import PROMPT_CHOICES

DTYPES = ("float32", "float16", "bfloat16")
LARGEST_SEED = 2**63 - 1

RunsQuery = list_query(
    "Runs",
    orders={"created_at": "created_at"},
    default="-created_at",
    kind=serializers.ChoiceField(RunKind.choices, required=False),
    state=serializers.ChoiceField(RunState.choices, required=False),
    image_set=serializers.CharField(
        required=False, max_length=80, help_text="Runs that fill or read this image set."
    ),
)


class PlanQuery(Query):
    dry_run = serializers.ChoiceField(
        ["true", "false"],
        default="false",
        help_text="true: only preview the plan; write nothing.",
    )


def _text(most: int, help_text: str = "", **options: Any) -> serializers.CharField:
    return serializers.CharField(
        required=False, allow_blank=True, max_length=most, help_text=help_text or None, **options
    )


def _seed() -> serializers.IntegerField:
    return serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST_SEED, help_text="Default: 0."
    )


class RunBody(Body):
    """Missing fields have the defaults of the page's form."""

    backend = serializers.CharField(required=False, max_length=40, help_text="Name of the backend.")
    dtype = serializers.ChoiceField(DTYPES, required=False)
    model = _text(200, "A hub id, or a folder on the workers.")


class ImagesRunBody(RunBody):
    """Images of identity groups."""

    kind = serializers.ChoiceField(["images"])
    study = serializers.SlugField(
        required=False,
        max_length=80,
        help_text="A study that the account leads, for its groups and stereotypes.",
    )
    groups = serializers.ListField(
        child=serializers.CharField(max_length=120),
        required=False,
        max_length=2000,
        help_text="Names of identity groups. Default: all groups of the study.",
    )
    prompts = serializers.ChoiceField(list(PROMPT_CHOICES), required=False, help_text="Default: detection.")
    images_per_prompt = serializers.IntegerField(
        required=False, min_value=1, max_value=1000, help_text="Default: 5 for detection, 15 for the others."
    )
    image_set = _text(80, "Default: the study's set, else a name from the model and the prompts.")
    seed = _seed()
    revision = _text(80)
    scheduler = _text(80, "A diffusers class. Empty: the model's own.")
    steps = serializers.IntegerField(required=False, min_value=1, max_value=1000, allow_null=True)
    guidance = serializers.FloatField(required=False, min_value=0, max_value=100, allow_null=True)
    width = serializers.IntegerField(
        required=False, min_value=8, max_value=4096, help_text="pixels, a multiple of 8"
    )
    height = serializers.IntegerField(
        required=False, min_value=8, max_value=4096, help_text="pixels, a multiple of 8"
    )
    compiled = serializers.BooleanField(required=False)
    safety = serializers.ChoiceField(["record", "block", "off"], required=False)
    negative_prompt = _text(500)


class CaptionsRunBody(RunBody):
    """Captions of the images of a set."""

    kind = serializers.ChoiceField(["captions"])
    image_set = serializers.SlugField(max_length=80)
    count = serializers.IntegerField(
        required=False, min_value=1, max_value=1000, help_text="Captions per image. Default: 50."
    )
    seed = _seed()
    revision = _text(80)
    options = serializers.DictField(
        child=serializers.JSONField(), required=False, help_text="Options of the backend."
    )


class EmbeddingsRunBody(RunBody):
    """Embeddings of the images of a set."""

    kind = serializers.ChoiceField(["embeddings"])
    image_set = serializers.SlugField(max_length=80)
    pretrained = _text(200, "Tag of the weights, or a file on the workers.")


BODIES: dict[str, type[RunBody]] = {
    "images": ImagesRunBody,
    "captions": CaptionsRunBody,
    "embeddings": EmbeddingsRunBody,
}


def as_form_data(body: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A request body as data for the page's form, with the form's defaults for missing fields."""
    merged = {**defaults, **{name: value for name, value in body.items() if name != "kind"}}
    if "groups" in merged:
        merged["groups"] = "\n".join(merged["groups"])
    if isinstance(merged.get("options"), Mapping):
        merged["options"] = "\n".join(
            f"{key}={json.dumps(value)}" for key, value in merged["options"].items()
        )
    return {name: value for name, value in merged.items() if value is not None}
