"""How long each annotator worked and what they saw, for fair pay and well-being (docs/audit.md)."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import Resource
from annotation.api.study_access import study_for_lead
from annotation.audit.queries import exposure
from annotation.models import EnrolmentStatus, Study


class HoursSerializer(serializers.Serializer):
    """One annotator, under a pseudonym. Hours include training and checks."""

    annotator = serializers.CharField(help_text="Pseudonym.")
    simulated = serializers.BooleanField(help_text="A program instead of a person.")
    studies = serializers.IntegerField(help_text="How many studies the row adds up.")
    status = serializers.ChoiceField(
        choices=[*EnrolmentStatus.choices, ("", "studies are added up")],
        help_text="In the study; empty if the row adds up all studies.",
    )
    active_hours = serializers.FloatField(help_text="As the browser measured it.")
    idle_hours = serializers.FloatField(
        help_text="An item was open but hidden, or nothing was done for half a minute."
    )
    untimed = serializers.IntegerField(help_text="Answers without a measured time, not in the hours.")
    answered = serializers.IntegerField(help_text="Units answered for the data, surplus included.")
    surplus = serializers.IntegerField(help_text="Of these, those to units that had enough answers already.")
    checks = serializers.IntegerField(help_text="Gold items and attention checks answered.")
    training = serializers.IntegerField(help_text="Training items answered.")
    revised = serializers.IntegerField(help_text="Corrections of earlier answers.")
    skipped = serializers.IntegerField(help_text="Items skipped.")
    offensiveness = serializers.IntegerField(help_text="Items about offensive words that were shown.")
    depiction = serializers.IntegerField(help_text="Items with an image that were shown.")
    days = serializers.IntegerField(help_text="Days (UTC) with an answer.")
    first = serializers.DateTimeField(allow_null=True, help_text="Their first answer.")
    last = serializers.DateTimeField(allow_null=True, help_text="Their last answer.")


HoursQuery = list_query("Hours", orders={"annotator": "pseudonym", "id": "pk"}, default="annotator")


class StudyHours(Resource):
    """Hours and exposure in one study, without people who withdrew."""

    @extend_schema(
        operation_id="hours_list",
        parameters=[HoursQuery],
        responses=page_serializer(HoursSerializer),
        tags=["people"],
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_for_lead(request, name)
        if not policies.may_see_hours(request.user, study):
            raise Http404
        return _page(self, request, study)


class AllHours(Resource):
    """Hours and exposure in all studies together, for admins."""

    @extend_schema(
        operation_id="hours_all",
        parameters=[HoursQuery],
        responses=page_serializer(HoursSerializer),
        tags=["people"],
    )
    def get(self, request: Request) -> Response:
        if not policies.may_see_all_hours(request.user):
            raise Http404
        return _page(self, request, None)


def _page(view: Resource, request: Request, study: Study | None) -> Response:
    return page(
        request,
        exposure.annotators(study),
        query=view.query(HoursQuery),
        kind=HoursQuery,
        row=HoursSerializer,
        prepare=lambda found: exposure.hours(list(found), study),
    )
