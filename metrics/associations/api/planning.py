"""The API that plans what models are asked for associations."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.resource import Resource
from generation.runs.bodies import as_form_data
from generation.runs.planning_api import planned_response
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
        form = self._form(request)
        return planned_response(
            form,
            dry_run=self.query(PlanQuery)["dry_run"],
            by=request.user,
            completed=lambda plan: with_groups(plan, form.listed()),
        )

    def _form(self, request: Request) -> Any:
        data = request.data
        modality = data.get("modality") if isinstance(data, Mapping) else None
        if not isinstance(modality, str) or modality not in BODIES:
            raise serializers.ValidationError({"modality": [f"Choose one of: {', '.join(BODIES)}."]})
        body = self.body(BODIES[modality])
        defaults = FORMS[modality](user=request.user).initial
        return FORMS[modality](as_form_data(body, defaults), user=request.user)
