"""Image sets, their images with provenance, and the captions of an image."""

from collections.abc import Iterable
from functools import partial
from pathlib import PurePath
from typing import Any, ClassVar

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import StorageUnreachable
from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import FileResource, Resource, file_of
from annotation.images.files import CONTENT_TYPES
from annotation.models import Image, Study
from generation.image_sets import queries as sets
from generation.image_sets.access import get_visible_image, get_visible_image_set, visible_image_sets
from generation.models import Caption
from generation.models.runs import PROMPT_SET_CHOICES


class StudyNames(serializers.ListField):
    def to_representation(self, data: Iterable[Study]) -> list[str]:
        return [study.name for study in data]


class ImageSetSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="image_set.name")
    title = serializers.CharField(source="image_set.title")
    model_name = serializers.CharField(
        source="image_set.model_name", allow_blank=True, help_text="The text-to-image model, where known."
    )
    licence = serializers.CharField(source="image_set.licence", allow_blank=True)
    drawn = serializers.BooleanField(
        source="image_set.drawn", help_text="Drawn sample pictures, not a model's output."
    )
    images = serializers.IntegerField()
    groups = serializers.IntegerField()
    studies = StudyNames(child=serializers.CharField(), help_text="Your studies that show it.")


class ProvenanceSerializer(serializers.Serializer[Any]):
    """How an image was made. For uploaded images `run` is null and the other fields come from their table."""

    run = serializers.IntegerField(source="run_id", allow_null=True)
    prompt_set = serializers.ChoiceField(PROMPT_SET_CHOICES, allow_blank=True)
    attribute = serializers.CharField(allow_null=True)
    seed = serializers.IntegerField(
        allow_null=True, help_text="Of the job. A server (backend openai) was asked without it."
    )
    recipe_hash = serializers.CharField(allow_blank=True)
    model = serializers.CharField(allow_blank=True)
    revision = serializers.CharField(allow_blank=True)
    libraries = serializers.DictField(
        child=serializers.CharField(allow_null=True), help_text="Name: version."
    )
    device = serializers.CharField(allow_blank=True)
    code_revision = serializers.CharField(allow_blank=True)
    flagged = serializers.BooleanField(
        allow_null=True, help_text="The safety checker's verdict; null: it did not run."
    )
    seconds = serializers.FloatField(allow_null=True, help_text="Model time: the image's share of its batch.")
    made_at = serializers.DateTimeField(allow_null=True)
    note = serializers.CharField(allow_blank=True)


class MadeFromSerializer(serializers.Serializer[Any]):
    """The image that another was made from."""

    image_set = serializers.CharField(source="initial_set", help_text="The set of the initial image.")
    index = serializers.IntegerField(source="initial_index", help_text="Its number in its set and group.")
    image = serializers.IntegerField(
        source="initial.pk", default=None, allow_null=True, help_text="null: it is no longer there."
    )
    strength = serializers.FloatField(help_text="Above 0 and at most 1: how far the model went from it.")
    sample = serializers.IntegerField(help_text="From 1.")


class ImageSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    image_set = serializers.CharField(source="image_set.name")
    group = serializers.CharField(source="group.name")
    group_id = serializers.IntegerField()
    index = serializers.IntegerField(help_text="Number within its set and group, from 1.")
    prompt = serializers.CharField(allow_blank=True)
    width = serializers.IntegerField(help_text="pixels; 0: unknown, and there is no file")
    height = serializers.IntegerField(help_text="pixels; 0: unknown, and there is no file")
    sha256 = serializers.CharField(allow_blank=True)
    file = serializers.SerializerMethodField(
        help_text="Path of the file; null if this installation does not have it."
    )
    reference = serializers.CharField(allow_blank=True, help_text="Where the file is stored elsewhere.")
    provenance = ProvenanceSerializer(read_only=True, allow_null=True, help_text="null: unknown.")
    made_from = MadeFromSerializer(allow_null=True, help_text="null: not made from another image.")

    def get_file(self, image: Image) -> str | None:
        return reverse("api:image_file", args=[image.pk]) if image.file else None


class CaptionSerializer(serializers.Serializer[Any]):
    run = serializers.IntegerField(source="run_id")
    rank = serializers.IntegerField(help_text="From 1, the captioner's best.")
    text = serializers.CharField()
    score = serializers.FloatField(allow_null=True, help_text="The captioner's own, higher is better.")


operation = partial(extend_schema, tags=["images"])
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
        PROMPT_SET_CHOICES,
        required=False,
        source="provenance__prompt_set",
        help_text="Images from these prompts.",
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

    @documents_list("image_sets_list", query=SetsQuery, row=ImageSetSerializer, tag="images")
    def get(self, request: Request) -> Response:
        return filtered_page(
            self,
            visible_image_sets(request),
            kind=SetsQuery,
            row=ImageSetSerializer,
            prepare=partial(sets.image_set_rows, user=request.user),
        )


class OneImageSet(Resource):
    """An image set."""

    @operation(operation_id="image_sets_read", responses=ImageSetSerializer)
    def get(self, request: Request, name: str) -> Response:
        (row,) = sets.image_set_rows([get_visible_image_set(request, name)], user=request.user)
        return Response(ImageSetSerializer(row).data)


class Images(Resource):
    """The images of a set, each with its provenance."""

    @documents_list("images_list", query=ImagesQuery, row=ImageSerializer, tag="images")
    def get(self, request: Request, name: str) -> Response:
        images = get_visible_image_set(request, name).images
        rows = images.select_related("image_set", "group", "provenance__attribute")
        return filtered_page(self, rows, kind=ImagesQuery, row=ImageSerializer, prepare=sets.with_made_from)


class OneImage(Resource):
    """An image and its provenance."""

    @operation(operation_id="images_read", responses=ImageSerializer)
    def get(self, request: Request, number: int) -> Response:
        (image,) = sets.with_made_from([get_visible_image(request, number)])
        return Response(ImageSerializer(image).data)


class Captions(Resource):
    """The captions of an image."""

    @documents_list("captions_list", query=CaptionsQuery, row=CaptionSerializer, tag="images")
    def get(self, request: Request, number: int) -> Response:
        rows = Caption.objects.filter(image=get_visible_image(request, number))
        return filtered_page(self, rows, kind=CaptionsQuery, row=CaptionSerializer)


class ImageFile(FileResource):
    """The image file, for accounts that may generate images, lead a study that shows it or take part in one.
    Needs no particular token scope."""

    scopes: ClassVar = {"GET": None}

    @operation(
        operation_id="images_file",
        responses={
            **file_of(*sorted(set(CONTENT_TYPES.values()))),
            503: OpenApiResponse(description="The image storage does not answer."),
        },
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
