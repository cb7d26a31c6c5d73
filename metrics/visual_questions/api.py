"""API of visual questions: runs, results and figure."""

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
from generation.runs.bodies import as_form_data
from generation.runs.planning_api import planned_response
from generation.runs.serializers import PlannedSerializer, PlanQuery, RunSerializer
from metrics.core.access import check_reader, of_visible_sets
from metrics.core.charts.figure import CONTENT_TYPES
from metrics.core.figure_files import api_figure
from metrics.visual_questions import queries
from metrics.visual_questions.data import question_runs
from metrics.visual_questions.figures import question_figure
from metrics.visual_questions.forms import VisualQuestionsForm
from metrics.visual_questions.serializers import (
    FILE_FORMATS,
    FigureOfQuestionQuery,
    VisualQuestionResultsSerializer,
    VisualQuestionRunsQuery,
    VisualQuestionsBody,
    question_data,
    share_data,
)

TAG = "visual questions"
operation = partial(extend_schema, tags=[TAG])


class VisualQuestionRuns(Resource):
    """Runs that ask questions about images. Who leads studies sees those about the image sets that
    these show; who may set up studies sees all, and plans them."""

    @documents_list("visual_question_runs_list", query=VisualQuestionRunsQuery, row=RunSerializer, tag=TAG)
    def get(self, request: Request) -> Response:
        check_reader(request)
        return filtered_page(
            self,
            of_visible_sets(request, question_runs()).select_related("image_set"),
            kind=VisualQuestionRunsQuery,
            row=RunSerializer,
            prepare=runs_queries.run_rows,
        )

    @operation(
        operation_id="visual_question_runs_plan",
        description="Plan a run that asks every question about every image of a set. Start it with "
        "POST runs/{number}/start. The same plan again gives the same run. With `dry_run=true` nothing is "
        "written.",
        parameters=[PlanQuery],
        request=VisualQuestionsBody,
        responses={
            200: OpenApiResponse(PlannedSerializer, "What the plan would make (`dry_run`)."),
            201: OpenApiResponse(PlannedSerializer, "The planned run."),
            409: OpenApiResponse(description="There is another run of this name."),
            422: OpenApiResponse(description="Not possible: for example a question without a text."),
        },
    )
    def post(self, request: Request) -> Response:
        if not policies.may_make_images(request.user):
            raise Http404
        dry_run = self.query(PlanQuery)["dry_run"]
        body = self.body(VisualQuestionsBody)
        defaults = VisualQuestionsForm(user=request.user).initial
        form = VisualQuestionsForm(as_form_data(body, defaults), user=request.user)
        return planned_response(form, dry_run=dry_run, by=request.user)


class VisualQuestionResults(Resource):
    """The share of each answer by group, and whether groups get the same answers."""

    @operation(operation_id="visual_question_runs_read", responses=VisualQuestionResultsSerializer)
    def get(self, request: Request, number: int) -> Response:
        run = _run(request, number)
        found = queries.results(run)
        [row] = runs_queries.run_rows([run])
        data = {
            "run": row,
            "simulated": run.backend == FAKE,
            "questions": question_data(found),
            "results": share_data(found),
        }
        return Response(VisualQuestionResultsSerializer(data).data)


class VisualQuestionFigure(FileResource):
    """The figure of a question as a file for a paper, or its numbers as CSV."""

    @operation(
        operation_id="visual_question_runs_figure",
        parameters=[
            OpenApiParameter("file_format", str, OpenApiParameter.PATH, enum=FILE_FORMATS),
            FigureOfQuestionQuery,
        ],
        responses={
            **file_of(*(kind.partition(";")[0] for kind in CONTENT_TYPES.values())),
            409: OpenApiResponse(description="There is no answer to the question yet."),
        },
    )
    def get(self, request: Request, number: int, file_format: str) -> Response:
        run = _run(request, number)
        if file_format not in CONTENT_TYPES:
            raise Http404
        wanted = self.query(FigureOfQuestionQuery).get("question")
        found = queries.results(run)
        shown = next((one for one in found if wanted in {None, one.question.name}), None)
        if shown is None:
            raise Conflict("There is no answer to this question yet.")
        figure = question_figure(run, shown)
        return api_figure(figure, file_format, filename=f"{run.name}-{shown.question.name}")


def _run(request: Request, number: int) -> Run:
    check_reader(request)
    return get_object_or_404(of_visible_sets(request, question_runs()).select_related("image_set"), pk=number)
