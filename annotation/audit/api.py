"""The audit log, and how long each annotator worked and what they saw (docs/audit.md)."""

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import Resource
from annotation.api.study_access import study_for_lead
from annotation.audit import queries
from annotation.models import AuditEvent, EnrolmentStatus, Study


class AuditEventSerializer(serializers.Serializer):
    """An action on people or data. It names no annotator."""

    id = serializers.IntegerField()
    what = serializers.CharField()
    study = serializers.SlugField(
        source="study.name", allow_null=True, default=None, help_text="The study by name; null: none."
    )
    by = serializers.CharField(
        source="by.username",
        allow_null=True,
        default=None,
        help_text="The account by name; null: a command, or the person themselves.",
    )
    at = serializers.DateTimeField()
    details = serializers.JSONField()


AuditQuery = list_query(
    "AuditEvents",
    orders={"at": "at", "id": "pk"},
    default="-at",
    what=serializers.CharField(required=False, max_length=40, help_text="Only events of this kind."),
    study=serializers.CharField(
        required=False, max_length=80, source="study__name", help_text="Only events of this study, by name."
    ),
    since=serializers.DateTimeField(
        required=False, source="at__gte", help_text="Only events from this time on."
    ),
    until=serializers.DateTimeField(
        required=False, source="at__lt", help_text="Only events before this time."
    ),
)


class AuditEvents(Resource):
    """The audit log: exports, withdrawals, blocks, invitations, tokens. For admins."""

    @documents_list("audit_events_list", query=AuditQuery, row=AuditEventSerializer, tag="account")
    def get(self, request: Request) -> Response:
        if not policies.is_admin(request.user):
            raise Http404
        events = AuditEvent.objects.select_related("study", "by")
        return filtered_page(self, events, kind=AuditQuery, row=AuditEventSerializer)


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
    association = serializers.IntegerField(help_text="Items about a biased association that were shown.")
    days = serializers.IntegerField(help_text="Days (UTC) with an answer.")
    first = serializers.DateTimeField(allow_null=True, help_text="Their first answer.")
    last = serializers.DateTimeField(allow_null=True, help_text="Their last answer.")


HoursQuery = list_query("Hours", orders={"annotator": "pseudonym", "id": "pk"}, default="annotator")


class StudyHours(Resource):
    """Hours and exposure in one study, without people who withdrew."""

    @documents_list("hours_list", query=HoursQuery, row=HoursSerializer, tag="people")
    def get(self, request: Request, name: str) -> Response:
        return _page(self, study_for_lead(request, name))


class AllHours(Resource):
    """Hours and exposure in all studies together, for admins."""

    @documents_list("hours_all", query=HoursQuery, row=HoursSerializer, tag="people")
    def get(self, request: Request) -> Response:
        if not policies.is_admin(request.user):
            raise Http404
        return _page(self, None)


def _page(view: Resource, study: Study | None) -> Response:
    return filtered_page(
        view,
        queries.annotators(study),
        kind=HoursQuery,
        row=HoursSerializer,
        prepare=lambda found: queries.hours(list(found), study),
    )
