"""The annotators in a study, under pseudonyms, and a lead's actions on them."""

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

    @extend_schema(
        operation_id="people_list",
        parameters=[PeopleQuery],
        responses=page_serializer(PersonSerializer),
        tags=["people"],
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_for_lead(request, name)
        query = self.query(PeopleQuery)
        rows = people.current_enrolments(study)
        if "status" in query:
            rows = rows.filter(status=query["status"])
        return page(
            request,
            rows,
            query=query,
            kind=PeopleQuery,
            row=PersonSerializer,
            prepare=lambda found: people.person_rows(study, found),
        )


class OnePerson(Resource):
    """One annotator in a study."""

    @extend_schema(operation_id="people_read", responses=PersonSerializer, tags=["people"])
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(PersonSerializer(_person(request, name, number)).data)


_ACTION_RESPONSES = {200: ActionSerializer, 409: OpenApiResponse(description="They have left the study.")}


class Block(Resource):
    """Stop giving items to an annotator. Their items in progress go to others; their answers stay."""

    @extend_schema(operation_id="people_block", request=None, responses=_ACTION_RESPONSES, tags=["people"])
    def post(self, request: Request, name: str, number: int) -> Response:
        return _act(request, name, number, enrolments.block)


class Unblock(Resource):
    """Let a blocked annotator continue where they were."""

    @extend_schema(operation_id="people_unblock", request=None, responses=_ACTION_RESPONSES, tags=["people"])
    def post(self, request: Request, name: str, number: int) -> Response:
        return _act(request, name, number, enrolments.unblock)


class Release(Resource):
    """Return an annotator's items in progress to the queue. An answer that still arrives is saved."""

    @extend_schema(operation_id="people_release", request=None, responses=_ACTION_RESPONSES, tags=["people"])
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
