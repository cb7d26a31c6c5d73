"""The API's responses about runs and plans."""

from typing import Any

from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.api.resource import Query
from generation.models import RunKind, RunState
from generation.runs.bodies import LimitsBody
from generation.runs.services import ACTIONS

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


class JobCountsSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField(help_text="As planned, with those that were cancelled.")
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
    cancelled = serializers.IntegerField(help_text="Not done when the run was cancelled.")
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


class SpentSerializer(serializers.Serializer[Any]):
    """What a run that asks a model has used, and may."""

    tokens_in = serializers.IntegerField(help_text="Tokens of prompts so far.")
    tokens_out = serializers.IntegerField(help_text="Tokens of answers so far.")
    cost = serializers.FloatField(allow_null=True, help_text="At the run's prices; null without them.")
    limits = LimitsBody()


class OneRunSerializer(RunSerializer):
    spent = SpentSerializer(help_text="Zero for runs that ask no model.")
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
    tokens_in = serializers.IntegerField(allow_null=True, help_text="Of the prompts, about; null: not text.")
    tokens_out = serializers.IntegerField(allow_null=True, help_text="Of the answers, about.")
    most_tokens_out = serializers.IntegerField(allow_null=True, help_text="If each is as long as it may be.")
    cost = serializers.FloatField(allow_null=True, help_text="At the prices given; null without them.")
    most_cost = serializers.FloatField(allow_null=True)


class PlannedSerializer(serializers.Serializer[Any]):
    """What a plan makes. `run` is null if nothing was written and the run would be new."""

    run = serializers.IntegerField(source="run.pk", allow_null=True)
    state = serializers.ChoiceField(RunState.choices, source="run.state", allow_null=True)
    recipe_hash = serializers.RegexField("^[0-9a-f]{64}$", source="plan.recipe_hash")
    name = serializers.CharField(source="plan.name", allow_blank=True)
    image_set = serializers.CharField(source="plan.image_set", allow_blank=True)
    total = serializers.IntegerField(help_text="Jobs of the plan.")
    added = serializers.IntegerField(help_text="How many of these no run has yet.")
    texts = serializers.IntegerField(help_text="How many jobs of the plan are texts to embed.")
    groups = serializers.IntegerField()
    pictures = serializers.DictField(
        child=serializers.IntegerField(), help_text="Prompt set: number of images."
    )
    prompts = serializers.ListField(
        child=serializers.CharField(),
        help_text="The prompts of the first group, or the first prompts or texts, as examples.",
    )
    notes = serializers.ListField(child=serializers.CharField(), source="plan.notes")
    estimate = EstimateSerializer()
