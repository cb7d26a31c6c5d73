"""What the API says of metrics, scores, figures and progress: the shapes, as the schema has them."""

from __future__ import annotations

import json
from typing import Any

from rest_framework import serializers

from annotation.models import StudyStatus, TaskKind
from metrics import figures, registry
from metrics.api.numbers import ScoreNumber
from metrics.models import RunState, Variant
from metrics.queries_pages.quality import FLAGS

METRIC_NAMES = [metric.name for metric in registry.METRICS]
FILE_FORMATS = list(figures.CONTENT_TYPES)


class StoredParameters(serializers.DictField):
    """A run keeps what was chosen as text."""

    def to_representation(self, value: str) -> dict[str, str]:
        found: dict[str, str] = super().to_representation(json.loads(value))
        return found


class MeaningSerializer(serializers.Serializer[Any]):
    """A name and what it stands for."""

    name = serializers.CharField()
    meaning = serializers.CharField()


class ParameterSerializer(MeaningSerializer):
    default = serializers.CharField(allow_blank=True)


class MetricSerializer(serializers.Serializer[Any]):
    """A metric as the registry has it: what it means, and what a reader must know before quoting it."""

    name = serializers.CharField()
    version = serializers.IntegerField(help_text="Changes whenever the numbers can.")
    title = serializers.CharField()
    definition = serializers.CharField(help_text="The formula, in words.")
    computed_from = serializers.CharField()
    unit = serializers.CharField()
    direction = serializers.CharField(help_text="How to read a larger value.")
    variants = serializers.ListField(child=serializers.ChoiceField(Variant.choices))
    variants_note = serializers.CharField(help_text="How the published formula and the corrected one differ.")
    scores = MeaningSerializer(many=True)
    parts = serializers.CharField(allow_blank=True, help_text="What `part` of a score may be.")
    parameters = ParameterSerializer(many=True)
    interval = serializers.CharField(allow_null=True, help_text="null: it has none.")
    reference = serializers.CharField()
    caveats = serializers.CharField(allow_blank=True)


class ScoreRunSerializer(serializers.Serializer[Any]):
    """One computation of a metric, and everything needed to repeat it."""

    id = serializers.IntegerField()
    metric = serializers.ChoiceField(METRIC_NAMES)
    version = serializers.IntegerField()
    variant = serializers.ChoiceField(Variant.choices)
    parameters = StoredParameters(child=serializers.CharField(allow_blank=True))
    digest = serializers.RegexField("^[0-9a-f]{64}$", help_text="SHA-256 of the inputs.")
    seed = serializers.IntegerField()
    resamples = serializers.IntegerField(help_text="Bootstrap resamples; 0: no intervals.")
    rule = serializers.CharField(allow_blank=True, help_text="Empty until it is done.")
    state = serializers.ChoiceField(RunState.choices)
    attempts = serializers.IntegerField()
    error = serializers.CharField(allow_blank=True)
    code_version = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    confirmed_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was last asked for again: its inputs were that day's."
    )


class GroupRefSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()


class AttributeRefSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    text = serializers.CharField()


class NumberSerializer(serializers.Serializer[Any]):
    """A number never travels alone: with its 95 % interval, and what it rests on."""

    value = ScoreNumber()
    low = ScoreNumber()
    high = ScoreNumber()
    n = serializers.IntegerField()
    k = serializers.IntegerField(allow_null=True, help_text="How many of the n were positive.")
    infinite = serializers.IntegerField(allow_null=True, help_text="Resamples without a finite value.")
    undefined = serializers.IntegerField(allow_null=True, help_text="Resamples without any value.")


class ScoreSerializer(NumberSerializer):
    """Of a group, an attribute, both, or (both null) of the study; of a `part` of that, if it is set."""

    name = serializers.CharField()
    part = serializers.CharField(allow_blank=True)
    group = GroupRefSerializer(allow_null=True)
    attribute = AttributeRefSerializer(allow_null=True)


class AgreementRowSerializer(serializers.Serializer[Any]):
    part = serializers.CharField(help_text="Which task, how its scale is read, whose answers.")
    alpha = NumberSerializer(allow_null=True)
    fleiss_kappa = NumberSerializer(allow_null=True)
    percentage = NumberSerializer(allow_null=True)
    cross_kappa = NumberSerializer(allow_null=True)
    box_iou = NumberSerializer(allow_null=True)


class AgreementDifferenceSerializer(serializers.Serializer[Any]):
    part = serializers.CharField(help_text="Which task, how its scale is read, and which two groups.")
    alpha_difference = NumberSerializer(
        allow_null=True, help_text="Alpha within the first group less that within the second."
    )
    alpha_difference_p = NumberSerializer(allow_null=True)
    alpha_difference_q = NumberSerializer(
        allow_null=True, help_text="Over both measures of all pairs of groups of the task and reading."
    )
    percentage_difference = NumberSerializer(allow_null=True, help_text="The same of the percentage.")
    percentage_difference_p = NumberSerializer(allow_null=True)
    percentage_difference_q = NumberSerializer(allow_null=True)


class AgreementSerializer(serializers.Serializer[Any]):
    run = ScoreRunSerializer(allow_null=True)
    stale = serializers.BooleanField()
    simulated = serializers.BooleanField()
    results = AgreementRowSerializer(many=True)
    differences = AgreementDifferenceSerializer(
        many=True, help_text="Between groups of annotators; none where `by` is none."
    )


class IdentityGroupSerializer(GroupRefSerializer):
    demonym = serializers.CharField(allow_blank=True)
    country = serializers.CharField(allow_blank=True)
    region = serializers.CharField(allow_blank=True)


class IdentityRowSerializer(serializers.Serializer[Any]):
    group = IdentityGroupSerializer()
    l_stereo = NumberSerializer(allow_null=True)
    l_random = NumberSerializer(allow_null=True)
    theta = NumberSerializer(allow_null=True)
    offensiveness = NumberSerializer(
        source="o", allow_null=True, help_text="Of groups with a stereotype that was seen and rated."
    )


class IdentitiesSerializer(serializers.Serializer[Any]):
    """`unreported`: groups that were judged but have at most one stereotypical attribute."""

    run = ScoreRunSerializer(allow_null=True)
    offensiveness_run = ScoreRunSerializer(allow_null=True)
    stale = serializers.BooleanField()
    simulated = serializers.BooleanField()
    results = IdentityRowSerializer(many=True)
    unreported = IdentityGroupSerializer(many=True)


class FigureOptionSerializer(MeaningSerializer):
    choices = serializers.ListField(
        child=serializers.CharField(allow_blank=True), help_text="Empty: any text; else the first is usual."
    )


class FigureSourceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    options = FigureOptionSerializer(many=True)
    formats = serializers.ListField(child=serializers.ChoiceField(FILE_FORMATS))


class FigureSerializer(serializers.Serializer[Any]):
    """A figure with the numbers it shows: `rows` in the order of `columns`."""

    name = serializers.CharField()
    title = serializers.CharField()
    alt = serializers.CharField(help_text="What stands for the picture.")
    notes = serializers.ListField(child=serializers.CharField())
    columns = serializers.ListField(child=serializers.CharField())
    rows = serializers.ListField(child=serializers.ListField(child=serializers.JSONField()))
    digest = serializers.RegexField("^[0-9a-f]{64}$")
    specification = serializers.DictField(help_text="Vega-Lite.")


class CountsSerializer(serializers.Serializer[Any]):
    """Wanted responses by state; `wanted` is their sum."""

    wanted = serializers.IntegerField()
    filled = serializers.IntegerField()
    leased = serializers.IntegerField()
    open = serializers.IntegerField()


class StratumCountsSerializer(CountsSerializer):
    stratum = serializers.CharField(source="name")


class TaskProgressSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(TaskKind.choices, source="task.kind")
    version = serializers.IntegerField(source="task.version")
    total = CountsSerializer()
    strata = StratumCountsSerializer(many=True)


class RateSerializer(serializers.Serializer[Any]):
    hours = serializers.IntegerField(help_text="How far back it looks.")
    an_hour = serializers.FloatField(help_text="Answers an hour.")
    hours_left = serializers.FloatField(allow_null=True)


class DaySerializer(serializers.Serializer[Any]):
    day = serializers.DateField()
    responses = serializers.IntegerField()


class PaceSerializer(serializers.Serializer[Any]):
    timed = serializers.IntegerField(help_text="Answers whose time is known.")
    last_hour = serializers.IntegerField()
    at_work = serializers.IntegerField(help_text="Annotators who answered in the last 15 minutes.")
    enrolled = serializers.IntegerField()
    surplus = serializers.IntegerField()
    withdrawn = serializers.IntegerField()
    rates = RateSerializer(many=True)
    days = DaySerializer(many=True)


class AlertSerializer(serializers.Serializer[Any]):
    """What a lead should look at. unsure: `k` of `n` answers about attribute `name` are Unsure. fast:
    annotator `name` takes `seconds`, of usually `usual`, over `n` answers. stratum: `n` places for `name`
    are open, each item needs `needed` people of it, and `k` are enrolled."""

    kind = serializers.ChoiceField(["unsure", "fast", "stratum"])
    name = serializers.CharField()
    k = serializers.IntegerField()
    n = serializers.IntegerField()
    needed = serializers.IntegerField()
    seconds = serializers.FloatField()
    usual = serializers.FloatField()


class ProgressSerializer(serializers.Serializer[Any]):
    """Counted at `counted_at`; of a large study, a count that is no older than its cost allows."""

    study = serializers.CharField()
    status = serializers.ChoiceField(StudyStatus.choices)
    simulated = serializers.BooleanField()
    counted_at = serializers.DateTimeField()
    total = CountsSerializer()
    tasks = TaskProgressSerializer(many=True)
    pace = PaceSerializer()
    alerts = AlertSerializer(many=True)


class QualityRowSerializer(serializers.Serializer[Any]):
    """One annotator, by pseudonym: a reason to look and to ask, never a verdict."""

    annotator = serializers.CharField()
    simulated = serializers.BooleanField()
    status = serializers.CharField(allow_blank=True, help_text="Of the enrolment; empty without one.")
    answers = serializers.IntegerField()
    median_active_s = serializers.FloatField(allow_null=True)
    usual_active_s = serializers.FloatField(allow_null=True)
    median_idle_s = serializers.FloatField(allow_null=True)
    agreement = serializers.FloatField(allow_null=True)
    agreement_by_chance = serializers.FloatField(allow_null=True)
    pairs = serializers.IntegerField()
    checks_right = serializers.IntegerField()
    checks = serializers.IntegerField()
    none_of_above = serializers.IntegerField()
    none_of_above_offered = serializers.IntegerField()
    most_frequent = serializers.IntegerField()
    rated = serializers.IntegerField()
    flags = serializers.ListField(child=serializers.ChoiceField(list(FLAGS)))


class QualitySerializer(serializers.Serializer[Any]):
    counted_at = serializers.DateTimeField()
    unknown = serializers.IntegerField(help_text="Responses that name nobody.")
    results = QualityRowSerializer(many=True)
