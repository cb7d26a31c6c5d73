"""Runs: what there is, what a plan would come to, and what can be done to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from annotation.api.pages import page, page_of
from annotation.api.resource import Resource
from annotation.studies.units.planned import StudyRefused
from generation.jobs import tasks
from generation.models import Run, RunState
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.queries import estimates
from generation.runs import queries
from generation.runs import services as runs
from generation.runs.forms.kinds import FORMS
from generation.runs.serializers.requests import BODIES, PlanQuery, RunsQuery, as_form
from generation.runs.serializers.responses import ACTIONS, OneRunSerializer, PlannedSerializer, RunSerializer

TAGS = ["runs"]
ACTS: dict[str, Callable[..., bool | int]] = {
    "start": runs.start,
    "pause": runs.pause,
    "resume": runs.resume,
    "cancel": runs.cancel,
    "retry": runs.retry,
}
OFFERED: dict[str, tuple[str, ...]] = {
    RunState.PLANNED: ("start", "cancel"),
    RunState.RUNNING: ("pause", "cancel"),
    RunState.PAUSED: ("resume", "cancel"),
}
_BODY = PolymorphicProxySerializer(
    component_name="RunPlan", serializers=dict(BODIES), resource_type_field_name="kind"
)


@dataclass(frozen=True)
class Standing:
    """A run, how it stands, and what can be done to it."""

    run: Run
    stands: queries.Progress

    @property
    def model(self) -> str:
        return queries.model_of(self.run)

    @property
    def actions(self) -> list[str]:
        retried = ("retry",) if self.stands.failed and self.run.state != RunState.CANCELLED else ()
        return [*OFFERED.get(self.run.state, ()), *retried]


class Runs(Resource):
    """Runs that make pictures, captions and embeddings; for who may set up studies."""

    @extend_schema(
        operation_id="runs_list", parameters=[RunsQuery], responses=page_of(RunSerializer), tags=TAGS
    )
    def get(self, request: Request) -> Response:
        rows = _runs_seen(request)
        query = self.query(RunsQuery)
        rows = rows.filter(**{each: query[each] for each in ("kind", "state") if each in query})
        if "image_set" in query:
            rows = rows.filter(image_set__name=query["image_set"])
        return page(request, rows, query=query, kind=RunsQuery, row=RunSerializer, shown=queries.counted)

    @extend_schema(
        operation_id="runs_plan",
        description="Plan a run: it is there then, and starts when it is started. The same plan again is the "
        "same run, and adds what is missing. With `dry_run=true` nothing is written.",
        parameters=[PlanQuery],
        request=_BODY,
        responses={
            200: OpenApiResponse(PlannedSerializer, "What would come of it (`dry_run`)."),
            201: OpenApiResponse(PlannedSerializer, "It is planned."),
            409: OpenApiResponse(description="The study or the image set cannot take it by now."),
            422: OpenApiResponse(description="It cannot be planned: no such study, set, group or backend."),
        },
        tags=TAGS,
    )
    def post(self, request: Request) -> Response:
        _runs_seen(request)
        dry = self.query(PlanQuery)["dry_run"] == "true"
        plan = self._plan(request)
        preview = plans.preview(plan)
        run = preview.run
        if not dry:
            with refusals(runs.RunRefused, StudyRefused, PlanRefused):
                run = runs.ensure(plan=plan, by=request.user).run
        first = plan.prompts[0].group_id if plan.prompts else None
        said = {
            **{each: getattr(preview, each) for each in ("total", "added", "groups", "pictures", "notes")},
            "run": run.pk if run is not None else None,
            "state": run.state if run is not None else None,
            "recipe_hash": plan.recipe_hash,
            "image_set": plan.image_set,
            "prompts": [each.prompt.text for each in plan.prompts if each.group_id == first],
            "estimate": estimates.estimate(plan.recipe, jobs=preview.added),
        }
        return Response(PlannedSerializer(said).data, status=200 if dry else 201)

    def _plan(self, request: Request) -> plans.Plan:
        """The plan that the body asks for, by the rules of the page's form."""
        sent = request.data
        kind = sent.get("kind") if isinstance(sent, Mapping) else None
        if not isinstance(kind, str) or kind not in BODIES:
            there = ", ".join(BODIES)
            raise serializers.ValidationError({"kind": [f"Say what is wanted: one of {there}."]})
        said = self.body(BODIES[kind])
        usual = FORMS[kind](user=request.user).initial
        form = FORMS[kind](as_form(said, usual), user=request.user)
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
    """A run as it stands."""

    @extend_schema(operation_id="runs_read", responses=OneRunSerializer, tags=TAGS)
    def get(self, request: Request, number: int) -> Response:
        return Response(_standing(get_object_or_404(_runs_seen(request), pk=number)))


class RunAction(Resource):
    """start, pause, resume, cancel, or retry what failed. Done twice it changes nothing the second time."""

    @extend_schema(
        operation_id="runs_act",
        parameters=[OpenApiParameter("action", str, OpenApiParameter.PATH, enum=ACTIONS)],
        request=None,
        responses={200: OneRunSerializer, 409: OpenApiResponse(description="Not as the run stands.")},
        tags=TAGS,
    )
    def post(self, request: Request, number: int, action: str) -> Response:
        run = get_object_or_404(_runs_seen(request), pk=number)
        if action not in ACTS:
            raise Http404
        with refusals(runs.RunRefused):
            ACTS[action](run=run, by=request.user)
        run.refresh_from_db()
        tasks.enqueue(run)
        return Response(_standing(run))


def _standing(run: Run) -> Any:
    return OneRunSerializer(Standing(run, queries.progress(run))).data


def _runs_seen(request: Request) -> QuerySet[Run]:
    """Every run, for who makes images; Http404 for others, for whom there are none."""
    if not policies.may_make_images(request.user):
        raise Http404
    return Run.objects.select_related("image_set", "created_by")
