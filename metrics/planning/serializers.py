"""Parameters and responses of the API of planning."""

from typing import Any

from rest_framework import serializers

from annotation.api.resource import Query
from metrics.core.serializers import ScoreNumber
from metrics.planning.plan_form import PlanForm
from metrics.planning.stats import MEASURES

_HELP = {
    "images": "Images of each identity group.",
    "annotators": "Annotators who judge the images of a group.",
    "overlap": "Answers for each image.",
    "groups": "Identity groups, for hours and cost.",
    "page_size": "Options on a page, with none of the above.",
    "l_stereo": "In how many per cent of answers stereotypical attributes are selected.",
    "l_random": "The same for the other attributes.",
    "stereotypical": "Stereotypical attributes of each group.",
    "others": "Other attributes of each group.",
    "of_images": "Standard deviation between images for an attribute, in logits.",
    "of_people": "Standard deviation between annotators, in logits.",
    "apart": "Standard deviation between attributes of a kind, in logits.",
    "of_whole_images": "Standard deviation between whole images, in logits.",
    "agreement": "Expected alpha; decides of_images.",
    "difference": "Points by which L(stereo) of the other model is higher.",
    "seconds": "Seconds for an answer.",
    "pay": "Pay for an hour.",
    "seed": "The same seed gives the same plan.",
}
_WHOLE = {*("images", "annotators", "overlap", "groups", "page_size", "stereotypical", "others", "seed")}


def _field(name: str) -> serializers.Field[Any, Any, Any, Any]:
    """A parameter with the limits of the form's field."""
    of_form: Any = PlanForm.base_fields[name]
    limits = {"min_value": of_form.min_value, "max_value": of_form.max_value}
    kind = serializers.IntegerField if name in _WHOLE else serializers.FloatField
    default = "" if of_form.initial is None else f" Default: the study's, else {of_form.initial}."
    return kind(required=False, help_text=f"{_HELP[name]}{default}", **limits)


class _Parameters(Query):
    pilot = serializers.SlugField(
        required=False, max_length=80, help_text="A study from whose answers the assumptions are estimated."
    )
    measures = serializers.CharField(
        required=False, max_length=80, help_text=f"Separated by commas: {', '.join(MEASURES)}. Default: all."
    )


PlanQuery = type("PlanQuery", (_Parameters,), {name: _field(name) for name in _HELP})


class WorkSerializer(serializers.Serializer[Any]):
    slots = serializers.IntegerField(help_text="Answers.")
    hours = serializers.FloatField()
    hours_each = serializers.FloatField(help_text="For each annotator.")
    cost = serializers.FloatField()


class PlanRowSerializer(serializers.Serializer[Any]):
    """A design. Half-widths as shares and units of alpha; that of theta is a factor."""

    varied = serializers.CharField(help_text="chosen, or what differs from the chosen design.")
    images = serializers.IntegerField()
    annotators = serializers.IntegerField()
    overlap = serializers.IntegerField()
    l_stereo_half_width = ScoreNumber()
    theta_factor = ScoreNumber()
    alpha_half_width = ScoreNumber()
    difference_half_width = ScoreNumber()
    power = ScoreNumber()
    answers = serializers.IntegerField()
    hours = serializers.FloatField()
    hours_per_annotator = serializers.FloatField()
    cost = serializers.FloatField()


class EstimatesSerializer(serializers.Serializer[Any]):
    """What the answers of a pilot say; standard deviations in logits."""

    l_stereo = serializers.FloatField()
    l_random = serializers.FloatField()
    stereotypical = serializers.IntegerField()
    others = serializers.IntegerField()
    apart = serializers.FloatField()
    of_images = serializers.FloatField()
    of_whole_images = serializers.FloatField()
    of_people = serializers.FloatField()
    images = serializers.IntegerField()
    annotators = serializers.IntegerField()
    answers = serializers.IntegerField()
    groups = serializers.IntegerField()
    negative = serializers.ListField(
        child=serializers.CharField(), help_text="Variances that came out below 0, and were taken as 0."
    )


class PlanSerializer(serializers.Serializer[Any]):
    study = serializers.CharField()
    studies = serializers.IntegerField(help_text="Simulated studies of the chosen design.")
    seed = serializers.IntegerField()
    pilot = EstimatesSerializer(allow_null=True)
    rows = PlanRowSerializer(many=True, help_text="The chosen design, then the points of the curves.")
    paragraph = serializers.CharField(help_text="The plan as a text for a preregistration.")
