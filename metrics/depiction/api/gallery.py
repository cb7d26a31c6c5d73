"""Images with the boxes of all annotators: what the gallery shows."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import refusals
from annotation.api.pages import listing, page, page_of
from annotation.api.resource import Resource
from annotation.models import IdentityGroup, Image
from metrics.core.answers import has_simulated_answers
from metrics.core.serializers import MAX_ID
from metrics.core.study_access import get_depiction_study_or_404
from metrics.depiction.queries.gallery import DIFFER, Filters, Found, Picture, seek

GalleryQuery = listing(
    "Gallery",
    orders={"id": "pk"},
    default="id",
    most=100,
    group=serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_ID,
        help_text="Identity group, by number; left out, with no attribute: the first.",
    ),
    attribute=serializers.CharField(
        default="", max_length=200, help_text="Images in which somebody selected this attribute."
    ),
    people=serializers.CharField(
        default="", max_length=200, help_text="Answers of these annotators only: one of `people`."
    ),
    differ=serializers.ChoiceField(
        choices=DIFFER,
        default=0,
        help_text="Per cent of annotators who left the majority on an attribute.",
    ),
)


class SelectedSerializer(serializers.Serializer[Any]):
    """An attribute as judged in an image: `k` of `n` selected it."""

    attribute = serializers.CharField(source="text")
    k = serializers.IntegerField()
    n = serializers.IntegerField()
    by = serializers.SerializerMethodField(help_text="Letters of those who selected it.")

    def get_by(self, found: Found) -> list[str]:
        return [by.letter for by in found.by]


class ShapeSerializer(serializers.Serializer[Any]):
    """A box."""

    attribute = serializers.CharField(source="found.text")
    by = serializers.CharField(source="by.letter", help_text="Whose, within this image.")
    x0 = serializers.FloatField(source="rect.x")
    y0 = serializers.FloatField(source="rect.y")
    width = serializers.FloatField(source="rect.width")
    height = serializers.FloatField(source="rect.height")


class JudgedImageSerializer(serializers.Serializer[Any]):
    """An image with what was said of it. Letters mean something within one image only."""

    image = serializers.IntegerField(source="image.pk", help_text="Its file: images/{number}/file.")
    group = serializers.CharField(source="image.group.name")
    people = serializers.SerializerMethodField(help_text="How many judged it.")
    attributes = SelectedSerializer(many=True, source="found")
    boxes = ShapeSerializer(many=True, source="shapes")

    def get_people(self, picture: Picture) -> int:
        return len(picture.people)


class GallerySerializer(serializers.Serializer[Any]):
    """What is told beside the images."""

    simulated = serializers.BooleanField(help_text="Some answers are a program's.")
    people = serializers.ListField(
        child=serializers.CharField(),
        help_text="Groups of annotators that can be asked for, none too small to hide in.",
    )


class Gallery(Resource):
    """The images of a study with the boxes of all annotators."""

    @extend_schema(
        operation_id="gallery_list",
        parameters=[GalleryQuery],
        responses={
            200: page_of(JudgedImageSerializer, GallerySerializer),
            422: OpenApiResponse(description="There is no such group of annotators to ask for."),
        },
        tags=["progress"],
    )
    def get(self, request: Request, name: str) -> Response:
        study = get_depiction_study_or_404(request, name)
        asked = self.query(GalleryQuery)
        group = get_object_or_404(IdentityGroup, pk=asked["group"]) if "group" in asked else None
        filters = Filters(
            group=group, attribute=asked["attribute"], people=asked["people"], differ=int(asked["differ"])
        )
        with refusals(ValueError, status=422):
            sought = seek(study, filters)
        return page(
            request,
            sought.images if sought.images is not None else Image.objects.none(),
            query=asked,
            kind=GalleryQuery,
            row=JudgedImageSerializer,
            shown=sought.pictures,
            beside={"simulated": has_simulated_answers(study), "people": sought.people},
        )
