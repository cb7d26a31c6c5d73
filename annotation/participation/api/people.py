"""Who takes part in a study, under pseudonyms, and what a lead can do about it."""

from __future__ import annotations

from collections.abc import Callable

from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import refusals
from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import Resource
from annotation.api.study_access import study_for_lead
from annotation.models import EnrolmentStatus
from annotation.participation.queries import people
from annotation.participation.services import enrolments

STATUSES = [choice for choice in EnrolmentStatus.choices if choice[0] != EnrolmentStatus.WITHDRAWN]


class PersonSerializer(serializers.Serializer):
    """One annotator in a study. Who they are is not told."""

    id = serializers.IntegerField(source="enrolment.pk", help_text="Number of their part in this study.")
    pseudonym = serializers.CharField(source="enrolment.annotator.pseudonym")
    status = serializers.ChoiceField(
        choices=STATUSES, source="enrolment.status", help_text="Where they stand in the study."
    )
    invitation = serializers.IntegerField(
        source="enrolment.invitation_id", allow_null=True, help_text="The invitation they came by."
    )
    joined_at = serializers.DateTimeField(source="enrolment.joined_at", help_text="When they came.")
    last_seen = serializers.DateTimeField(
        allow_null=True, help_text="Their last answer, skip or item given out."
    )
    answered = serializers.IntegerField(
        source="enrolment.answered", help_text="Units answered, checks and training left out."
    )
    held = serializers.IntegerField(help_text="Items in their hands now.")
    skips = serializers.IntegerField(help_text="Items passed over.")
    surplus = serializers.IntegerField(help_text="Answers that came when all wanted ones were there.")
    checked = serializers.IntegerField(help_text="Gold items and attention checks answered.")
    right = serializers.IntegerField(help_text="How many of these as expected.")


class ActionSerializer(serializers.Serializer):
    """What was done."""

    person = PersonSerializer()
    changed = serializers.BooleanField(help_text="false: there was nothing to do.")


PeopleQuery = list_query(
    "People",
    orders={"joined_at": "joined_at", "id": "pk", "answered": "answered"},
    default="-joined_at",
    status=serializers.ChoiceField(choices=STATUSES, required=False, help_text="Only who stands so."),
)


class People(Resource):
    """Who takes part in a study. Who withdrew is not listed."""

    @extend_schema(
        operation_id="people_list",
        parameters=[PeopleQuery],
        responses=page_serializer(PersonSerializer),
        tags=["people"],
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_for_lead(request, name)
        query = self.query(PeopleQuery)
        rows = people.enrolled(study)
        if "status" in query:
            rows = rows.filter(status=query["status"])
        return page(
            request,
            rows,
            query=query,
            kind=PeopleQuery,
            row=PersonSerializer,
            prepare=lambda found: people.persons(study, found),
        )


class OnePerson(Resource):
    """One annotator in a study."""

    @extend_schema(operation_id="people_read", responses=PersonSerializer, tags=["people"])
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(PersonSerializer(_person(request, name, number)).data)


_ACTED = {200: ActionSerializer, 409: OpenApiResponse(description="They have left the study.")}


class Block(Resource):
    """Give somebody no more items; what they hold goes to others, what they answered stays."""

    @extend_schema(operation_id="people_block", request=None, responses=_ACTED, tags=["people"])
    def post(self, request: Request, name: str, number: int) -> Response:
        return _acted(request, name, number, enrolments.block)


class Unblock(Resource):
    """Let somebody who was blocked go on where they were."""

    @extend_schema(operation_id="people_unblock", request=None, responses=_ACTED, tags=["people"])
    def post(self, request: Request, name: str, number: int) -> Response:
        return _acted(request, name, number, enrolments.unblock)


class Release(Resource):
    """Return to the queue what somebody holds. An answer that still comes is kept."""

    @extend_schema(operation_id="people_release", request=None, responses=_ACTED, tags=["people"])
    def post(self, request: Request, name: str, number: int) -> Response:
        return _acted(request, name, number, enrolments.release)


def _acted(request: Request, name: str, number: int, act: Callable[..., int]) -> Response:
    person = _person(request, name, number)
    with refusals(enrolments.EnrolmentRefused):
        done = act(enrolment=person.enrolment, by=request.user)
    told = {"person": _person(request, name, number), "changed": bool(done)}
    return Response(ActionSerializer(told).data)


def _person(request: Request, name: str, number: int) -> people.Person:
    person = people.person(study_for_lead(request, name), pk=number)
    if person is None:
        raise Http404
    return person
