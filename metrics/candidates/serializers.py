"""What the API takes and gives about candidates."""

from typing import Any

from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.api.resource import Body, Query
from annotation.core.leases import JobState
from annotation.models import Axis, Pool, Region
from metrics.candidates.prompts import MOST_PAIRS, PromptVariant
from metrics.core.serializers import AskedSerializer

CandidatesQuery = list_query(
    "Candidates",
    orders={"id": "pk", "salience": "salience", "count": "count"},
    default="-salience",
    group=serializers.IntegerField(required=False, help_text="Only of this identity group, by id."),
    region=serializers.ChoiceField(
        choices=Region.choices, required=False, source="group__region", help_text="Only of this region."
    ),
    selected=serializers.BooleanField(required=False, help_text="Only those that were (not) selected."),
    struck=serializers.BooleanField(required=False, help_text="Only those that were (not) struck out."),
)


class DryRunQuery(Query):
    dry_run = serializers.ChoiceField(
        ["true", "false"], default="false", help_text="true: only preview the plan; write nothing."
    )


class AskingsQuery(Query):
    after = serializers.IntegerField(min_value=0, default=0, help_text="Go on after this asking.")


class SeedSerializer(serializers.Serializer[Any]):
    """A known pair."""

    identity = serializers.CharField(max_length=200)
    attribute = serializers.CharField(max_length=200)


class CandidatesPlanBody(Body):
    """Missing fields have the defaults of the page's form. Either `pairs` or `source` is given."""

    name = serializers.SlugField(max_length=80, help_text="Name of the run.")
    axis = serializers.ChoiceField(Axis.choices, default=Axis.NATIONALITY.value)
    pairs = SeedSerializer(many=True, required=False, help_text="Seed pairs, at least two.")
    source = serializers.CharField(required=False, max_length=80, help_text="Seeds: its known pairs.")
    threshold = serializers.IntegerField(default=2, min_value=1, help_text="Votes that make a pair known.")
    pool = serializers.ChoiceField(Pool.choices, default=Pool.IN_REGION.value)
    seed_number = serializers.IntegerField(required=False, min_value=2, help_text="How many of them to draw.")
    variant = serializers.ChoiceField(
        [variant.value for variant in PromptVariant], default=PromptVariant.IDENTITY_ATTRIBUTE.value
    )
    n = serializers.IntegerField(default=2, min_value=1, max_value=MOST_PAIRS, help_text="Pairs in a prompt.")
    sample = serializers.IntegerField(
        required=False, min_value=1, help_text="How many choices of pairs to draw."
    )
    sample_seed = serializers.IntegerField(default=0, min_value=0, help_text="Seed of the draws.")
    times = serializers.IntegerField(required=False, min_value=1, help_text="Answers to each prompt.")
    backend = serializers.CharField(max_length=40)
    server = serializers.CharField(required=False, allow_blank=True, max_length=40)
    model = serializers.CharField(required=False, allow_blank=True, max_length=200)
    revision = serializers.CharField(required=False, allow_blank=True, max_length=80)
    chat = serializers.BooleanField(default=False, help_text="Send prompts as messages.")
    system = serializers.CharField(required=False, allow_blank=True, max_length=5000)
    temperature = serializers.FloatField(required=False, min_value=0, max_value=2)
    top_p = serializers.FloatField(required=False, min_value=0, max_value=1)
    max_tokens = serializers.IntegerField(required=False, min_value=1)
    seed = serializers.IntegerField(required=False, min_value=0, help_text="Seed of the answers.")
    in_flight = serializers.IntegerField(required=False, min_value=1, help_text="Askings at once.")
    token_limit = serializers.IntegerField(required=False, min_value=1, help_text="Pause after so many.")
    cost_limit = serializers.FloatField(required=False, min_value=0, help_text="Needs both prices.")
    price_in = serializers.FloatField(required=False, min_value=0, help_text="Of a million tokens.")
    price_out = serializers.FloatField(required=False, min_value=0, help_text="Of a million tokens.")


class CandidatesPlannedSerializer(serializers.Serializer[Any]):
    """What a plan asks. `run` is null if nothing was written and the run would be new."""

    run = serializers.IntegerField(source="run.pk", allow_null=True, default=None)
    recipe_hash = serializers.CharField(source="plan.recipe_hash", help_text="SHA-256 of the recipe, in hex.")
    total = serializers.IntegerField(help_text="Askings of the plan.")
    added = serializers.IntegerField(help_text="How many of these the run does not have yet.")
    prompts = serializers.ListField(child=serializers.CharField(), help_text="The first ones.")
    seconds = serializers.FloatField(source="estimate.seconds", help_text="On one worker.")
    tokens_in = serializers.IntegerField(source="estimate.tokens_in", allow_null=True)
    tokens_out = serializers.IntegerField(source="estimate.tokens_out", allow_null=True)
    cost = serializers.FloatField(source="estimate.cost", allow_null=True)


class ReportLineSerializer(serializers.Serializer[Any]):
    rule = serializers.CharField()
    of = serializers.CharField(help_text="What is counted: answers, tuples or candidates.")
    number = serializers.IntegerField()
    meaning = serializers.CharField(help_text="What became of them.")


class CandidateListSerializer(serializers.Serializer[Any]):
    """The candidates of a run. While a worker reads the answers, there is no report and no candidate."""

    run = serializers.IntegerField(source="list.run_id")
    state = serializers.ChoiceField(JobState.choices, source="list.state")
    stale = serializers.BooleanField(help_text="Answers came in, or groups changed, since they were found.")
    error = serializers.CharField(source="list.error", allow_blank=True)
    axis = serializers.ChoiceField(Axis.choices, source="list.axis")
    per_region = serializers.IntegerField(source="list.per_region", help_text="Selected of each region.")
    report = ReportLineSerializer(many=True, help_text="What each rule of extraction found, in their order.")


class CandidateSerializer(serializers.Serializer[Any]):
    """An attribute that a model gave for a group. Can be offensive."""

    id = serializers.IntegerField()
    group = serializers.CharField(source="group.name", help_text="Name of the identity group.")
    group_id = serializers.IntegerField()
    region = serializers.CharField(source="group.region", allow_blank=True)
    attribute = serializers.CharField()
    also = serializers.ListField(child=serializers.CharField(), help_text="Duplicates that count for it.")
    count = serializers.IntegerField(help_text="How often it was given, over all answers.")
    tf = serializers.FloatField()
    idf = serializers.FloatField()
    salience = serializers.FloatField()
    selected = serializers.BooleanField()
    struck = serializers.BooleanField(help_text="Somebody struck it out.")


class CandidateAskingsSerializer(serializers.Serializer[Any]):
    """The askings whose answers gave a candidate."""

    candidate = CandidateSerializer()
    answers = AskedSerializer(many=True)
    after = serializers.IntegerField(allow_null=True, help_text="Go on with ?after=; null at the end.")


class StudyBody(Body):
    name = serializers.SlugField(max_length=80, help_text="Of both the source and the draft study.")
