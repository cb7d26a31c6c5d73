"""Image sets, their images with provenance, and the captions of an image."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from typing import ClassVar

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import StorageUnreachable
from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import FileResource, Resource, file_of
from annotation.images.files import CONTENT_TYPES
from annotation.models import Image
from generation.image_sets.access import get_visible_image, get_visible_image_set, visible_image_sets
from generation.image_sets.queries import sets
from generation.image_sets.serializers import CaptionSerializer, ImageSerializer, ImageSetSerializer
from generation.models import Caption
from generation.models.runs import PROMPT_SET_CHOICES

TAGS = ["images"]
LARGEST = 2**63 - 1

SetsQuery = list_query("ImageSets", orders={"name": "name", "title": "title"}, default="name")
ImagesQuery = list_query(
    "Images",
    orders={"id": "pk"},
    default="id",
    group=serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST, help_text="Images of this identity group, by number."
    ),
    prompt_set=serializers.ChoiceField(
        PROMPT_SET_CHOICES, required=False, help_text="Images from these prompts."
    ),
)
CaptionsQuery = list_query(
    "Captions",
    orders={"rank": "rank"},
    default="rank",
    run=serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST, help_text="Captions from this run."
    ),
)


class ImageSets(Resource):
    """The image sets that the account may see."""

    @extend_schema(
        operation_id="image_sets_list",
        parameters=[SetsQuery],
        responses=page_serializer(ImageSetSerializer),
        tags=TAGS,
    )
    def get(self, request: Request) -> Response:
        query = self.query(SetsQuery)
        return page(
            request,
            visible_image_sets(request),
            query=query,
            kind=SetsQuery,
            row=ImageSetSerializer,
            prepare=partial(sets.image_set_rows, user=request.user),
        )


class OneImageSet(Resource):
    """An image set."""

    @extend_schema(operation_id="image_sets_read", responses=ImageSetSerializer, tags=TAGS)
    def get(self, request: Request, name: str) -> Response:
        (row,) = sets.image_set_rows([get_visible_image_set(request, name)], user=request.user)
        return Response(ImageSetSerializer(row).data)


class Images(Resource):
    """The images of a set, each with its provenance."""

    @extend_schema(
        operation_id="images_list",
        parameters=[ImagesQuery],
        responses=page_serializer(ImageSerializer),
        tags=TAGS,
    )
    def get(self, request: Request, name: str) -> Response:
        image_set = get_visible_image_set(request, name)
        query = self.query(ImagesQuery)
        rows = image_set.images.select_related("image_set", "group", "provenance__attribute")
        if "group" in query:
            rows = rows.filter(group=query["group"])
        if "prompt_set" in query:
            rows = rows.filter(provenance__prompt_set=query["prompt_set"])
        return page(request, rows, query=query, kind=ImagesQuery, row=ImageSerializer)


class OneImage(Resource):
    """An image and its provenance."""

    @extend_schema(operation_id="images_read", responses=ImageSerializer, tags=TAGS)
    def get(self, request: Request, number: int) -> Response:
        return Response(ImageSerializer(get_visible_image(request, number)).data)


class Captions(Resource):
    """The captions of an image."""

    @extend_schema(
        operation_id="captions_list",
        parameters=[CaptionsQuery],
        responses=page_serializer(CaptionSerializer),
        tags=TAGS,
    )
    def get(self, request: Request, number: int) -> Response:
        image = get_visible_image(request, number)
        query = self.query(CaptionsQuery)
        rows = Caption.objects.filter(image=image)
        if "run" in query:
            rows = rows.filter(run=query["run"])
        return page(request, rows, query=query, kind=CaptionsQuery, row=CaptionSerializer)


class ImageFile(FileResource):
    """The image file, for accounts that may generate images, lead a study that shows it or take part in one.
    Needs no particular token scope."""

    scopes: ClassVar = {"GET": None}

    @extend_schema(
        operation_id="images_file",
        responses={
            **file_of(*sorted(set(CONTENT_TYPES.values()))),
            503: OpenApiResponse(description="The image storage does not answer."),
        },
        tags=TAGS,
    )
    def get(self, request: Request, number: int) -> Response:
        image = get_object_or_404(Image.objects.select_related("image_set"), pk=number)
        kind = CONTENT_TYPES.get(PurePath(image.file.name or "").suffix.lower())
        if kind is None or not policies.may_see_image(request.user, image):
            raise Http404
        try:
            with image.file.open("rb") as file:
                return Response(file.read(), content_type=kind)
        except FileNotFoundError as error:
            raise Http404 from error
        except OSError as error:
            raise StorageUnreachable from error
