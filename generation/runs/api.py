"""The API of runs: list, plan, read, and actions."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import Refused, refusals
from annotation.api.pages import documents_list, filtered_page
from annotation.api.resource import Resource
from generation.answers import queries as answers
from generation.jobs import tasks
from generation.models import IMPORTED, Run
from generation.plans.queries.runs import visible_runs
from generation.runs import limits, queries
from generation.runs import services as runs
from generation.runs.bodies import BODIES, LimitsBody, as_form_data
from generation.runs.errors import RunRefused
from generation.runs.forms import FORMS
from generation.runs.limits_form import LimitsForm
from generation.runs.planning_api import planned_response
from generation.runs.planning_forms.base import RunForm
from generation.runs.serializers import (
    OneRunSerializer,
    PlannedSerializer,
    PlanQuery,
    RunSerializer,
    RunsQuery,
)

operation = partial(extend_schema, tags=["runs"])
_BODY = PolymorphicProxySerializer(
    component_name="RunPlan", serializers=dict(BODIES), resource_type_field_name="kind"
)


class Runs(Resource):
    """Runs that make images, captions and embeddings; for accounts that may set up studies."""

    @documents_list("runs_list", query=RunsQuery, row=RunSerializer, tag="runs")
    def get(self, request: Request) -> Response:
        rows = _visible_runs(request)
        return filtered_page(self, rows, kind=RunsQuery, row=RunSerializer, prepare=queries.run_rows)

    @operation(
        operation_id="runs_plan",
        description="Plan a run. It does not start by itself. The same plan again gives the same run, and "
        "adds missing jobs. With `dry_run=true` nothing is written.",
        parameters=[PlanQuery],
        request=_BODY,
        responses={
            200: OpenApiResponse(PlannedSerializer, "What the plan would make (`dry_run`)."),
            201: OpenApiResponse(PlannedSerializer, "The planned run."),
            409: OpenApiResponse(description="The study or the image set has changed and cannot take it."),
            422: OpenApiResponse(
                description="Not possible: for example no such study, set, group or backend."
            ),
        },
    )
    def post(self, request: Request) -> Response:
        _visible_runs(request)
        dry_run = self.query(PlanQuery)["dry_run"]
        return planned_response(self._form(request), dry_run=dry_run, by=request.user)

    def _form(self, request: Request) -> RunForm:
        """The page's form with the request's body."""
        data = request.data
        kind = data.get("kind") if isinstance(data, Mapping) else None
        if not isinstance(kind, str) or kind not in BODIES:
            raise serializers.ValidationError({"kind": [f"Choose one of: {', '.join(BODIES)}."]})
        body = self.body(BODIES[kind])
        defaults = FORMS[kind](user=request.user).initial
        return FORMS[kind](as_form_data(body, defaults), user=request.user)


class OneRun(Resource):
    """A run with its progress."""

    @operation(operation_id="runs_read", responses=OneRunSerializer)
    def get(self, request: Request, number: int) -> Response:
        return Response(_run_detail(get_object_or_404(_visible_runs(request), pk=number)))


class RunAction(Resource):
    """Start, pause, resume or cancel a run, retry its failed jobs, or discard a run that has made nothing.
    Repeating an action changes nothing."""

    @operation(
        operation_id="runs_act",
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(runs.ACTIONS))],
        request=None,
        responses={
            200: OneRunSerializer,
            204: OpenApiResponse(description="The run is discarded: it is gone."),
            409: OpenApiResponse(description="Not possible in the run's state."),
        },
    )
    def post(self, request: Request, number: int, action: str) -> Response:
        run = get_object_or_404(_visible_runs(request), pk=number)
        if action not in runs.ACTIONS:
            raise Http404
        with refusals(RunRefused):
            runs.ACTIONS[action](run=run, by=request.user)
        if action == "discard":
            return Response(status=204)
        run.refresh_from_db()
        tasks.enqueue(run)
        return Response(_run_detail(run))


class RunLimits(Resource):
    """How much a run may ask of a server, and what that costs. No answer depends on it."""

    @operation(
        operation_id="runs_set_limits",
        description="Replace the limits of a planned, running or paused run that asks a model. A field that "
        "is missing or null: no limit. A run that paused at its limit stays paused: resume it.",
        request=LimitsBody,
        responses={
            200: OneRunSerializer,
            409: OpenApiResponse(description="The run asks no model, or has ended."),
            422: OpenApiResponse(description="Not possible: for example a limit on the cost without prices."),
        },
    )
    def put(self, request: Request, number: int) -> Response:
        run = get_object_or_404(_visible_runs(request), pk=number)
        form = LimitsForm(self.body(LimitsBody), run=run)
        wanted = form.limits() if form.is_valid() else None
        if wanted is None:
            raise Refused({name: [str(each) for each in errors] for name, errors in form.errors.items()})
        with refusals(RunRefused):
            limits.set_limits(run=run, limits=wanted, by=request.user)
        return Response(_run_detail(run))


def _run_detail(run: Run) -> Any:
    progress = queries.progress(run)
    imported = run.backend == IMPORTED
    actions = runs.available_actions(run.state, done=progress.done, failed=progress.failed, imported=imported)
    found = {"run": run, "progress": progress, "actions": actions, "spent": answers.spent(run)}
    return OneRunSerializer(found).data


def _visible_runs(request: Request) -> QuerySet[Run]:
    """The runs that the account may see, if it may generate images; Http404 for others."""
    if not policies.may_make_images(request.user):
        raise Http404
    return visible_runs(request.user)
