"""API of figures: the list, and each figure as a specification or a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Conflict, Refused
from annotation.api.resource import FileResource, Resource, file_of
from metrics.core.charts.figure import CONTENT_TYPES, Figure, render_figure
from metrics.core.figure_sources import NothingToDraw, UnknownFigure
from metrics.core.json_numbers import json_safe
from metrics.core.study_access import get_study_or_404
from metrics.dashboards.figures import FIGURES, draw_figure
from metrics.dashboards.serializers import FILE_FORMATS, FigureQuery, FigureSerializer, FigureSourceSerializer

TAGS = ["figures"]
_NAME = OpenApiParameter(
    "figure", str, OpenApiParameter.PATH, enum=list(FIGURES), description="Name of the figure."
)
_FORMAT = OpenApiParameter(
    "file_format", str, OpenApiParameter.PATH, enum=FILE_FORMATS, description="Kind of file."
)
_REFUSED = {
    409: OpenApiResponse(description="The study has no answers for this figure yet."),
    422: OpenApiResponse(description="The figure has no such option, or the option no such value."),
}


class FigureSourcesSerializer(serializers.Serializer[Any]):
    results = FigureSourceSerializer(many=True)


class Figures(Resource):
    """All figures, with their options."""

    @extend_schema(operation_id="figures_list", responses=FigureSourcesSerializer, tags=TAGS)
    def get(self, request: Request, name: str) -> Response:
        get_study_or_404(request, name)
        results = [
            {
                "name": figure,
                "title": source.title,
                "options": [
                    {"name": option, "meaning": meaning, "choices": source.choices.get(option, ())}
                    for option, meaning in source.options.items()
                ],
                "formats": FILE_FORMATS,
            }
            for figure, source in FIGURES.items()
        ]
        return Response(FigureSourcesSerializer({"results": results}).data)


class OneFigure(Resource):
    """A figure as a Vega-Lite specification, with the numbers that it shows."""

    @extend_schema(
        operation_id="figures_read",
        parameters=[_NAME, FigureQuery],
        responses={200: FigureSerializer, **_REFUSED},
        tags=TAGS,
    )
    def get(self, request: Request, name: str, figure: str) -> Response:
        drawing = draw_or_problem(request, name, figure, self.query(FigureQuery))
        data = {
            **{
                each: getattr(drawing, each)
                for each in ("name", "title", "alt", "notes", "columns", "digest")
            },
            "rows": json_safe(drawing.rows),
            "specification": json_safe(drawing.spec),
        }
        return Response(FigureSerializer(data).data)


class FigureFile(FileResource):
    """A figure as a file for a paper, or its numbers as CSV."""

    @extend_schema(
        operation_id="figures_file",
        parameters=[_NAME, _FORMAT, FigureQuery],
        responses={
            **file_of(*(kind.partition(";")[0] for kind in CONTENT_TYPES.values())),
            **_REFUSED,
        },
        tags=TAGS,
    )
    def get(self, request: Request, name: str, figure: str, file_format: str) -> Response:
        if file_format not in CONTENT_TYPES:
            raise Http404
        drawing = draw_or_problem(request, name, figure, self.query(FigureQuery))
        response = Response(render_figure(drawing, file_format), content_type=CONTENT_TYPES[file_format])
        response["Content-Disposition"] = f'attachment; filename="{name}-{figure}.{file_format}"'
        return response


def draw_or_problem(request: Request, name: str, figure: str, options: Mapping[str, str]) -> Figure:
    """Draw the figure, or raise the API error that says why not."""
    study = get_study_or_404(request, name)
    try:
        # an empty option is ignored, as in the page's form
        return draw_figure(study, figure, {key: value for key, value in options.items() if value})
    except UnknownFigure as error:
        raise Http404 from error
    except NothingToDraw as error:
        raise Conflict(str(error)) from error
    except ValueError as error:
        raise Refused(str(error)) from error
