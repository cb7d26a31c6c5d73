"""API of marking: the share of texts about a set's images that name the group, and its figure."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Conflict, refused_form
from annotation.api.resource import FileResource, Resource, file_of
from annotation.models import ImageSet
from generation.image_sets.access import get_visible_image_set
from metrics.core.access import check_reader
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.figure_files import api_figure
from metrics.marking import queries
from metrics.marking.data import Choice
from metrics.marking.figures import marking_figure
from metrics.marking.forms import MarkingForm
from metrics.marking.serializers import FILE_FORMATS, MarkingQuery, MarkingSerializer, row_data

operation = partial(extend_schema, tags=["marking"])
_REFUSED = {422: OpenApiResponse(description="The words name no group of the set, or there is none.")}


class Marking(Resource):
    """The share of captions and descriptions of a set's images that name the group, by run and group."""

    @operation(
        operation_id="marking_read",
        parameters=[MarkingQuery],
        responses={200: MarkingSerializer, **_REFUSED},
    )
    def get(self, request: Request, name: str) -> Response:
        image_set = _image_set(request, name)
        choice = _choice(self.query(MarkingQuery), image_set)
        rows = queries.results(image_set, choice)
        data = {
            "image_set": image_set.name,
            "words": choice.listed.words,
            "nouns": choice.listed.nouns,
            "alone": choice.listed.alone,
            "all_ranks": choice.all_ranks,
            "results": row_data(rows),
        }
        return Response(MarkingSerializer(data).data)


class MarkingFigure(FileResource):
    """The figure of a set as a file for a paper, or its numbers as CSV."""

    @operation(
        operation_id="marking_figure",
        parameters=[
            OpenApiParameter("file_format", str, OpenApiParameter.PATH, enum=FILE_FORMATS),
            MarkingQuery,
        ],
        responses={
            **file_of(*(kind.partition(";")[0] for kind in CONTENT_TYPES.values())),
            409: OpenApiResponse(description="There is no text yet."),
            **_REFUSED,
        },
    )
    def get(self, request: Request, name: str, file_format: str) -> Response:
        image_set = _image_set(request, name)
        if file_format not in CONTENT_TYPES:
            raise Http404
        choice = _choice(self.query(MarkingQuery), image_set)
        rows = queries.results(image_set, choice)
        figure = marking_figure(image_set, rows)
        if figure is None:
            raise Conflict("No image of the set has a caption or a description yet.")
        return api_figure(figure, file_format, filename=f"marking-{name}")


def _image_set(request: Request, name: str) -> ImageSet:
    check_reader(request)
    return get_visible_image_set(request, name)


def _choice(query: Mapping[str, Any], image_set: ImageSet) -> Choice:
    """By the page's form. Raises Refused."""
    form = MarkingForm(query, image_set=image_set)
    if not form.is_valid():
        raise refused_form(form)
    return form.choice()
