"""Invitations: the links that let people into a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import refusals
from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import Body, Resource
from annotation.api.study_access import study_for_lead
from annotation.models import Invitation
from annotation.participation.queries import people
from annotation.participation.services import invitations

_STATES = ["open", "full", "ended", "taken back"]


class InvitationSerializer(serializers.Serializer):
    """A link into a study."""

    id = serializers.IntegerField()
    label = serializers.CharField(help_text="A note for the list of invitations.")
    url = serializers.URLField(help_text="The link to send to the people you invite.")
    state = serializers.ChoiceField(choices=_STATES, help_text="Whether the link works now, or why not.")
    uses = serializers.IntegerField(help_text="How many people came by it.")
    max_uses = serializers.IntegerField(
        allow_null=True, help_text="The most people that can come by it; null: no limit."
    )
    created_at = serializers.DateTimeField(help_text="When it was created.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="When it ends; null: never.")
    revoked_at = serializers.DateTimeField(allow_null=True, help_text="When it was revoked.")


class InvitationBody(Body):
    """A new link."""

    label = serializers.CharField(
        max_length=120,
        required=False,
        default="",
        allow_blank=True,
        help_text="A note for your list of invitations.",
    )
    max_uses = serializers.IntegerField(
        min_value=1,
        max_value=invitations.MOST_USES,
        required=False,
        default=None,
        allow_null=True,
        help_text="The most people that can come by it; null: no limit.",
    )
    expires_at = serializers.DateTimeField(
        required=False, default=None, allow_null=True, help_text="When it ends; null: never."
    )


InvitationsQuery = list_query(
    "Invitations", orders={"created_at": "created_at", "id": "pk", "uses": "uses"}, default="-created_at"
)


class Invitations(Resource):
    """The links into a study."""

    @extend_schema(
        operation_id="invitations_list",
        parameters=[InvitationsQuery],
        responses=page_serializer(InvitationSerializer),
        tags=["invitations"],
    )
    def get(self, request: Request, name: str) -> Response:
        query = self.query(InvitationsQuery)
        return page(
            request,
            study_for_lead(request, name).invitations.all(),
            query=query,
            kind=InvitationsQuery,
            row=InvitationSerializer,
            prepare=lambda found: _rows(request, found),
        )

    @extend_schema(
        operation_id="invitations_create",
        request=InvitationBody,
        responses={
            201: InvitationSerializer,
            409: OpenApiResponse(description="The study is closed, or the link would have ended already."),
        },
        tags=["invitations"],
    )
    def post(self, request: Request, name: str) -> Response:
        """Create a link. People who follow it still have to consent."""
        study = study_for_lead(request, name)
        body = self.body(InvitationBody)
        with refusals(invitations.InvitationRefused):
            invitation = invitations.create(study=study, by=request.user, **body)
        return Response(_serialized(request, invitation), status=201)


class OneInvitation(Resource):
    """One link into a study."""

    @extend_schema(operation_id="invitations_read", responses=InvitationSerializer, tags=["invitations"])
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(_serialized(request, _invitation(request, name, number)))

    @extend_schema(
        operation_id="invitations_revoke",
        responses={200: InvitationSerializer},
        tags=["invitations"],
    )
    def delete(self, request: Request, name: str, number: int) -> Response:
        """Revoke a link. People who came by it stay in the study."""
        invitation = _invitation(request, name, number)
        invitations.revoke(invitation=invitation, by=request.user)
        return Response(_serialized(request, invitation))


def _invitation(request: Request, name: str, number: int) -> Invitation:
    return get_object_or_404(study_for_lead(request, name).invitations, pk=number)


def _serialized(request: Request, invitation: Invitation) -> Any:
    return InvitationSerializer(_rows(request, [invitation])[0]).data


def _rows(request: Request, found: Sequence[Invitation]) -> list[dict[str, Any]]:
    return [
        {
            **vars(row.invitation),
            "state": row.state,
            "url": request.build_absolute_uri(reverse("join", args=[row.invitation.code])),
        }
        for row in people.invitation_rows(found)
    ]
