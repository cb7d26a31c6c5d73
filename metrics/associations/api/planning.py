"""The API that plans what models are asked for associations."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import refusals, refused_form
from annotation.api.resource import Resource
from annotation.studies.errors import StudyRefused
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.runs import services as runs
from generation.runs.bodies import as_form_data
from generation.runs.errors import RunRefused
from generation.runs.serializers import PlannedSerializer, PlanQuery
from metrics.associations.forms import FORMS
from metrics.associations.planning_bodies import BODIES
from metrics.associations.services.descriptors import with_groups

_BODY = PolymorphicProxySerializer(
    component_name="AssociationPlan", serializers=dict(BODIES), resource_type_field_name="modality"
)


class AssociationRuns(Resource):
    """Runs that ask models for associations; for accounts that may set up studies."""

    @extend_schema(
        tags=["associations"],
        operation_id="associations_plan",
        description="Plan a run that asks for associations, or makes images for them. Start it with POST "
        "runs/{number}/start. The same plan again gives the same run. Identity groups that the descriptors "
        "name and the catalogue lacks are added. With `dry_run=true` nothing is written.",
        parameters=[PlanQuery],
        request=_BODY,
        responses={
            200: OpenApiResponse(PlannedSerializer, "What the plan would make (`dry_run`)."),
            201: OpenApiResponse(PlannedSerializer, "The planned run."),
            409: OpenApiResponse(description="There is another run of this name."),
            422: OpenApiResponse(description="Not possible: for example a wrong row of the descriptors."),
        },
    )
    def post(self, request: Request) -> Response:
        if not policies.may_make_images(request.user):
            raise Http404
        dry_run = self.query(PlanQuery)["dry_run"] == "true"
        form = self._form(request)
        plan = form.plan() if form.is_valid() else None
        if plan is None:
            raise refused_form(form)
        preview = plans.preview(plan)
        if not dry_run:
            with refusals(RunRefused, StudyRefused, PlanRefused):
                ensured = runs.ensure(plan=with_groups(plan, form.listed()), by=request.user)
            preview = replace(preview, run=ensured.run)
        return Response(PlannedSerializer(preview).data, status=200 if dry_run else 201)

    def _form(self, request: Request) -> Any:
        data = request.data
        modality = data.get("modality") if isinstance(data, Mapping) else None
        if not isinstance(modality, str) or modality not in BODIES:
            raise serializers.ValidationError({"modality": [f"Choose one of: {', '.join(BODIES)}."]})
        body = self.body(BODIES[modality])
        defaults = FORMS[modality](user=request.user).initial
        return FORMS[modality](as_form_data(body, defaults), user=request.user)
