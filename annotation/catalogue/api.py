"""The catalogue: identity groups, attributes, and the associations between them."""

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.pages import documents_list, filtered_page, list_query, page
from annotation.api.resource import Resource
from annotation.models import Association, Attribute, Axis, IdentityGroup, Region, Source


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


class AttributeSerializer(serializers.Serializer):
    """A noun, adjective or phrase, in lower case."""

    id = serializers.IntegerField()
    text = serializers.CharField()


class SourceSerializer(serializers.Serializer):
    """A dataset that associations come from."""

    name = serializers.SlugField()
    title = serializers.CharField()
    licence = serializers.CharField()
    citation = serializers.CharField()


class AssociationSerializer(serializers.Serializer):
    """An identity group and an attribute, with votes. Can be offensive."""

    id = serializers.IntegerField()
    source = serializers.SlugField(source="source.name", help_text="The source, by name.")
    group = serializers.CharField(source="group.name", help_text="Name of the identity group.")
    group_id = serializers.IntegerField(help_text="Id of the identity group.")
    attribute = serializers.CharField(source="attribute.text")
    in_stereotypical = serializers.IntegerField(help_text="In-region annotators who said Stereotypical.")
    in_nonstereotypical = serializers.IntegerField(help_text="... Non-stereotypical.")
    in_unsure = serializers.IntegerField(help_text="... Unsure.")
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


def _text_filter(help_text: str, max_length: int = 200, **options: str) -> serializers.CharField:
    return serializers.CharField(required=False, max_length=max_length, help_text=help_text, **options)


GroupsQuery = list_query(
    "IdentityGroups",
    orders={"name": "name", "id": "pk"},
    default="name",
    axis=serializers.ChoiceField(choices=Axis.choices, required=False, help_text="Only this kind."),
    region=serializers.ChoiceField(choices=Region.choices, required=False, help_text="Only of this region."),
    name=_text_filter("Only the group of this name.", 120),
)
AttributesQuery = list_query(
    "Attributes",
    orders={"text": "text", "id": "pk"},
    default="text",
    contains=_text_filter("Only attributes with this in their text."),
)
AssociationsQuery = list_query(
    "Associations",
    orders={"id": "pk"},
    default="id",
    source=_text_filter("Only of this source, by name.", 80, source="source__name"),
    group=_text_filter("Only of the identity group of this name.", 120, source="group__name"),
    attribute=_text_filter("Only of this attribute, lower case.", source="attribute__text"),
)
SourcesQuery = list_query("Sources", orders={"name": "name"}, default="name")


class CatalogueResource(Resource):
    """For people who set up or lead studies. Annotators must not see what others answered."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        if not policies.may_see_catalogue(request.user):
            raise Http404


class IdentityGroups(CatalogueResource):
    """Identity groups."""

    @documents_list("identity_groups_list", query=GroupsQuery, row=CataloguedGroupSerializer, tag="catalogue")
    def get(self, request: Request) -> Response:
        groups = IdentityGroup.objects.all()
        return filtered_page(self, groups, kind=GroupsQuery, row=CataloguedGroupSerializer)


class OneIdentityGroup(CatalogueResource):
    """An identity group."""

    @extend_schema(
        operation_id="identity_groups_read", responses=CataloguedGroupSerializer, tags=["catalogue"]
    )
    def get(self, request: Request, number: int) -> Response:
        return Response(CataloguedGroupSerializer(get_object_or_404(IdentityGroup, pk=number)).data)


class Attributes(CatalogueResource):
    """Attributes."""

    @documents_list("attributes_list", query=AttributesQuery, row=AttributeSerializer, tag="catalogue")
    def get(self, request: Request) -> Response:
        query = self.query(AttributesQuery)
        rows: QuerySet[Attribute] = Attribute.objects.all()
        if "contains" in query:
            rows = rows.filter(text__contains=query["contains"].lower())
        return page(request, rows, query=query, kind=AttributesQuery, row=AttributeSerializer)


class Sources(CatalogueResource):
    """The datasets that associations come from."""

    @documents_list("sources_list", query=SourcesQuery, row=SourceSerializer, tag="catalogue")
    def get(self, request: Request) -> Response:
        return filtered_page(self, Source.objects.all(), kind=SourcesQuery, row=SourceSerializer)


class Associations(CatalogueResource):
    """Associations between identity groups and attributes, with their votes."""

    @documents_list("associations_list", query=AssociationsQuery, row=AssociationSerializer, tag="catalogue")
    def get(self, request: Request) -> Response:
        associations = Association.objects.select_related("source", "group", "attribute")
        return filtered_page(self, associations, kind=AssociationsQuery, row=AssociationSerializer)
