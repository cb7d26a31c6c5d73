"""API of studies: details, and whether their quotas can be filled."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resource import Resource
from annotation.api.study_access import study_for_lead
from annotation.studies.serializers import StudySerializer
from annotation.studies.services import feasibility


class FillRateSerializer(serializers.Serializer):
    """Responses and target of one quota (stratum) of a task."""

    task = serializers.CharField(source="task.kind", help_text="Kind of the task.")
    stratum = serializers.CharField(help_text="Whom the answers are reserved for.")
    wanted = serializers.IntegerField(help_text="Target number of answers.")
    filled = serializers.IntegerField(help_text="Answers given.")
    leased = serializers.IntegerField(help_text="Answers in progress.")
    open = serializers.IntegerField(help_text="Answers neither given nor in progress.")
    people = serializers.IntegerField(help_text="Number of enrolled people who match the stratum.")


class FeasibilitySerializer(serializers.Serializer):
    """Whether the enrolled people can fill the quotas of a study."""

    people = serializers.IntegerField(help_text="Number of people who are enrolled and may answer.")
    feasible = serializers.BooleanField(help_text="Whether they can fill every unit.")
    shortages = serializers.ListField(
        child=serializers.CharField(), help_text="Messages about quotas that cannot be filled."
    )
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="Other messages, e.g. about too few gold items."
    )
    rates = FillRateSerializer(many=True, help_text="One entry per task and stratum.")


class OneStudy(Resource):
    """A study that the account leads."""

    @extend_schema(operation_id="studies_read", responses=StudySerializer, tags=["studies"])
    def get(self, request: Request, name: str) -> Response:
        return Response(StudySerializer(study_for_lead(request, name)).data)


class Feasibility(Resource):
    """How far each quota is filled, and whether the enrolled people can fill the rest."""

    @extend_schema(operation_id="studies_feasibility", responses=FeasibilitySerializer, tags=["studies"])
    def get(self, request: Request, name: str) -> Response:
        report = feasibility.report(study=study_for_lead(request, name))
        return Response(FeasibilitySerializer(report).data)
