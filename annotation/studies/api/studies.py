"""Studies: what is studied, by whom, whether it is open, and whether it can be filled."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.conditional import check_match
from annotation.api.errors import refusals
from annotation.api.pages import listing, page, page_of
from annotation.api.resource import Body, Resource
from annotation.api.study_access import led_study
from annotation.models import Study, StudyStatus
from annotation.setup import services as setup_services
from annotation.studies.services import feasibility, studies


class StudySerializer(serializers.Serializer):
    """A study, as who leads it sees it."""

    name = serializers.SlugField(help_text="By which addresses know it.")
    title = serializers.CharField(help_text="What people call it.")
    description = serializers.CharField(help_text="What annotators read before they take part.")
    status = serializers.ChoiceField(
        choices=StudyStatus.choices, help_text="draft -> open <-> paused -> closed."
    )
    contact = serializers.CharField(help_text="Who annotators can turn to.")
    leads = serializers.SerializerMethodField(help_text="Accounts that lead it.")
    simulated = serializers.BooleanField(help_text="Its answers were made by a program, not by people.")
    self_enrol = serializers.BooleanField(help_text="Any account may take part, invited or not.")
    created_at = serializers.DateTimeField(help_text="When it was made.")
    opened_at = serializers.DateTimeField(allow_null=True, help_text="When it was first opened.")
    closed_at = serializers.DateTimeField(allow_null=True, help_text="When it was closed.")

    def get_leads(self, study: Study) -> list[str]:
        return sorted(lead.get_username() for lead in study.leads.all())


class StatusBody(Body):
    """Where a study is to go."""

    status = serializers.ChoiceField(
        choices=sorted(studies.MOVES), help_text="open (from draft or paused), paused, or closed, for good."
    )


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


StudiesQuery = listing(
    "Studies",
    orders={"name": "name", "title": "title", "created_at": "created_at"},
    default="name",
    status=serializers.ChoiceField(
        choices=StudyStatus.choices, required=False, help_text="Only studies that are so."
    ),
)


class Studies(Resource):
    """The studies that the account leads; all of them, to an admin."""

    @extend_schema(
        operation_id="studies_list",
        parameters=[StudiesQuery],
        responses=page_of(StudySerializer),
        tags=["studies"],
    )
    def get(self, request: Request) -> Response:
        query = self.query(StudiesQuery)
        rows = policies.studies_led_by(request.user).prefetch_related("leads")
        if "status" in query:
            rows = rows.filter(status=query["status"])
        return page(request, rows, query=query, kind=StudiesQuery, row=StudySerializer)


class OneStudy(Resource):
    """A study that the account leads."""

    @extend_schema(operation_id="studies_read", responses=StudySerializer, tags=["studies"])
    def get(self, request: Request, name: str) -> Response:
        return Response(StudySerializer(led_study(request, name)).data)


class StudyState(Resource):
    """Opening, pausing and closing a study."""

    @extend_schema(
        operation_id="studies_status",
        request=StatusBody,
        responses={
            200: StudySerializer,
            409: OpenApiResponse(description="The study cannot go there, or lacks what annotators need."),
            412: OpenApiResponse(description="The study was changed since it was read (If-Match)."),
        },
        tags=["studies"],
    )
    def post(self, request: Request, name: str) -> Response:
        """Move a study to another status; that it has it already is no error. Opening a draft freezes what
        people are asked."""
        study = led_study(request, name)
        body = self.body(StatusBody)
        check_match(request, StudySerializer(study).data)
        draft = study.status == StudyStatus.DRAFT
        if draft and not policies.may_set_up(request.user, study):
            raise exceptions.PermissionDenied("This account may not open studies. Ask an administrator.")
        with refusals(studies.StudyRefused):
            studies.change_status(study=study, to=body["status"], by=f"user {request.user.pk}")
        if draft:
            setup_services.discard(user=request.user, name=study.name)
        return Response(StudySerializer(Study.objects.get(pk=study.pk)).data)


class Feasibility(Resource):
    """How far each stratum is filled, and whether who is enrolled can fill the rest."""

    @extend_schema(operation_id="studies_feasibility", responses=FeasibilitySerializer, tags=["studies"])
    def get(self, request: Request, name: str) -> Response:
        report = feasibility.report(study=led_study(request, name))
        return Response(FeasibilitySerializer(report).data)
