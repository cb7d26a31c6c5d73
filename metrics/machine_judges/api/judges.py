"""API of a study's machine judges: the list, and planning one."""

from functools import partial

from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.pages import documents_list, filtered_page
from annotation.api.resource import Resource
from generation.runs.bodies import as_form_data
from generation.runs.planning_api import planned_response
from generation.runs.serializers import PlannedSerializer, PlanQuery
from metrics.core.studies import get_study_or_404
from metrics.machine_judges.data import judge_runs
from metrics.machine_judges.forms import JudgeForm
from metrics.machine_judges.judge_serializers import JudgeBody, JudgeSerializer, JudgesQuery
from metrics.machine_judges.queries.judges import judge_rows

TAG = "machine judges"
operation = partial(extend_schema, tags=[TAG])


class Judges(Resource):
    """Models that answer the items of a study, beside people and never among them. Its leads see them; those
    who may also set up studies plan them."""

    @documents_list("judges_list", query=JudgesQuery, row=JudgeSerializer, tag=TAG)
    def get(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        runs = judge_runs(study).select_related("image_set")
        return filtered_page(self, runs, kind=JudgesQuery, row=JudgeSerializer, prepare=judge_rows)

    @operation(
        operation_id="judges_plan",
        description="Plan a judge: a model is asked about every item of a task as annotators see it. Start "
        "its run with POST runs/{number}/start. The same plan again gives the same run. With `dry_run=true` "
        "nothing is written.",
        parameters=[PlanQuery],
        request=JudgeBody,
        responses={
            200: OpenApiResponse(PlannedSerializer, "What the plan would make (`dry_run`)."),
            201: OpenApiResponse(PlannedSerializer, "The planned run."),
            409: OpenApiResponse(description="The run has changed meanwhile and cannot take it."),
            422: OpenApiResponse(description="Not possible: for example the study is a draft."),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        study = get_study_or_404(request, name)
        if not policies.may_make_images(request.user):
            raise Http404
        dry_run = self.query(PlanQuery)["dry_run"]
        body = self.body(JudgeBody)
        data = as_form_data(body, JudgeForm(study=study, user=request.user).initial)
        return planned_response(
            JudgeForm(data, study=study, user=request.user), dry_run=dry_run, by=request.user
        )
