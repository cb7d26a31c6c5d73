"""What the API tells of the catalogue."""

from rest_framework import serializers

from annotation.models import Axis, Region


class CataloguedGroupSerializer(serializers.Serializer):
    """A group of people, as a source names it."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    axis = serializers.ChoiceField(choices=Axis.choices, help_text="What kind of group it is.")
    demonym = serializers.CharField(help_text="The word for its people.")
    country = serializers.CharField()
    region = serializers.ChoiceField(
        choices=Region.choices, allow_blank=True, help_text="One of SeeGULL's eight regions."
    )
    global_south = serializers.BooleanField(allow_null=True)
    singular = serializers.CharField(help_text="How a sentence names one of its people; empty: not given.")
    plural = serializers.CharField(help_text="... several of its people.")
    article = serializers.CharField(help_text="The article of the singular.")


class AttributeSerializer(serializers.Serializer):
    """A noun, adjective or phrase, in lower case."""

    id = serializers.IntegerField()
    text = serializers.CharField()


class SourceSerializer(serializers.Serializer):
    """A dataset that associations come from."""

    name = serializers.SlugField()
    title = serializers.CharField()
    licence = serializers.CharField()
    origin = serializers.CharField(help_text="Where it comes from: a URL or a text.")
    citation = serializers.CharField()
    owner = serializers.CharField(
        source="owner.username", default=None, allow_null=True, help_text="The account that added it."
    )
    created_at = serializers.DateTimeField(allow_null=True, help_text="null: before this was recorded.")
    superseded_by = serializers.SlugField(
        source="superseded_by.name",
        default=None,
        allow_null=True,
        help_text="The source that replaces it, by name.",
    )


class OneSourceSerializer(SourceSerializer):
    """A source with what it holds."""

    associations = serializers.IntegerField(source="counts.associations")
    groups = serializers.IntegerField(source="counts.groups")
    voted = serializers.IntegerField(source="counts.voted", help_text="Associations with votes.")
    rated = serializers.IntegerField(source="counts.rated", help_text="... with offensiveness ratings.")
    studies = serializers.ListField(
        child=serializers.SlugField(), help_text="The studies that use it and that you may see, by name."
    )
    used_by = serializers.IntegerField(
        source="uses.total", help_text="All studies that use it; if there are any, it cannot be changed."
    )


class AssociationSerializer(serializers.Serializer):
    """An identity group and an attribute, with votes. Can be offensive."""

    id = serializers.IntegerField()
    source = serializers.SlugField(source="source.name", help_text="The source, by name.")
    group = serializers.CharField(source="group.name", help_text="Name of the identity group.")
    group_id = serializers.IntegerField(help_text="Id of the identity group.")
    attribute = serializers.CharField(source="attribute.text")
    in_stereotypical = serializers.IntegerField(
        allow_null=True, help_text="In-region annotators who said Stereotypical; null: not asked."
    )
    in_nonstereotypical = serializers.IntegerField(allow_null=True, help_text="... Non-stereotypical.")
    in_unsure = serializers.IntegerField(allow_null=True, help_text="... Unsure.")
    out_stereotypical = serializers.IntegerField(
        allow_null=True, help_text="Out-region annotators (North America); null: not asked."
    )
    out_nonstereotypical = serializers.IntegerField(allow_null=True)
    out_unsure = serializers.IntegerField(allow_null=True)
    offensiveness = serializers.ListField(
        child=serializers.FloatField(), help_text="All ratings, -1 (unsure) to 4."
    )
    offensiveness_mean = serializers.FloatField(
        allow_null=True, help_text="As the source gives it; null: no ratings."
    )
