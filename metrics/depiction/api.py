"""API of the scores of identity groups, and of images with the boxes of all annotators."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import refusals
from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import Resource
from annotation.models import IdentityGroup, Image
from metrics.core.answers import has_simulated_answers
from metrics.core.serializers import MAX_ID, IdentityGroupSerializer, NumberSerializer
from metrics.core.studies import get_depiction_study_or_404
from metrics.depiction.queries.gallery import (
    DISAGREEMENT_CHOICES,
    Filters,
    GalleryAttribute,
    GalleryImage,
    search_images,
)
from metrics.depiction.queries.identities import NAME_ORDER, identity_table
from metrics.score_runs import queries
from metrics.score_runs.serializers import ScoreRunSerializer, VariantQuery

GalleryQuery = list_query(
    "Gallery",
    orders={"id": "pk"},
    default="id",
    max_limit=100,
    group=serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_ID,
        help_text="Identity group, by number; the first group if neither group nor attribute is given.",
    ),
    attribute=serializers.CharField(
        default="", max_length=200, help_text="Images in which an annotator selected this attribute."
    ),
    people=serializers.CharField(
        default="", max_length=200, help_text="Only answers of this group of annotators: one of `people`."
    ),
    differ=serializers.ChoiceField(
        choices=DISAGREEMENT_CHOICES,
        default=0,
        help_text="Least per cent of annotators who disagree with the majority on an attribute.",
    ),
)


class IdentityRowSerializer(serializers.Serializer[Any]):
    group = IdentityGroupSerializer()
    l_stereo = NumberSerializer(allow_null=True)
    l_random = NumberSerializer(allow_null=True)
    theta = NumberSerializer(allow_null=True)
    offensiveness = NumberSerializer(
        source="o", allow_null=True, help_text="Only for groups with a stereotype that was seen and rated."
    )


class IdentitiesSerializer(serializers.Serializer[Any]):
    """`unreported`: judged groups with at most one stereotypical attribute."""

    run = ScoreRunSerializer(allow_null=True)
    offensiveness_run = ScoreRunSerializer(allow_null=True)
    stale = serializers.BooleanField()
    simulated = serializers.BooleanField()
    results = IdentityRowSerializer(many=True)
    unreported = IdentityGroupSerializer(many=True)


class Identities(Resource):
    """The scores of each identity group, from the newest finished runs."""

    @extend_schema(
        operation_id="identities_list",
        parameters=[VariantQuery],
        responses=IdentitiesSerializer,
        tags=["scores"],
    )
    def get(self, request: Request, name: str) -> Response:
        study = get_depiction_study_or_404(request, name)
        variant = self.query(VariantQuery)["variant"]
        latest = queries.latest_run(study, "tendency", variant)
        offensive = queries.latest_run(study, "offensiveness", variant)
        rows, unreported = identity_table(study, latest.run, offensive.run, NAME_ORDER)
        data = {
            "run": latest.run,
            "offensiveness_run": offensive.run,
            "stale": latest.stale or offensive.stale,
            "simulated": has_simulated_answers(study),
            "results": rows,
            "unreported": unreported,
        }
        return Response(IdentitiesSerializer(data).data)


class SelectedSerializer(serializers.Serializer[Any]):
    """An attribute of an image: `k` of `n` annotators selected it."""

    attribute = serializers.CharField(source="text")
    k = serializers.IntegerField()
    n = serializers.IntegerField()
    by = serializers.SerializerMethodField(help_text="Letters of the annotators who selected it.")

    def get_by(self, attribute: GalleryAttribute) -> list[str]:
        return [annotator.letter for annotator in attribute.selected_by]


class ShapeSerializer(serializers.Serializer[Any]):
    """A box."""

    attribute = serializers.CharField(source="attribute.text")
    by = serializers.CharField(
        source="annotator.letter", help_text="Letter of the annotator within this image."
    )
    x0 = serializers.FloatField(source="rect.x")
    y0 = serializers.FloatField(source="rect.y")
    width = serializers.FloatField(source="rect.width")
    height = serializers.FloatField(source="rect.height")


class JudgedImageSerializer(serializers.Serializer[Any]):
    """An image and its judgements. Letters identify annotators within one image only."""

    image = serializers.IntegerField(source="image.pk", help_text="Its file: images/{number}/file.")
    group = serializers.CharField(source="image.group.name")
    people = serializers.SerializerMethodField(help_text="Number of annotators who judged it.")
    attributes = SelectedSerializer(many=True)
    boxes = ShapeSerializer(many=True)

    def get_people(self, image: GalleryImage) -> int:
        return len(image.annotators)


class GallerySerializer(serializers.Serializer[Any]):
    """Facts about the study, beside the images."""

    simulated = serializers.BooleanField(help_text="Whether some answers were simulated by a program.")
    people = serializers.ListField(
        child=serializers.CharField(),
        help_text="Groups of annotators to filter by; groups that are too small are left out.",
    )


class Gallery(Resource):
    """The images of a study with the boxes of all annotators."""

    @extend_schema(
        operation_id="gallery_list",
        parameters=[GalleryQuery],
        responses={
            200: page_serializer(JudgedImageSerializer, GallerySerializer),
            422: OpenApiResponse(description="Unknown group of annotators."),
        },
        tags=["progress"],
    )
    def get(self, request: Request, name: str) -> Response:
        study = get_depiction_study_or_404(request, name)
        params = self.query(GalleryQuery)
        group = get_object_or_404(IdentityGroup, pk=params["group"]) if "group" in params else None
        filters = Filters(
            group=group, attribute=params["attribute"], people=params["people"], differ=int(params["differ"])
        )
        with refusals(ValueError, status=422):
            search = search_images(study, filters)
        return page(
            request,
            search.images if search.images is not None else Image.objects.none(),
            query=params,
            kind=GalleryQuery,
            row=JudgedImageSerializer,
            prepare=search.pictures,
            extra={"simulated": has_simulated_answers(study), "people": search.people},
        )
