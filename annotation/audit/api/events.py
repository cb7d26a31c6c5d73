"""The audit log, for admins."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import Resource
from annotation.models import AuditEvent


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
        required=False, max_length=80, help_text="Only events of this study, by name."
    ),
    since=serializers.DateTimeField(required=False, help_text="Only events from this time on."),
    until=serializers.DateTimeField(required=False, help_text="Only events before this time."),
)


class AuditEvents(Resource):
    """The audit log: exports, withdrawals, blocks, invitations, tokens. For admins."""

    @extend_schema(
        operation_id="audit_events_list",
        parameters=[AuditQuery],
        responses=page_serializer(AuditEventSerializer),
        tags=["account"],
    )
    def get(self, request: Request) -> Response:
        if not policies.is_admin(request.user):
            raise Http404
        query = self.query(AuditQuery)
        fields = {"what": "what", "study": "study__name", "since": "at__gte", "until": "at__lt"}
        filters = {field: query[key] for key, field in fields.items() if key in query}
        rows = AuditEvent.objects.filter(**filters).select_related("study", "by")
        return page(request, rows, query=query, kind=AuditQuery, row=AuditEventSerializer)
