"""The catalogue: identity groups, attributes, the associations between them, and their sources."""

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import Refused, refusals
from annotation.api.pages import documents_list, filtered_page, list_query, page
from annotation.api.resource import Body, Resource, check_if_match
from annotation.catalogue import queries, services
from annotation.catalogue.serializers import (
    AssociationSerializer,
    AttributeSerializer,
    CataloguedGroupSerializer,
    OneSourceSerializer,
    SourceSerializer,
)
from annotation.models import Association, Axis, IdentityGroup, Region, Source

_MOST_VOTES = 32_767


def _text_filter(help_text: str, max_length: int = 200) -> serializers.CharField:
    return serializers.CharField(required=False, max_length=max_length, help_text=help_text)


def _votes_filter(help_text: str) -> serializers.IntegerField:
    return serializers.IntegerField(
        required=False, min_value=0, max_value=_MOST_VOTES, help_text=f"{help_text}, at least."
    )


def _mean_filter(help_text: str) -> serializers.FloatField:
    return serializers.FloatField(required=False, min_value=-1, max_value=4, help_text=help_text)


def _axis_filter() -> serializers.ChoiceField:
    return serializers.ChoiceField(
        choices=Axis.choices, required=False, help_text="Only groups of this kind."
    )


def _region_filter() -> serializers.ChoiceField:
    return serializers.ChoiceField(
        choices=Region.choices, required=False, help_text="Only groups of this region."
    )


_OF_SOURCE = "Only those with an association in this source, by name."
GroupsQuery = list_query(
    "IdentityGroups",
    orders={"name": "name", "id": "pk"},
    default="name",
    axis=_axis_filter(),
    region=_region_filter(),
    name=_text_filter("Only the group of this name.", 120),
    name_contains=_text_filter("Only groups with this in their name.", 120),
    source=_text_filter(_OF_SOURCE, 80),
)
AttributesQuery = list_query(
    "Attributes",
    orders={"text": "text", "id": "pk"},
    default="text",
    contains=_text_filter("Only attributes with this in their text."),
    source=_text_filter(_OF_SOURCE, 80),
)
AssociationsQuery = list_query(
    "Associations",
    orders={"id": "pk"},
    default="id",
    source=_text_filter("Only of this source, by name.", 80),
    group=_text_filter("Only of the identity group of this name.", 120),
    group_contains=_text_filter("Only of identity groups with this in their name.", 120),
    axis=_axis_filter(),
    region=_region_filter(),
    attribute=_text_filter("Only of this attribute, lower case."),
    contains=_text_filter("Only of attributes with this in their text."),
    in_min=_votes_filter("In-region votes Stereotypical"),
    out_min=_votes_filter("Out-region votes Stereotypical"),
    offensiveness_min=_mean_filter("Mean offensiveness from this, -1 to 4."),
    offensiveness_max=_mean_filter("Mean offensiveness up to this, -1 to 4."),
)
SourcesQuery = list_query("Sources", orders={"name": "name"}, default="name")


class SourceBody(Body):
    """What describes a source."""

    title = serializers.CharField(required=False, max_length=200)
    licence = serializers.CharField(required=False, allow_blank=True, max_length=80)
    origin = serializers.CharField(
        required=False, allow_blank=True, max_length=500, help_text="Where it comes from: a URL or a text."
    )
    citation = serializers.CharField(required=False, allow_blank=True, max_length=4000)


class SuccessorBody(Body):
    """The source that replaces this one."""

    by = serializers.CharField(
        allow_null=True, max_length=80, help_text="Its name; null: nothing replaces it."
    )


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
        query = self.query(GroupsQuery)
        rows = queries.groups(query)
        return page(request, rows, query=query, kind=GroupsQuery, row=CataloguedGroupSerializer)


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
        rows = queries.attributes(query)
        return page(request, rows, query=query, kind=AttributesQuery, row=AttributeSerializer)


class Associations(CatalogueResource):
    """Associations between identity groups and attributes, with their votes."""

    @documents_list("associations_list", query=AssociationsQuery, row=AssociationSerializer, tag="catalogue")
    def get(self, request: Request) -> Response:
        query = self.query(AssociationsQuery)
        rows = queries.associations(query)
        return page(request, rows, query=query, kind=AssociationsQuery, row=AssociationSerializer)


class OneAssociation(CatalogueResource):
    """An association."""

    @extend_schema(operation_id="associations_read", responses=AssociationSerializer, tags=["catalogue"])
    def get(self, request: Request, number: int) -> Response:
        rows = Association.objects.select_related("source", "group", "attribute")
        return Response(AssociationSerializer(get_object_or_404(rows, pk=number)).data)


class Sources(CatalogueResource):
    """The datasets that associations come from."""

    @documents_list("sources_list", query=SourcesQuery, row=SourceSerializer, tag="catalogue")
    def get(self, request: Request) -> Response:
        rows = Source.objects.select_related("owner", "superseded_by")
        return filtered_page(self, rows, kind=SourcesQuery, row=SourceSerializer)


_REFUSED = {
    403: OpenApiResponse(description="The source belongs to somebody else."),
    409: OpenApiResponse(description="A study uses it: it can only be superseded."),
}


class OneSource(CatalogueResource):
    """A source."""

    @extend_schema(operation_id="sources_read", responses=OneSourceSerializer, tags=["catalogue"])
    def get(self, request: Request, name: str) -> Response:
        return Response(_told(request, _source(name)))

    @extend_schema(
        operation_id="sources_change",
        request=SourceBody,
        responses={200: OneSourceSerializer, **_REFUSED},
        tags=["catalogue"],
    )
    def patch(self, request: Request, name: str) -> Response:
        """Change what describes a source, as long as no study uses it. What is left out stays."""
        source = _source(name)
        check_if_match(request, _told(request, source))
        given = {field: getattr(source, field) for field in SourceBody().fields} | self.body(SourceBody)
        with refusals(services.SourceRefused, forbidden=services.SourceForbidden):
            services.edit_source(source=source, details=services.SourceDetails(**given), by=request.user)
        return Response(_told(request, _source(name)))

    @extend_schema(
        operation_id="sources_delete",
        responses={204: OpenApiResponse(description="The source and its associations are gone."), **_REFUSED},
        tags=["catalogue"],
    )
    def delete(self, request: Request, name: str) -> Response:
        """Delete a source with its associations, as long as no study uses it."""
        with refusals(services.SourceRefused, forbidden=services.SourceForbidden):
            services.delete_source(source=_source(name), by=request.user)
        return Response(status=204)


class Successor(CatalogueResource):
    """The source that replaces another."""

    @extend_schema(
        operation_id="sources_supersede",
        request=SuccessorBody,
        responses={200: OneSourceSerializer, 403: _REFUSED[403]},
        tags=["catalogue"],
    )
    def put(self, request: Request, name: str) -> Response:
        """Say which source replaces this one, for studies to come. Studies keep the source that they use."""
        source, by = _source(name), self.body(SuccessorBody)["by"]
        successor = Source.objects.filter(name=by).first() if by is not None else None
        if by is not None and successor is None:
            raise Refused(f"There is no source '{by}'. GET /api/v1/sources lists them.")
        with refusals(services.SourceRefused, forbidden=services.SourceForbidden, status=422):
            services.supersede_source(source=source, successor=successor, by=request.user)
        return Response(_told(request, _source(name)))


def _source(name: str) -> Source:
    return get_object_or_404(Source.objects.select_related("owner", "superseded_by"), name=name)


def _told(request: Request, source: Source) -> dict[str, Any]:
    uses = queries.uses(source, user=request.user)
    row: Any = source
    row.counts, row.uses = queries.source_counts(source), uses
    row.studies = [study.name for study in uses.visible]
    return dict(OneSourceSerializer(row).data)
