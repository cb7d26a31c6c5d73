"""What the API takes and gives about associations that models make."""

from typing import Any

from rest_framework import serializers

from annotation.api.pages import list_query
from annotation.api.resource import Body
from annotation.core.leases import JobState
from annotation.models import DIMENSIONS, TaskKind
from metrics.associations.askings import MODALITIES, Setting
from metrics.core.serializers import AskedSerializer
from metrics.models import Variant

STUDY_KINDS = [TaskKind.ASSOCIATION.value, TaskKind.VISUAL_NATURE.value, TaskKind.DEPICTION.value]
AssociationsQuery = list_query(
    "Associations",
    orders={"id": "pk"},
    default="id",
    setting=serializers.ChoiceField(
        [one.value for one in Setting], required=False, help_text="Only of this setting."
    ),
    modality=serializers.ChoiceField(MODALITIES, required=False, help_text="Only of this modality."),
    dimension=serializers.ChoiceField(
        [(axis.value, axis.label) for axis in DIMENSIONS], required=False, help_text="Only of this dimension."
    ),
    group=serializers.IntegerField(required=False, help_text="Only of this identity group, by id."),
    descriptor=serializers.CharField(required=False, max_length=120, help_text="Part of its name."),
    word=serializers.CharField(required=False, max_length=200, help_text="Part of the word."),
    variant=serializers.ChoiceField(
        Variant.choices, default=Variant.CORRECTED.value, help_text="Whose pairs and significance."
    ),
    significant=serializers.BooleanField(
        default=True, help_text="Only those that are significant in the variant; false: all of its pairs."
    ),
    new=serializers.BooleanField(required=False, help_text="Only those that are (not) in the catalogue."),
)


class SettingFactsSerializer(serializers.Serializer[Any]):
    """What was read in one setting."""

    setting = serializers.CharField()
    answers = serializers.IntegerField()
    documents = serializers.IntegerField()
    unparsed = serializers.IntegerField(help_text="Answers that the corrected variant leaves out.")
    without_word = serializers.IntegerField(help_text="Answers that give the published variant no word.")
    published_n = serializers.IntegerField(help_text="N of idf as published.")
    published_pairs = serializers.IntegerField()
    corrected_pairs = serializers.IntegerField()
    significant = serializers.IntegerField(help_text="Descriptors and words with p < 0.05, published.")
    significant_corrected = serializers.IntegerField(help_text="With q < 0.05, corrected.")


class AssociationListSerializer(serializers.Serializer[Any]):
    """The associations of a run. While a worker reads the answers, there are none."""

    run = serializers.IntegerField(source="list.run_id")
    state = serializers.ChoiceField(JobState.choices, source="list.state")
    stale = serializers.BooleanField(help_text="Answers came in since they were found.")
    error = serializers.CharField(source="list.error", allow_blank=True)
    settings = SettingFactsSerializer(many=True)


class ModelAssociationSerializer(serializers.Serializer[Any]):
    """A word that a model gave about a descriptor, in both variants; null where a variant does not count it.
    Can be offensive."""

    id = serializers.IntegerField()
    setting = serializers.CharField()
    dimension = serializers.CharField(source="group.axis")
    descriptor = serializers.CharField(source="group.name")
    group_id = serializers.IntegerField()
    word = serializers.CharField()
    tf = serializers.IntegerField(allow_null=True, help_text="As published, as are df, score and p_value.")
    df = serializers.IntegerField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    p_value = serializers.FloatField(allow_null=True)
    significant = serializers.BooleanField()
    corrected_tf = serializers.IntegerField(allow_null=True)
    corrected_df = serializers.IntegerField(allow_null=True)
    corrected_score = serializers.FloatField(allow_null=True)
    z = serializers.FloatField(allow_null=True)
    q = serializers.FloatField(allow_null=True)
    significant_corrected = serializers.BooleanField()
    negative = serializers.BooleanField(allow_null=True, help_text="By a classifier; null: not asked.")
    toxic = serializers.BooleanField(allow_null=True, help_text="By a classifier; null: not asked.")
    model_level = serializers.FloatField(allow_null=True, help_text="Bias level by a model, 1 to 5.")
    known = serializers.BooleanField(help_text="The catalogue has this association.")


class AssociationSentencesSerializer(serializers.Serializer[Any]):
    """The answers with the word of an association, at most 50."""

    association = ModelAssociationSerializer()
    answers = AskedSerializer(many=True)


class AssociationStudyBody(Body):
    name = serializers.SlugField(max_length=80, help_text="Of both the source and the draft study.")
    kind = serializers.ChoiceField(
        STUDY_KINDS,
        default=TaskKind.ASSOCIATION.value,
        help_text="What people are asked: how biased each association is, which words can be seen, or which "
        "of them images depict.",
    )
    variant = serializers.ChoiceField(Variant.choices, default=Variant.CORRECTED.value)
    only_new = serializers.BooleanField(default=False, help_text="Only those not in the catalogue.")
    image_set = serializers.SlugField(
        max_length=80, required=False, help_text="What images depict: the images, by name."
    )
    visual = serializers.SlugField(
        max_length=80, required=False, help_text="What images depict: a study that rated which are visual."
    )
