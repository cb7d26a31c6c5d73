"""The API of runs: list, plan, read, and actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from annotation.api.pages import page, page_serializer
from annotation.api.resource import Resource
from annotation.studies.errors import StudyRefused
from generation.jobs import tasks
from generation.models import Run
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.queries import estimates
from generation.runs import queries
from generation.runs import services as runs
from generation.runs.forms.kinds import FORMS
from generation.runs.serializers.requests import BODIES, PlanQuery, RunsQuery, as_form_data
from generation.runs.serializers.responses import OneRunSerializer, PlannedSerializer, RunSerializer

TAGS = ["runs"]
_BODY = PolymorphicProxySerializer(
    component_name="RunPlan", serializers=dict(BODIES), resource_type_field_name="kind"
)


@dataclass(frozen=True)
class RunDetail:
    """A run, its progress and its available actions."""

    run: Run
    progress: queries.Progress

    @property
    def model(self) -> str:
        return queries.model_of(self.run)

    @property
    def actions(self) -> list[str]:
        return runs.available_actions(self.run.state, failed=self.progress.failed)


class Runs(Resource):
    """Runs that make images, captions and embeddings; for accounts that may set up studies."""

    @extend_schema(
        operation_id="runs_list", parameters=[RunsQuery], responses=page_serializer(RunSerializer), tags=TAGS
    )
    def get(self, request: Request) -> Response:
        rows = _visible_runs(request)
        query = self.query(RunsQuery)
        rows = rows.filter(**{each: query[each] for each in ("kind", "state") if each in query})
        if "image_set" in query:
            rows = rows.filter(image_set__name=query["image_set"])
        return page(request, rows, query=query, kind=RunsQuery, row=RunSerializer, prepare=queries.run_rows)

    @extend_schema(
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
        tags=TAGS,
    )
    def post(self, request: Request) -> Response:
        _visible_runs(request)
        dry_run = self.query(PlanQuery)["dry_run"] == "true"
        plan = self._plan(request)
        preview = plans.preview(plan)
        run = preview.run
        if not dry_run:
            with refusals(runs.RunRefused, StudyRefused, PlanRefused):
                run = runs.ensure(plan=plan, by=request.user).run
        first = plan.prompts[0].group_id if plan.prompts else None
        response_data = {
            **{name: getattr(preview, name) for name in ("total", "added", "groups", "pictures", "notes")},
            "run": run.pk if run is not None else None,
            "state": run.state if run is not None else None,
            "recipe_hash": plan.recipe_hash,
            "image_set": plan.image_set,
            "prompts": [each.prompt.text for each in plan.prompts if each.group_id == first],
            "estimate": estimates.estimate(plan.recipe, jobs=preview.added),
        }
        return Response(PlannedSerializer(response_data).data, status=200 if dry_run else 201)

    def _plan(self, request: Request) -> plans.Plan:
        """The plan from the request body, validated by the page's form."""
        data = request.data
        kind = data.get("kind") if isinstance(data, Mapping) else None
        if not isinstance(kind, str) or kind not in BODIES:
            raise serializers.ValidationError({"kind": [f"Choose one of: {', '.join(BODIES)}."]})
        body = self.body(BODIES[kind])
        defaults = FORMS[kind](user=request.user).initial
        form = FORMS[kind](as_form_data(body, defaults), user=request.user)
        plan = form.plan() if form.is_valid() else None
        if plan is None:
            raise Refused(
                {
                    "non_field_errors" if name == "__all__" else name: [str(each) for each in errors]
                    for name, errors in form.errors.items()
                }
            )
        return plan


class OneRun(Resource):
    """A run with its progress."""

    @extend_schema(operation_id="runs_read", responses=OneRunSerializer, tags=TAGS)
    def get(self, request: Request, number: int) -> Response:
        return Response(_run_detail(get_object_or_404(_visible_runs(request), pk=number)))


class RunAction(Resource):
    """Start, pause, resume or cancel a run, or retry its failed jobs. Repeating an action changes nothing."""

    @extend_schema(
        operation_id="runs_act",
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(runs.ACTIONS))],
        request=None,
        responses={
            200: OneRunSerializer,
            409: OpenApiResponse(description="Not possible in the run's state."),
        },
        tags=TAGS,
    )
    def post(self, request: Request, number: int, action: str) -> Response:
        run = get_object_or_404(_visible_runs(request), pk=number)
        if action not in runs.ACTIONS:
            raise Http404
        with refusals(runs.RunRefused):
            runs.ACTIONS[action](run=run, by=request.user)
        run.refresh_from_db()
        tasks.enqueue(run)
        return Response(_run_detail(run))


def _run_detail(run: Run) -> Any:
    return OneRunSerializer(RunDetail(run, queries.progress(run))).data


def _visible_runs(request: Request) -> QuerySet[Run]:
    """All runs, for accounts that may generate images; Http404 for others."""
    if not policies.may_make_images(request.user):
        raise Http404
    return Run.objects.select_related("image_set", "created_by")
