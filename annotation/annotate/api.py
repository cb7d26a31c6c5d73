"""For front ends of one's own: fetching items and sending answers, as the page at work does.

The rules are those of the page, since the services are: an answer is kept once however often it is sent,
under the key that came with its item, and in any state of the study.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.utils.translation import get_language
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.annotate import queries
from annotation.annotate.serializers import (
    AnswerBody,
    LastAnswersSerializer,
    NextBody,
    SkipBody,
    TakenSerializer,
    WorkSerializer,
    as_answer,
)
from annotation.annotate.services import items, responses
from annotation.api.errors import Conflict, NoItemsLeft, refusals
from annotation.assignment.queries import Seat
from annotation.participation.enrolment_resource import TAGS, WORDS, Working, no_consent, seat_of, unblocked
from annotation.participation.queries import enrolments

_NO_PART = {
    409: OpenApiResponse(description="The person has no part in the study yet: `state` is no_consent."),
}
_REFUSED = {
    **_NO_PART,
    403: OpenApiResponse(description="The item was never given to this annotator under this key."),
    422: OpenApiResponse(description="This cannot be an answer to the item; detail says why."),
}


class Next(Working):
    """What to show next."""

    @extend_schema(
        operation_id="work_next",
        request=NextBody,
        responses={
            200: WorkSerializer,
            404: OpenApiResponse(
                description="Nothing is left for them (type nothing-left), or there is no such study."
            ),
            409: OpenApiResponse(
                description="No items now; `state` says why: no_consent, paused, closed, blocked, "
                "screened_out, withdrawn or cap."
            ),
        },
        tags=TAGS,
    )
    def post(self, request: Request, name: str) -> Response:
        """Up to `wanted` items, reserved for this annotator: the same ones again until they are answered or
        skipped. `held` names everything in their hands; `items` leaves out what the client has."""
        body = self.body(NextBody)
        seat = seat_of(request, name)
        if seat.leads:
            raise Conflict("Who leads a study may not answer in it.", state="blocked")
        if not seat.consented:
            raise no_consent(name)
        given = items.next_items(enrolment=seat.enrolment, wanted=body["wanted"])
        if given.state == "done":
            raise NoItemsLeft(WORDS["done"])
        if given.state != "items":
            raise Conflict(WORDS[given.state], state=given.state)
        have: set[UUID] = set(body["have"])
        fresh = [item for item in given.items if item.client_key not in have]
        told = {
            "held": given.held,
            "items": queries.described(
                study_id=seat.enrolment.study_id,
                keys={item.unit_id: item.client_key for item in fresh},
                training=[item.unit_id for item in fresh if item.purpose == "training"],
                language=get_language() or "",
            ),
            "answered": enrolments.rated(enrolment=seat.enrolment),
        }
        return Response(WorkSerializer(told).data)


class Answers(Working):
    """Answers, and one's own last ones."""

    @extend_schema(operation_id="answers_last", responses={200: LastAnswersSerializer, **_NO_PART}, tags=TAGS)
    def get(self, request: Request, name: str) -> Response:
        """The annotator's own last ten answers, each with the key under which a correction is sent."""
        seat = seat_of(request, name)
        own = queries.last_answers(enrolment=seat.enrolment)
        keys = {
            answer.response.unit_id: responses.correction_key(
                enrolment=seat.enrolment, earlier=answer.response
            )
            for answer in own
        }
        shown = queries.described(study_id=seat.enrolment.study_id, keys=keys, language=get_language() or "")
        answers = [
            {
                "item": item,
                "submitted_at": answer.response.submitted_at,
                "answers": [{"option": option, **said} for option, said in answer.said.items()],
            }
            for answer, item in zip(own, shown, strict=True)
        ]
        return Response(LastAnswersSerializer({"answers": answers}).data)

    @extend_schema(
        operation_id="answers_submit",
        request=AnswerBody,
        responses={201: TakenSerializer, 200: TakenSerializer, **_REFUSED},
        tags=TAGS,
    )
    def post(self, request: Request, name: str) -> Response:
        """Send one answer. Sending it again is the same as sending it once (200)."""
        return _taken(responses.submit, seat_of(request, name), self.body(AnswerBody))


class Corrections(Working):
    """Changes of mind."""

    @extend_schema(
        operation_id="answers_correct",
        request=AnswerBody,
        responses={201: TakenSerializer, 200: TakenSerializer, **_REFUSED},
        tags=TAGS,
    )
    def post(self, request: Request, name: str) -> Response:
        """Change an answer of one's own, under the key that `GET .../answers` gives; the earlier one stays
        as a superseded revision."""
        return _taken(responses.revise, unblocked(request, name), self.body(AnswerBody))


class Skips(Working):
    """Passing over an item."""

    @extend_schema(
        operation_id="answers_skip",
        request=SkipBody,
        responses={204: OpenApiResponse(description="It goes to somebody else."), **_REFUSED},
        tags=TAGS,
    )
    def post(self, request: Request, name: str) -> Response:
        """Pass over an item, with a reason. It costs nothing; skipping twice is the same as once."""
        seat = unblocked(request, name)
        body = self.body(SkipBody)
        with _answer_refusals():
            responses.skip(
                enrolment=seat.enrolment,
                unit_id=body["unit"],
                client_key=body["client_key"],
                reason=body["reason"],
                note=body["note"],
            )
        return Response(status=204)


def _answer_refusals() -> Any:
    return refusals(responses.AnswerRefused, forbidden=responses.NotYours, status=422)


def _taken(take: Callable[..., responses.Submitted], seat: Seat, body: dict[str, Any]) -> Response:
    with _answer_refusals():
        submitted = take(
            enrolment=seat.enrolment,
            unit_id=body["unit"],
            client_key=body["client_key"],
            answers=[as_answer(said) for said in body["answers"]],
            started_at=body["started_at"],
            active_ms=body["active_ms"],
            idle_ms=body["idle_ms"],
            language=body["language"],
        )
    told = {
        # That something was a check is not told: nobody learns which items are gold.
        "outcome": "kept" if submitted.outcome in {"filled", "check", "revised"} else submitted.outcome,
        "correct": submitted.correct,
        "feedback": submitted.feedback,
    }
    return Response(TakenSerializer(told).data, status=200 if submitted.outcome == "repeat" else 201)
