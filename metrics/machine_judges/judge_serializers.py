"""Request bodies and responses of the API of a study's machine judges."""

from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.models import TaskKind
from generation.models import RunState
from generation.runs.bodies import DescriptionsRunBody
from generation.runs.serializers import RunSerializer
from metrics.machine_judges.design import Boxes

BOXES = tuple(each.value for each in Boxes)

JudgesQuery = list_query(
    "Judges",
    orders={"created_at": "created_at"},
    default="-created_at",
    state=serializers.ChoiceField(RunState.choices, required=False),
    task=serializers.ChoiceField(TaskKind.choices, required=False, source="recipe__design__task"),
)


class JudgeBody(DescriptionsRunBody):
    """Missing fields have the defaults of the page's form."""

    kind = prompts = image_set = None
    task = serializers.ChoiceField(TaskKind.choices, help_text="The kind of a task of the study.")
    boxes = serializers.ChoiceField(
        BOXES,
        required=False,
        help_text="How the model gives boxes of what an image depicts. Default: none.",
    )
    again = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=1_000_000,
        help_text="How many items are asked about again: with the options in another order, and in the "
        "other wording and languages. Default: 200.",
    )
    wording = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=2000,
        help_text="Another wording, with [attr] and [id] as in the study's. Default: none.",
    )
    languages = serializers.ListField(
        child=serializers.CharField(max_length=20),
        required=False,
        max_length=100,
        help_text="Codes of languages that the task is translated into. Default: none.",
    )


class JudgeSerializer(RunSerializer):
    """A run of a machine judge. Its answers count in no score of people's answers."""

    simulated = serializers.BooleanField(
        source="is_simulated", help_text="A program, and no model, gives the answers."
    )
    task = serializers.ChoiceField(TaskKind.choices, source="design.task")
    task_version = serializers.IntegerField(source="design.task_version")
    prompt_version = serializers.IntegerField(source="design.prompt_version")
    revision = serializers.CharField(allow_blank=True)
    temperature = serializers.FloatField()
    samples = serializers.IntegerField(source="times", help_text="Answers to each asking.")
    boxes = serializers.ChoiceField(BOXES, source="design.boxes")
    again = serializers.IntegerField(source="design.again", help_text="Items asked about again.")
    variants = serializers.ListField(
        child=serializers.CharField(), source="design.variants", help_text="`base`: as annotators see it."
    )
    tokens_in = serializers.IntegerField(source="spent.tokens_in", help_text="Of prompts, so far.")
    tokens_out = serializers.IntegerField(source="spent.tokens_out", help_text="Of answers, so far.")
    cost = serializers.FloatField(
        source="spent.cost", allow_null=True, help_text="At the run's prices; null without them."
    )
    seconds = serializers.FloatField(
        allow_null=True, help_text="Model time, so far; null if no answer has one."
    )
