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
    """A link into a study, with its limit and its end."""

    id = serializers.IntegerField()
    label = serializers.CharField(help_text="What its maker calls it.")
    url = serializers.URLField(help_text="What is sent to whom you invite.")
    state = serializers.ChoiceField(choices=_STATES, help_text="Whether it can be followed now, or why not.")
    uses = serializers.IntegerField(help_text="How many people it has let in.")
    max_uses = serializers.IntegerField(allow_null=True, help_text="How many it may; null: no limit.")
    created_at = serializers.DateTimeField(help_text="When it was made.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="When it ends; null: never.")
    revoked_at = serializers.DateTimeField(allow_null=True, help_text="When it was taken back.")


class InvitationBody(Body):
    """A new link."""

    label = serializers.CharField(
        max_length=120, required=False, default="", allow_blank=True, help_text="What you call it."
    )
    max_uses = serializers.IntegerField(
        min_value=1,
        max_value=invitations.MOST_USES,
        required=False,
        default=None,
        allow_null=True,
        help_text="How many people it lets in; null: no limit.",
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
            prepare=lambda found: _shown(request, found),
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
        """Make one more link. `manage` lets a program invite; who follows a link still has to consent."""
        study = study_for_lead(request, name)
        body = self.body(InvitationBody)
        with refusals(invitations.InvitationRefused):
            made = invitations.create(study=study, by=request.user, **body)
        return Response(_one(request, made), status=201)


class OneInvitation(Resource):
    """One link into a study."""

    @extend_schema(operation_id="invitations_read", responses=InvitationSerializer, tags=["invitations"])
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(_one(request, _invitation(request, name, number)))

    @extend_schema(
        operation_id="invitations_revoke",
        responses={200: InvitationSerializer},
        tags=["invitations"],
    )
    def delete(self, request: Request, name: str, number: int) -> Response:
        """Take a link back. Who came through it stays in the study."""
        invitation = _invitation(request, name, number)
        invitations.revoke(invitation=invitation, by=request.user)
        return Response(_one(request, invitation))


def _invitation(request: Request, name: str, number: int) -> Invitation:
    return get_object_or_404(study_for_lead(request, name).invitations, pk=number)


def _one(request: Request, invitation: Invitation) -> Any:
    return InvitationSerializer(_shown(request, [invitation])[0]).data


def _shown(request: Request, found: Sequence[Invitation]) -> list[dict[str, Any]]:
    return [
        {
            **vars(link.invitation),
            "state": link.state,
            "url": request.build_absolute_uri(reverse("join", args=[link.invitation.code])),
        }
        for link in people.linked(found)
    ]
