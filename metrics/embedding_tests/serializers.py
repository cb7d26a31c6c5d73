"""Request bodies and responses of the API of embedding tests."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.api.resource import Body, Query
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.numbers import finite
from metrics.embedding_tests.queries import RankingResult, TestResult, VariableCorrelations
from metrics.embedding_tests.stats.effects import CORRECTED, VARIANTS
from metrics.embedding_tests.stats.ranking import Correlation
from metrics.embedding_tests.test_file import KINDS, LONGEST_TEXT
from metrics.embedding_tests.tested import EncoderRanking, EncoderResults, Tested
from metrics.models import EmbeddingTestFile

FILE_FORMATS = tuple(CONTENT_TYPES)
LARGEST = 2_000_000

EmbeddingTestFilesQuery = list_query(
    "EmbeddingTestFiles",
    orders={"name": "name", "created_at": "created_at"},
    default="name",
    image_set=serializers.SlugField(
        source="image_set__name", required=False, max_length=80, help_text="Only files of this set, by name."
    ),
)


def _variant() -> serializers.ChoiceField:
    return serializers.ChoiceField(VARIANTS, default=CORRECTED, help_text="Of variances and p.")


def _encoder() -> serializers.CharField:
    return serializers.CharField(
        required=False,
        default="",
        max_length=LONGEST_TEXT,
        help_text="Another encoder than the file's: its name, its model alone, or the number of a run.",
    )


class EmbeddingTestsQuery(Query):
    variant = _variant()
    encoder = _encoder()


class VariantOfTestsQuery(Query):
    variant = _variant()


class EncoderOfTestsQuery(Query):
    encoder = _encoder()


class EmbeddingTestFileBody(Body):
    name = serializers.SlugField(max_length=80, help_text="No other file has it.")
    text = serializers.CharField(
        max_length=LARGEST, trim_whitespace=False, help_text="The file, in TOML (docs/embedding-tests.md)."
    )
    reference = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=LARGEST,
        trim_whitespace=False,
        help_text="The table that the file ranks images against, as CSV.",
    )
    variables = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=LARGEST,
        trim_whitespace=False,
        help_text="The table of other variables that its ranking names, as CSV.",
    )


class EmbeddingTestFileSerializer(serializers.Serializer[EmbeddingTestFile]):
    number = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    image_set = serializers.SlugField(source="image_set.name", max_length=80)
    ranks = serializers.SerializerMethodField(help_text="Whether the file ranks images.")
    owner = serializers.CharField(source="owner.username", default=None, allow_null=True)
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()

    def get_ranks(self, stored: EmbeddingTestFile) -> bool:
        return bool(stored.reference)


class OneEmbeddingTestFileSerializer(EmbeddingTestFileSerializer):
    text = serializers.CharField(help_text="The file, in TOML.")
    reference = serializers.CharField(allow_blank=True, help_text="The table that it ranks against, as CSV.")
    variables = serializers.CharField(allow_blank=True, help_text="Its table of other variables, as CSV.")


class EmbeddingTestSerializer(serializers.Serializer[Any]):
    """One test. Null: no number, for the reason in `problem`."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(KINDS)
    x = serializers.ListField(child=serializers.CharField(), help_text="Groups of images, taken together.")
    y = serializers.ListField(child=serializers.CharField())
    a = serializers.ListField(child=serializers.CharField(), help_text="Texts; of sc-eat none.")
    b = serializers.ListField(child=serializers.CharField())
    target = serializers.CharField(allow_blank=True, help_text="The text of sc-eat.")
    n_x = serializers.IntegerField(allow_null=True)
    n_y = serializers.IntegerField(allow_null=True)
    effect_size = serializers.FloatField(allow_null=True, help_text="Cohen's d.")
    effect_low = serializers.FloatField(allow_null=True, help_text="95 % interval over images, clustered.")
    effect_high = serializers.FloatField(allow_null=True)
    t = serializers.FloatField(allow_null=True, help_text="Welch's t.")
    df = serializers.FloatField(allow_null=True)
    p_value = serializers.FloatField(allow_null=True, help_text="One-sided, in the direction of the test.")
    p_two_sided = serializers.FloatField(allow_null=True)
    p_permutation = serializers.FloatField(allow_null=True)
    exact = serializers.BooleanField(allow_null=True, help_text="Over all splits, not a sample of them.")
    splits = serializers.IntegerField(allow_null=True)
    q = serializers.FloatField(allow_null=True, help_text="Of p_value, over all tests of the file.")
    problem = serializers.CharField(allow_blank=True)


class EmbeddingTestResultsSerializer(serializers.Serializer[Any]):
    run = serializers.IntegerField(help_text="The run that embedded the images.")
    encoder = serializers.CharField()
    simulated = serializers.BooleanField(help_text="A program, and no model, made the vectors or the images.")
    variant = serializers.ChoiceField(VARIANTS)
    results = EmbeddingTestSerializer(many=True)


class EncoderTestsSerializer(serializers.Serializer[Any]):
    """The tests by one encoder; none if texts are `missing`, or for the reason in `problem`."""

    run = serializers.IntegerField()
    encoder = serializers.CharField()
    simulated = serializers.BooleanField()
    missing_texts = serializers.IntegerField(help_text="Texts that the run has not embedded.")
    problem = serializers.CharField(allow_blank=True)
    tests = EmbeddingTestSerializer(many=True)


class RankedGroupSerializer(serializers.Serializer[Any]):
    """Pearson's rho of a group's shares with the reference, or with another variable. Null with fewer than
    four regions, or where the shares, or what they are compared with, do not vary."""

    group = serializers.CharField()
    rho = serializers.FloatField(allow_null=True)
    rho_low = serializers.FloatField(allow_null=True, help_text="95 % interval, Fisher's z.")
    rho_high = serializers.FloatField(allow_null=True)
    p_value = serializers.FloatField(allow_null=True, help_text="Two-sided.")
    n_regions = serializers.IntegerField(help_text="Regions that both tables have.")


class RankedVariableSerializer(serializers.Serializer[Any]):
    variable = serializers.CharField()
    groups = RankedGroupSerializer(many=True)


class EncoderRankingSerializer(serializers.Serializer[Any]):
    """The ranking by one encoder; no groups if texts are `missing`, or for the reason in `problem`."""

    run = serializers.IntegerField()
    encoder = serializers.CharField()
    simulated = serializers.BooleanField()
    missing_texts = serializers.IntegerField(help_text="Prompts that the run has not embedded.")
    problem = serializers.CharField(allow_blank=True)
    r2 = serializers.FloatField(allow_null=True)
    groups = RankedGroupSerializer(many=True)


class EncodersSideBySideSerializer(serializers.Serializer[Any]):
    variant = serializers.ChoiceField(VARIANTS)
    results = EncoderTestsSerializer(many=True)
    rankings = EncoderRankingSerializer(many=True, help_text="Of a file that ranks images, else empty.")


class RegionShareSerializer(serializers.Serializer[Any]):
    region = serializers.CharField()
    group = serializers.CharField()
    share = serializers.FloatField(help_text="Of the images found.")
    reference = serializers.FloatField()


class EmbeddingRankingSerializer(serializers.Serializer[Any]):
    run = serializers.IntegerField(help_text="The run that embedded the images.")
    encoder = serializers.CharField()
    simulated = serializers.BooleanField()
    top = serializers.IntegerField(help_text="Images taken in each drawing.")
    drawn = serializers.IntegerField(help_text="Images of each group in a drawing.")
    r2 = serializers.FloatField(allow_null=True, help_text="Of the reference regressed on the shares.")
    groups = RankedGroupSerializer(many=True)
    variables = RankedVariableSerializer(many=True, help_text="Of a file with a table of other variables.")
    results = RegionShareSerializer(many=True)


class EmbeddedTextsSerializer(serializers.Serializer[Any]):
    run = serializers.IntegerField()
    added = serializers.IntegerField(help_text="Texts that are to be embedded.")


def results_data(one: Tested, results: list[TestResult], *, variant: str) -> dict[str, Any]:
    """The data of EmbeddingTestResultsSerializer."""
    return {**_vectors(one), "variant": variant, "results": [_test_data(each) for each in results]}


def encoder_data(found: EncoderResults) -> dict[str, Any]:
    """The data of EncoderTestsSerializer."""
    return {
        "run": found.run.pk,
        "encoder": found.encoder,
        "simulated": found.simulated,
        "missing_texts": found.missing,
        "problem": found.problem,
        "tests": [_test_data(each) for each in found.results],
    }


def encoder_ranking_data(each: EncoderRanking) -> dict[str, Any]:
    """The data of EncoderRankingSerializer."""
    return {
        "run": each.run.pk,
        "encoder": each.encoder,
        "simulated": each.simulated,
        "missing_texts": each.missing,
        "problem": each.problem,
        "r2": finite(each.found.comparison.r2) if each.found else None,
        "groups": _groups_data(each.found.groups, each.found.comparison.groups) if each.found else [],
    }


def ranking_data(
    one: Tested, found: RankingResult, variables: Sequence[VariableCorrelations]
) -> dict[str, Any]:
    """The data of EmbeddingRankingSerializer."""
    return {
        **_vectors(one),
        "top": found.top,
        "drawn": found.drawn,
        "r2": finite(found.comparison.r2),
        "groups": _groups_data(found.groups, found.comparison.groups),
        "variables": [
            {"variable": each.variable, "groups": _groups_data(found.groups, each.groups)}
            for each in variables
        ],
        "results": found.rows,
    }


def _vectors(one: Tested) -> dict[str, Any]:
    return {"run": one.run.pk, "encoder": one.encoder, "simulated": one.simulated}


def _test_data(each: TestResult) -> dict[str, Any]:
    test, numbers = each.test, each.numbers
    floats = ("effect_size", "effect_low", "effect_high", "t", "df", "p_value", "p_two_sided")
    found: dict[str, Any] = {name: getattr(test, name) for name in ("name", "kind", "x", "y", "a", "b")}
    found |= {"target": test.target, "problem": each.problem, "q": finite(each.q)}
    found |= {name: finite(getattr(numbers, name, None)) for name in (*floats, "p_permutation")}
    return found | {name: getattr(numbers, name, None) for name in ("n_x", "n_y", "exact", "splits")}


def _groups_data(groups: Sequence[str], found: Sequence[Correlation]) -> list[dict[str, Any]]:
    names = ("rho", "rho_low", "rho_high", "p_value", "n_regions")
    return [
        {"group": group, **{name: finite(getattr(each, name)) for name in names}}
        for group, each in zip(groups, found, strict=True)
    ]
