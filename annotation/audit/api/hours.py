"""How long each annotator worked and what they met, for fair pay and for their well-being (docs/audit.md)."""

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
    """One annotator, under a pseudonym. Hours are of all items, training and checks included."""

    annotator = serializers.CharField(help_text="Pseudonym.")
    simulated = serializers.BooleanField(help_text="A program that stands in for somebody.")
    studies = serializers.IntegerField(help_text="How many studies are added up here.")
    status = serializers.ChoiceField(
        choices=[*EnrolmentStatus.choices, ("", "studies are added up")],
        help_text="In the study; empty where studies are added up.",
    )
    active_hours = serializers.FloatField(help_text="As the browser measured it.")
    idle_hours = serializers.FloatField(
        help_text="An item was open and out of sight, or nothing was done for half a minute."
    )
    untimed = serializers.IntegerField(help_text="Answers without a time, so with no hours here.")
    answered = serializers.IntegerField(help_text="Units answered for the data, surplus included.")
    surplus = serializers.IntegerField(help_text="Of these, those that came when all wanted ones were there.")
    checks = serializers.IntegerField(help_text="Gold items and attention checks answered.")
    training = serializers.IntegerField(help_text="Training items answered.")
    revised = serializers.IntegerField(help_text="Changes of mind.")
    skipped = serializers.IntegerField(help_text="Items passed over.")
    offensiveness = serializers.IntegerField(help_text="Items about offensive words that were shown.")
    depiction = serializers.IntegerField(help_text="Items with an image that were shown.")
    days = serializers.IntegerField(help_text="Days (UTC) with an answer.")
    first = serializers.DateTimeField(allow_null=True, help_text="Their first answer.")
    last = serializers.DateTimeField(allow_null=True, help_text="Their last answer.")


HoursQuery = list_query("Hours", orders={"annotator": "pseudonym", "id": "pk"}, default="annotator")


class StudyHours(Resource):
    """Hours and exposure in one study. Who withdrew is not listed."""

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
    """Hours and exposure over all studies together, for admins."""

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
