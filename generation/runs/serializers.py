"""Request bodies for planning runs, one per kind, and the API's responses about runs and plans."""

import json
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.api.resource import Body, Query
from generation.models import RunKind, RunState
from generation.plans.prompt_choices import PROMPT_CHOICES
from generation.recipes.checks import DTYPES
from generation.recipes.recipes import OFFLOADS, QUANTISATIONS
from generation.runs.services import ACTIONS

LARGEST_SEED = 2**63 - 1

RunsQuery = list_query(
    "Runs",
    orders={"created_at": "created_at"},
    default="-created_at",
    kind=serializers.ChoiceField(RunKind.choices, required=False),
    state=serializers.ChoiceField(RunState.choices, required=False),
    image_set=serializers.CharField(
        required=False,
        max_length=80,
        source="image_set__name",
        help_text="Runs that fill or read this image set.",
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


def _number(least: int, most: int, help_text: str) -> serializers.IntegerField:
    return serializers.IntegerField(required=False, min_value=least, max_value=most, help_text=help_text)


class RunBody(Body):
    """Missing fields have the defaults of the page's form."""

    backend = serializers.CharField(required=False, max_length=40, help_text="Name of the backend.")
    dtype = serializers.ChoiceField(
        DTYPES,
        required=False,
        help_text="Default: auto, which is half precision on a GPU, float32 on a CPU.",
    )
    repeatable = serializers.BooleanField(
        required=False,
        help_text="On a GPU: slower settings, with which the same GPU and versions give the same bytes "
        "again. Default: false.",
    )
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
    images_per_prompt = _number(1, 1000, "Default: 5 for detection, 15 for the others.")
    image_set = _text(80, "Default: the study's set, else a name from the model and the prompts.")
    seed = _number(0, LARGEST_SEED, "Default: 0.")
    revision = _text(80)
    scheduler = _text(80, "A diffusers class. Empty: the model's own.")
    steps = serializers.IntegerField(required=False, min_value=1, max_value=1000, allow_null=True)
    guidance = serializers.FloatField(required=False, min_value=0, max_value=100, allow_null=True)
    width = _number(8, 4096, "pixels, a multiple of 8")
    height = _number(8, 4096, "pixels, a multiple of 8")
    compiled = serializers.BooleanField(required=False)
    safety = serializers.ChoiceField(["record", "block", "off"], required=False)
    negative_prompt = _text(500)
    variant = _text(40, "Of the weights' files, for example fp16.")
    lora = serializers.ListField(
        child=serializers.CharField(max_length=300),
        required=False,
        max_length=10,
        help_text="SOURCE[:FILE][@SCALE] each; SOURCE: a hub id, or a folder or file on the workers.",
    )
    quantisation = serializers.ChoiceField(["", *QUANTISATIONS], required=False)
    offload = serializers.ChoiceField(
        ["", *OFFLOADS], required=False, help_text="What waits in the machine's memory, not on the GPU."
    )


class CaptionsRunBody(RunBody):
    """Captions of the images of a set."""

    kind = serializers.ChoiceField(["captions"])
    image_set = serializers.SlugField(max_length=80)
    count = _number(1, 1000, "Captions per image. Default: 50.")
    seed = _number(0, LARGEST_SEED, "Default: 0.")
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
    for name in ("groups", "lora"):
        if isinstance(merged.get(name), list):
            merged[name] = "\n".join(merged[name])
    if isinstance(merged.get("options"), Mapping):
        merged["options"] = "\n".join(
            f"{key}={json.dumps(value)}" for key, value in merged["options"].items()
        )
    return {name: value for name, value in merged.items() if value is not None}


class JobCountsSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="Not retried automatically.")


class RunSerializer(serializers.Serializer[Any]):
    """One recipe for one image set; the same recipe gives the same run."""

    id = serializers.IntegerField(source="run.pk")
    kind = serializers.ChoiceField(RunKind.choices, source="run.kind")
    state = serializers.ChoiceField(RunState.choices, source="run.state")
    name = serializers.CharField(source="run.name", allow_blank=True, help_text="Of a run that asks a model.")
    image_set = serializers.CharField(
        source="run.image_set.name",
        default=None,
        allow_null=True,
        help_text="What it fills or reads; null if it needs no images.",
    )
    backend = serializers.CharField(source="run.backend")
    model = serializers.CharField(source="run.model")
    recipe = serializers.DictField(source="run.recipe", help_text="Everything that determines the results.")
    recipe_hash = serializers.CharField(source="run.recipe_hash", help_text="SHA-256 of the recipe, in hex.")
    error = serializers.CharField(
        source="run.error",
        allow_blank=True,
        help_text="Why it was paused by an error; kept after `resume` until something is made.",
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

    run = serializers.IntegerField(source="run.pk", allow_null=True)
    state = serializers.ChoiceField(RunState.choices, source="run.state", allow_null=True)
    recipe_hash = serializers.RegexField("^[0-9a-f]{64}$", source="plan.recipe_hash")
    image_set = serializers.CharField(source="plan.image_set")
    total = serializers.IntegerField(help_text="Jobs of the plan.")
    added = serializers.IntegerField(help_text="How many of these no run has yet.")
    groups = serializers.IntegerField()
    pictures = serializers.DictField(
        child=serializers.IntegerField(), help_text="Prompt set: number of images."
    )
    prompts = serializers.ListField(
        child=serializers.CharField(), help_text="The prompts of the first group, as examples."
    )
    notes = serializers.ListField(child=serializers.CharField(), source="plan.notes")
    estimate = EstimateSerializer()
