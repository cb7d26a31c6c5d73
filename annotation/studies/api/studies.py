"""Studies: what is studied, by whom, whether it is open, and whether it can be filled."""

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
    """The wanted answers of one stratum of a task."""

    task = serializers.CharField(source="task.kind", help_text="Kind of the task.")
    stratum = serializers.CharField(help_text="Whom they are reserved for.")
    wanted = serializers.IntegerField(help_text="Answers wanted.")
    filled = serializers.IntegerField(help_text="Answers there are.")
    leased = serializers.IntegerField(help_text="In the hands of annotators now.")
    open = serializers.IntegerField(help_text="Neither.")
    people = serializers.IntegerField(help_text="How many of those enrolled match the stratum.")


class FeasibilitySerializer(serializers.Serializer):
    """Whether those who are enrolled can fill a study."""

    people = serializers.IntegerField(help_text="Who is enrolled and may answer.")
    feasible = serializers.BooleanField(help_text="Whether every unit can be filled by them.")
    shortages = serializers.ListField(
        child=serializers.CharField(), help_text="What cannot be filled, in words."
    )
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="What runs out, such as gold items, in words."
    )
    rates = FillRateSerializer(many=True, help_text="By task and stratum.")


class OneStudy(Resource):
    """A study that the account leads."""

    @extend_schema(operation_id="studies_read", responses=StudySerializer, tags=["studies"])
    def get(self, request: Request, name: str) -> Response:
        return Response(StudySerializer(study_for_lead(request, name)).data)


class Feasibility(Resource):
    """How far each stratum is filled, and whether who is enrolled can fill the rest."""

    @extend_schema(operation_id="studies_feasibility", responses=FeasibilitySerializer, tags=["studies"])
    def get(self, request: Request, name: str) -> Response:
        report = feasibility.report(study=study_for_lead(request, name))
        return Response(FeasibilitySerializer(report).data)
