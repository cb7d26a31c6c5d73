"""API of inference models: their runs, results, most entailed pairs and figure."""

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
from generation.models import Run
from generation.recipes.recipes import FAKE
from generation.runs import queries as runs_queries
from generation.runs.planning_api import planned_response
from generation.runs.serializers import PlannedSerializer, PlanQuery, RunSerializer
from metrics.core.access import check_reader
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.figure_files import api_figure
from metrics.inference import queries
from metrics.inference.data import inference_runs
from metrics.inference.figures import inference_figure
from metrics.inference.forms import InferenceForm
from metrics.inference.labels import LabelsRefused
from metrics.inference.serializers import (
    FILE_FORMATS,
    EntailedPairsQuery,
    EntailedPairsSerializer,
    FigureOfRunQuery,
    InferenceResultsSerializer,
    InferenceRunBody,
    InferenceRunsQuery,
    as_form_data,
    row_data,
)

operation = partial(extend_schema, tags=["inference models"])
_NO_ENTAILMENT = {409: OpenApiResponse(description="None of the model's labels is entailment.")}


class InferenceRuns(Resource):
    """Runs that ask inference models. To read them, an account sets up or leads studies; to plan one, it may
    set up studies."""

    @documents_list(
        "inference_runs_list", query=InferenceRunsQuery, row=RunSerializer, tag="inference models"
    )
    def get(self, request: Request) -> Response:
        check_reader(request)
        return filtered_page(
            self,
            inference_runs(),
            kind=InferenceRunsQuery,
            row=RunSerializer,
            prepare=runs_queries.run_rows,
        )

    @operation(
        operation_id="inference_runs_plan",
        description="Plan a run about a source's associations. It does not start by itself: start it with "
        "POST runs/{number}/start. The same plan again gives the same run. With `dry_run=true` nothing is "
        "written.",
        parameters=[PlanQuery],
        request=InferenceRunBody,
        responses={
            200: OpenApiResponse(PlannedSerializer, "What the plan would make (`dry_run`)."),
            201: OpenApiResponse(PlannedSerializer, "The planned run."),
            422: OpenApiResponse(description="Not possible: for example no such source, or no stereotype."),
        },
    )
    def post(self, request: Request) -> Response:
        if not policies.may_make_images(request.user):
            raise Http404
        dry_run = self.query(PlanQuery)["dry_run"]
        defaults = {name: field.initial for name, field in InferenceForm.base_fields.items()}
        form = InferenceForm(as_form_data(self.body(InferenceRunBody), defaults))
        return planned_response(form, dry_run=dry_run, by=request.user)


class InferenceResults(Resource):
    """%E and M(E) of a run by source and region, with 95 % intervals, clustered by group."""

    @operation(
        operation_id="inference_runs_read", responses={200: InferenceResultsSerializer, **_NO_ENTAILMENT}
    )
    def get(self, request: Request, number: int) -> Response:
        run = _run(request, number)
        found = _results(run)
        [row] = runs_queries.run_rows([run])
        data = {
            "run": row,
            "simulated": run.backend == FAKE,
            "results": [row_data(each) for each in found.rows],
        }
        return Response(InferenceResultsSerializer(data).data)


class EntailedPairs(Resource):
    """The pairs that came out as entailment, the most probable first. Can be offensive."""

    @operation(
        operation_id="inference_runs_pairs",
        parameters=[EntailedPairsQuery],
        responses={200: EntailedPairsSerializer, **_NO_ENTAILMENT},
    )
    def get(self, request: Request, number: int) -> Response:
        run, query = _run(request, number), self.query(EntailedPairsQuery)
        try:
            pairs = queries.most_entailed(run, **query)
        except LabelsRefused as refused:
            raise Conflict(str(refused)) from refused
        return Response(EntailedPairsSerializer({"results": pairs}).data)


class InferenceFigure(FileResource):
    """The figure of a run as a file for a paper, or its numbers as CSV."""

    @operation(
        operation_id="inference_runs_figure",
        parameters=[
            OpenApiParameter("file_format", str, OpenApiParameter.PATH, enum=FILE_FORMATS),
            FigureOfRunQuery,
        ],
        responses={
            **file_of(*(kind.partition(";")[0] for kind in CONTENT_TYPES.values())),
            409: OpenApiResponse(description="There is no answer yet, or no label is entailment."),
        },
    )
    def get(self, request: Request, number: int, file_format: str) -> Response:
        run = _run(request, number)
        if file_format not in CONTENT_TYPES:
            raise Http404
        shown = self.query(FigureOfRunQuery)["show"]
        figure = inference_figure(run, _results(run), shown=shown, simulated=run.backend == FAKE)
        if figure is None:
            raise Conflict("There is no answer yet.")
        return api_figure(figure, file_format, filename=f"{run.name}-{shown}")


def _run(request: Request, number: int) -> Run:
    check_reader(request)
    return get_object_or_404(inference_runs(), pk=number)


def _results(run: Run) -> queries.Results:
    try:
        return queries.results(run)
    except LabelsRefused as refused:
        raise Conflict(str(refused)) from refused
