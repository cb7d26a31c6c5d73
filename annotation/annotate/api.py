"""API for other front ends: fetch items and send answers, as the annotation page does, by the same rules."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.utils.translation import get_language
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.annotate import queries
from annotation.annotate.serializers import (
    AnswerBody,
    AnswerResultSerializer,
    LastAnswersSerializer,
    NextBody,
    NextItemsSerializer,
    SkipBody,
)
from annotation.annotate.services import items, responses
from annotation.annotate.services.answer_rules import Answer, AnswerRefused
from annotation.api.errors import Conflict, NoItemsLeft, refusals
from annotation.assignment.queries import Membership
from annotation.participation.enrolment_resource import (
    STATE_MESSAGES,
    AnnotatorResource,
    consent_required,
    operation,
    require_membership,
    require_unblocked,
)
from annotation.participation.queries import enrolments

_NO_CONSENT = {
    409: OpenApiResponse(description="The person has not consented yet: `state` is no_consent."),
}
_REFUSALS = {
    **_NO_CONSENT,
    403: OpenApiResponse(description="The item was never assigned to this annotator under this key."),
    422: OpenApiResponse(description="The answer breaks a rule of the item; detail says which."),
}
_ANSWERED = {201: AnswerResultSerializer, 200: AnswerResultSerializer, **_REFUSALS}


class Next(AnnotatorResource):
    """The next items."""

    @operation(
        operation_id="work_next",
        request=NextBody,
        responses={
            200: NextItemsSerializer,
            404: OpenApiResponse(
                description="Nothing is left for them (type nothing-left), or there is no such study."
            ),
            409: OpenApiResponse(
                description="No items now; `state` says why: no_consent, paused, closed, blocked, "
                "screened_out, withdrawn or cap."
            ),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        """Up to `wanted` items, reserved for this annotator: the same ones again until they are answered or
        skipped. `held` lists the keys of all their items; `items` leaves out those that the client has."""
        body = self.body(NextBody)
        membership = require_membership(request, name)
        if membership.leads:
            raise Conflict("Leads of a study may not answer in it.", state="blocked")
        if not membership.consented:
            raise consent_required(name)
        assigned = items.next_items(enrolment=membership.enrolment, wanted=body["wanted"])
        if assigned.state == "done":
            raise NoItemsLeft(STATE_MESSAGES["done"])
        if assigned.state != "items":
            raise Conflict(STATE_MESSAGES[assigned.state], state=assigned.state)
        have: set[UUID] = set(body["have"])
        new = [item for item in assigned.items if item.client_key not in have]
        reply = {
            "held": assigned.assigned_keys,
            "items": queries.units_as_json(
                study_id=membership.enrolment.study_id,
                keys={item.unit_id: item.client_key for item in new},
                training=[item.unit_id for item in new if item.purpose == "training"],
                language=get_language() or "",
            ),
            "answered": enrolments.answered_items(enrolment=membership.enrolment),
        }
        return Response(NextItemsSerializer(reply).data)


class Answers(AnnotatorResource):
    """Answers, and the annotator's last ones."""

    @operation(operation_id="answers_last", responses={200: LastAnswersSerializer, **_NO_CONSENT})
    def get(self, request: Request, name: str) -> Response:
        """The annotator's last ten answers, each with the key for a correction."""
        membership = require_membership(request, name)
        last_answers = queries.last_answers(enrolment=membership.enrolment, language=get_language() or "")
        answers = [
            {
                **answer,
                "answers": [
                    {"option": option, **judgement} for option, judgement in answer["judgements"].items()
                ],
            }
            for answer in last_answers
        ]
        return Response(LastAnswersSerializer({"answers": answers}).data)

    @operation(operation_id="answers_submit", request=AnswerBody, responses=_ANSWERED)
    def post(self, request: Request, name: str) -> Response:
        """Send one answer. Sending it again is the same as sending it once (200)."""
        return _store_answer(responses.submit, require_membership(request, name), self.body(AnswerBody))


class Corrections(AnnotatorResource):
    """Corrections."""

    @operation(operation_id="answers_correct", request=AnswerBody, responses=_ANSWERED)
    def post(self, request: Request, name: str) -> Response:
        """Correct an answer, under the key from `GET .../answers`. The earlier one stays as a superseded
        revision."""
        return _store_answer(responses.revise, require_unblocked(request, name), self.body(AnswerBody))


class Skips(AnnotatorResource):
    """Skips."""

    @operation(
        operation_id="answers_skip",
        request=SkipBody,
        responses={204: OpenApiResponse(description="The item goes to somebody else."), **_REFUSALS},
    )
    def post(self, request: Request, name: str) -> Response:
        """Skip an item, with a reason. It costs nothing; skipping twice is the same as once."""
        membership = require_unblocked(request, name)
        body = self.body(SkipBody)
        with _answer_refusals():
            responses.skip(enrolment=membership.enrolment, **body)
        return Response(status=204)


def _answer_refusals() -> Any:
    return refusals(AnswerRefused, forbidden=responses.NotAssigned, status=422)


def _store_answer(
    store: Callable[..., responses.Submitted], membership: Membership, body: dict[str, Any]
) -> Response:
    answers = [Answer(**judgement) for judgement in body.pop("answers")]
    with _answer_refusals():
        submitted = store(enrolment=membership.enrolment, answers=answers, **body)
    status = 200 if submitted.outcome == "repeat" else 201
    return Response(AnswerResultSerializer(submitted).data, status=status)
