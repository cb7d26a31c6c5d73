"""The audit log, for admins: what was done to people and data, by whom."""

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
    """Something that was done to people or data. It names no annotator."""

    id = serializers.IntegerField()
    what = serializers.CharField()
    study = serializers.SlugField(
        source="study.name", allow_null=True, default=None, help_text="Name of the study, if it is one's."
    )
    by = serializers.CharField(
        source="by.username", allow_null=True, default=None, help_text="Whose account; null: a command."
    )
    at = serializers.DateTimeField()
    details = serializers.JSONField()


AuditQuery = list_query(
    "AuditEvents",
    orders={"at": "at", "id": "pk"},
    default="-at",
    what=serializers.CharField(required=False, max_length=40, help_text="Only events of this kind."),
    study=serializers.CharField(required=False, max_length=80, help_text="Only of this study, by name."),
    since=serializers.DateTimeField(required=False, help_text="Not before this moment."),
    until=serializers.DateTimeField(required=False, help_text="Before this moment."),
)


class AuditEvents(Resource):
    """The audit trail: exports, withdrawals, blocks, invitations, tokens. For admins."""

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
        asked = {field: query[key] for key, field in fields.items() if key in query}
        rows = AuditEvent.objects.filter(**asked).select_related("study", "by")
        return page(request, rows, query=query, kind=AuditQuery, row=AuditEventSerializer)
