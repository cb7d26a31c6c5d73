"""What the API takes and gives about the results of a run's associations."""

from typing import Any

from rest_framework import serializers

from annotation.api.resource import Query
from generation.runs.bodies import AskingRunBody, TextRunBody
from metrics.associations.comparison import LISTS, PLACES
from metrics.associations.summary import LevelRow, ShareRow
from metrics.models import Variant

MOST_PAIRS = 1000


def _variant() -> serializers.ChoiceField:
    return serializers.ChoiceField(
        Variant.choices, default=Variant.CORRECTED.value, help_text="In which the pairs are significant."
    )


class AssociationVariantQuery(Query):
    variant = _variant()


class AssociationComparisonQuery(Query):
    here = serializers.IntegerField(min_value=1, help_text="A run whose associations are found.")
    here_setting = serializers.ChoiceField(
        PLACES, default="", help_text="A setting, a modality, or empty for all settings."
    )
    there = serializers.IntegerField(min_value=1, help_text="The other run; it may be the same.")
    there_setting = serializers.ChoiceField(PLACES, default="", help_text="As `here_setting`.")
    variant = _variant()
    list = serializers.ChoiceField(LISTS, default=LISTS[0], help_text="Which pairs are listed.")
    after = serializers.IntegerField(default=0, min_value=0, help_text="Go on after so many of them.")
    limit = serializers.IntegerField(default=100, min_value=1, max_value=MOST_PAIRS)


class AssociationEstimateSerializer(serializers.Serializer[Any]):
    """Null: undefined, or no interval, for example of a single descriptor."""

    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True, help_text="95 %, clustered by descriptor.")
    high = serializers.FloatField(allow_null=True)
    k = serializers.FloatField(help_text="The sum of what is counted.")
    n = serializers.IntegerField(help_text="The number of pairs.")


class AssociationPairSerializer(serializers.Serializer[Any]):
    descriptor = serializers.CharField(source="name")
    word = serializers.CharField()


class AssociationComparisonSerializer(serializers.Serializer[Any]):
    """Can be offensive."""

    here = serializers.IntegerField(help_text="Significant pairs of the first.")
    there = serializers.IntegerField(help_text="Those of the second.")
    shared = serializers.IntegerField()
    only_here = serializers.IntegerField()
    only_there = serializers.IntegerField()
    jaccard = AssociationEstimateSerializer(help_text="Shared pairs over all pairs.")
    pairs = AssociationPairSerializer(many=True)
    after = serializers.IntegerField(allow_null=True, help_text="Go on with ?after=; null at the end.")


class _RowSerializer(serializers.Serializer[Any]):
    dimension = serializers.CharField(allow_blank=True, help_text="Empty: all, each pair once.")
    setting = serializers.CharField()
    pairs = serializers.IntegerField(help_text="Distinct significant pairs.")


class AssociationShareSerializer(_RowSerializer):
    what = serializers.CharField(help_text="negative or toxic")
    share = AssociationEstimateSerializer(help_text="Of the judged pairs.")


class AssociationLevelSerializer(_RowSerializer):
    by = serializers.CharField(help_text="people or model")
    level = AssociationEstimateSerializer(help_text="The mean over the judged pairs, 1 to 5.")
    answers = serializers.IntegerField(allow_null=True, help_text="People's judgements; null of a model.")


class AssociationResultsSerializer(serializers.Serializer[Any]):
    """Shares and bias levels of a run's significant pairs. People's and models' levels are kept apart."""

    run = serializers.IntegerField()
    variant = serializers.CharField()
    shares = AssociationShareSerializer(many=True)
    levels = AssociationLevelSerializer(many=True)


def results_data(run: int, variant: str, shares: tuple[ShareRow, ...], levels: tuple[LevelRow, ...]) -> Any:
    """The response of AssociationResultsSerializer."""
    data = {"run": run, "variant": variant, "shares": shares, "levels": levels}
    return AssociationResultsSerializer(data).data


def _all_pairs() -> serializers.BooleanField:
    return serializers.BooleanField(
        required=False, help_text="Also pairs that are significant in no variant. Default: false."
    )


class AssociationClassifierBody(AskingRunBody):
    """A classifier, or a lexicon. Missing fields have the defaults of the page's form."""

    all_pairs = _all_pairs()
    labels = serializers.ListField(
        child=serializers.CharField(max_length=80),
        required=False,
        max_length=1000,
        help_text="In the model's order, if its configuration does not name them.",
    )


class AssociationLevelBody(TextRunBody):
    """A language model. Missing fields have the defaults of the page's form."""

    prompts = None
    all_pairs = _all_pairs()
    prompt = serializers.CharField(
        required=False, max_length=20_000, help_text="Holds {sentence}. Default: the program's own."
    )
