"""The annotators in a study, under pseudonyms, a lead's actions on them, and the links that let people in."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import refusals
from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import Body, Resource
from annotation.api.study_access import study_for_lead
from annotation.models import EnrolmentStatus, Invitation
from annotation.participation.queries import people
from annotation.participation.services import enrolments, invitations

_people = partial(extend_schema, tags=["people"])
_invitations = partial(extend_schema, tags=["invitations"])
STATUSES = [choice for choice in EnrolmentStatus.choices if choice[0] != EnrolmentStatus.WITHDRAWN]


class PersonSerializer(serializers.Serializer):
    """One annotator in a study, under a pseudonym."""

    id = serializers.IntegerField(source="enrolment.pk", help_text="Id of their enrolment in this study.")
    pseudonym = serializers.CharField(source="enrolment.annotator.pseudonym")
    status = serializers.ChoiceField(
        choices=STATUSES, source="enrolment.status", help_text="Their status in the study."
    )
    invitation = serializers.IntegerField(
        source="enrolment.invitation_id", allow_null=True, help_text="The invitation that they came by."
    )
    joined_at = serializers.DateTimeField(source="enrolment.joined_at", help_text="When they joined.")
    last_seen = serializers.DateTimeField(
        allow_null=True, help_text="Their last answer, skip or leased item."
    )
    answered = serializers.IntegerField(
        source="enrolment.answered", help_text="Units answered, without checks and training."
    )
    held = serializers.IntegerField(help_text="Items in progress: leased and not answered yet.")
    skips = serializers.IntegerField(help_text="Items skipped.")
    surplus = serializers.IntegerField(help_text="Answers to units that had enough answers already.")
    checked = serializers.IntegerField(help_text="Gold items and attention checks answered.")
    right = serializers.IntegerField(help_text="How many of these were answered as expected.")


class ActionSerializer(serializers.Serializer):
    """The result of an action."""

    person = PersonSerializer()
    changed = serializers.BooleanField(help_text="false: nothing had to be done.")


PeopleQuery = list_query(
    "People",
    orders={"joined_at": "joined_at", "id": "pk", "answered": "answered"},
    default="-joined_at",
    status=serializers.ChoiceField(
        choices=STATUSES, required=False, help_text="Only annotators with this status."
    ),
)


class People(Resource):
    """The annotators in a study, without those who withdrew."""

    @documents_list("people_list", query=PeopleQuery, row=PersonSerializer, tag="people")
    def get(self, request: Request, name: str) -> Response:
        study = study_for_lead(request, name)
        return filtered_page(
            self,
            people.current_enrolments(study),
            kind=PeopleQuery,
            row=PersonSerializer,
            prepare=lambda found: people.person_rows(study, found),
        )


class OnePerson(Resource):
    """One annotator in a study."""

    @_people(operation_id="people_read", responses=PersonSerializer)
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(PersonSerializer(_person(request, name, number)).data)


_ACTION_RESPONSES = {200: ActionSerializer, 409: OpenApiResponse(description="They have left the study.")}


class Block(Resource):
    """Stop giving items to an annotator. Their items in progress go to others; their answers stay."""

    @_people(operation_id="people_block", request=None, responses=_ACTION_RESPONSES)
    def post(self, request: Request, name: str, number: int) -> Response:
        return _act(request, name, number, enrolments.block)


class Unblock(Resource):
    """Let a blocked annotator continue where they were."""

    @_people(operation_id="people_unblock", request=None, responses=_ACTION_RESPONSES)
    def post(self, request: Request, name: str, number: int) -> Response:
        return _act(request, name, number, enrolments.unblock)


class Release(Resource):
    """Return an annotator's items in progress to the queue. An answer that still arrives is saved."""

    @_people(operation_id="people_release", request=None, responses=_ACTION_RESPONSES)
    def post(self, request: Request, name: str, number: int) -> Response:
        return _act(request, name, number, enrolments.release)


def _act(request: Request, name: str, number: int, action: Callable[..., int]) -> Response:
    person = _person(request, name, number)
    with refusals(enrolments.EnrolmentRefused):
        changed = action(enrolment=person.enrolment, by=request.user)
    result = {"person": _person(request, name, number), "changed": bool(changed)}
    return Response(ActionSerializer(result).data)


def _person(request: Request, name: str, number: int) -> people.Person:
    person = people.person(study_for_lead(request, name), pk=number)
    if person is None:
        raise Http404
    return person


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
        default="",
        allow_blank=True,
        help_text="A note for your list of invitations.",
    )
    max_uses = serializers.IntegerField(
        min_value=1,
        max_value=invitations.MOST_USES,
        default=None,
        allow_null=True,
        help_text="The most people that can come by it; null: no limit.",
    )
    expires_at = serializers.DateTimeField(
        default=None, allow_null=True, help_text="When it ends; null: never."
    )


InvitationsQuery = list_query(
    "Invitations", orders={"created_at": "created_at", "id": "pk", "uses": "uses"}, default="-created_at"
)


class Invitations(Resource):
    """The links into a study."""

    @documents_list("invitations_list", query=InvitationsQuery, row=InvitationSerializer, tag="invitations")
    def get(self, request: Request, name: str) -> Response:
        return filtered_page(
            self,
            study_for_lead(request, name).invitations.all(),
            kind=InvitationsQuery,
            row=InvitationSerializer,
            prepare=lambda found: [_described(request, each) for each in found],
        )

    @_invitations(
        operation_id="invitations_create",
        request=InvitationBody,
        responses={
            201: InvitationSerializer,
            409: OpenApiResponse(description="The study is closed, or the link would have ended already."),
        },
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

    @_invitations(operation_id="invitations_read", responses=InvitationSerializer)
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(_serialized(request, _invitation(request, name, number)))

    @_invitations(operation_id="invitations_revoke", responses={200: InvitationSerializer})
    def delete(self, request: Request, name: str, number: int) -> Response:
        """Revoke a link. People who came by it stay in the study."""
        invitation = _invitation(request, name, number)
        invitations.revoke(invitation=invitation, by=request.user)
        return Response(_serialized(request, invitation))


def _invitation(request: Request, name: str, number: int) -> Invitation:
    return get_object_or_404(study_for_lead(request, name).invitations, pk=number)


def _serialized(request: Request, invitation: Invitation) -> Any:
    return InvitationSerializer(_described(request, invitation)).data


def _described(request: Request, invitation: Invitation) -> dict[str, Any]:
    return {
        **vars(invitation),
        "state": invitations.state(invitation, now=timezone.now()),
        "url": request.build_absolute_uri(reverse("join", args=[invitation.code])),
    }
