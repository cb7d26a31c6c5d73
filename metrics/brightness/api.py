"""API of brightness: its runs, their numbers and their figures."""

from functools import partial

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import Conflict
from annotation.api.pages import documents_list, filtered_page
from annotation.api.resource import FileResource, Resource, file_of
from generation.image_sets.access import visible_image_sets
from generation.models import Run
from generation.runs import queries as runs_queries
from generation.runs.planning_api import planned_response
from generation.runs.serializers import PlannedSerializer, PlanQuery, RunSerializer
from metrics.brightness import queries
from metrics.brightness.data import MeasurementsRefused, brightness_runs, crop_of, image_set_of
from metrics.brightness.figures import brightness_figure
from metrics.brightness.forms import BrightnessForm, crop_fields
from metrics.brightness.serializers import (
    FILE_FORMATS,
    BrightnessResultsSerializer,
    BrightnessRunBody,
    BrightnessRunsQuery,
    results_data,
)
from metrics.core.access import check_reader, of_visible_sets
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.figure_files import api_figure

operation = partial(extend_schema, tags=["brightness"])
_NO_MEASUREMENT = {409: OpenApiResponse(description="An answer of the run is no measurement.")}


class BrightnessRuns(Resource):
    """Runs that measure brightness. Who leads studies sees those over the image sets that these show;
    who may set up studies sees all, and plans them."""

    @documents_list("brightness_runs_list", query=BrightnessRunsQuery, row=RunSerializer, tag="brightness")
    def get(self, request: Request) -> Response:
        check_reader(request)
        return filtered_page(
            self,
            of_visible_sets(request, brightness_runs()),
            kind=BrightnessRunsQuery,
            row=RunSerializer,
            prepare=runs_queries.run_rows,
        )

    @operation(
        operation_id="brightness_runs_plan",
        description="Plan a measurement of an image set. It does not start by itself: start it with POST "
        "runs/{number}/start. The same plan again gives the same run. With `dry_run=true` nothing is "
        "written.",
        parameters=[PlanQuery],
        request=BrightnessRunBody,
        responses={
            200: OpenApiResponse(PlannedSerializer, "What the plan would make (`dry_run`)."),
            201: OpenApiResponse(PlannedSerializer, "The planned run."),
            422: OpenApiResponse(description="Not possible: for example no such image set, or no crop."),
        },
    )
    def post(self, request: Request) -> Response:
        if not policies.may_make_images(request.user):
            raise Http404
        dry_run = self.query(PlanQuery)["dry_run"]
        defaults = {name: field.initial for name, field in BrightnessForm.base_fields.items()}
        body = self.body(BrightnessRunBody)
        merged = {**defaults, **body, **(crop_fields(body["crop"]) if "crop" in body else {})}
        form = BrightnessForm({name: value for name, value in merged.items() if value is not None})
        return planned_response(form, dry_run=dry_run, by=request.user)


class BrightnessResults(Resource):
    """Brightness, L* and ITA by group, and the change of brightness against the images that the set's images
    were made from, with 95 % intervals, clustered by image."""

    @operation(
        operation_id="brightness_runs_read", responses={200: BrightnessResultsSerializer, **_NO_MEASUREMENT}
    )
    def get(self, request: Request, number: int) -> Response:
        run = _run(request, number)
        found = queries.of_sets(_results(run), visible_image_sets(request))
        [row] = runs_queries.run_rows([run])
        about = {"run": row, "drawn": image_set_of(run).drawn, "crop": crop_of(run).name}
        return Response(BrightnessResultsSerializer({**about, **results_data(found)}).data)


class BrightnessFigure(FileResource):
    """The figure of a run as a file for a paper, or its numbers as CSV: the change over the strength, or the
    brightness of each group if nothing is compared."""

    @operation(
        operation_id="brightness_runs_figure",
        parameters=[OpenApiParameter("file_format", str, OpenApiParameter.PATH, enum=FILE_FORMATS)],
        responses={
            **file_of(*(kind.partition(";")[0] for kind in CONTENT_TYPES.values())),
            409: OpenApiResponse(description="Nothing is measured yet, or an answer is no measurement."),
        },
    )
    def get(self, request: Request, number: int, file_format: str) -> Response:
        run = _run(request, number)
        if file_format not in CONTENT_TYPES:
            raise Http404
        figure = brightness_figure(run, _results(run))
        if figure is None:
            raise Conflict("Nothing is measured yet.")
        return api_figure(figure, file_format, filename=f"{run.name}-{figure.name}")


def _run(request: Request, number: int) -> Run:
    check_reader(request)
    return get_object_or_404(of_visible_sets(request, brightness_runs()), pk=number)


def _results(run: Run) -> queries.Results:
    try:
        return queries.results(run)
    except MeasurementsRefused as refused:
        raise Conflict(str(refused)) from refused
