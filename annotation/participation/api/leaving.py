"""Stopping and withdrawing, for front ends of one's own. Only the person behind the account decides: send
these requests only after they said so."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Refused
from annotation.api.resource import Body
from annotation.assignment import queries
from annotation.assignment.queries import Membership
from annotation.models import EnrolmentStatus, StudyStatus
from annotation.participation.constants import ENDED_STATUSES
from annotation.participation.enrolment_resource import TAGS, AnnotatorResource
from annotation.participation.queries import annotator_pages
from annotation.participation.services import crowd, withdrawals


class OwnEnrolmentSerializer(serializers.Serializer):
    """This account's enrolment in a study."""

    study = serializers.SlugField()
    status = serializers.ChoiceField(choices=EnrolmentStatus.choices)
    agreed = serializers.BooleanField(help_text="Whether they agreed to the current consent text.")
    answers = serializers.IntegerField(help_text="How many answers they gave, without withdrawn ones.")
    done = serializers.BooleanField(help_text="Whether nothing is left for them.")
    completion_code = serializers.CharField(help_text="For a crowd platform, once they are finished.")
    completion_url = serializers.CharField(help_text="Back to the platform, once they are finished.")


class WithdrawBody(Body):
    """Confirmation: withdrawing cannot be undone."""

    sure = serializers.BooleanField(help_text="true: the person was asked twice.")


class OwnEnrolment(AnnotatorResource):
    """This account's enrolment in a study, also after it has ended."""

    @extend_schema(operation_id="part_read", responses=OwnEnrolmentSerializer, tags=TAGS)
    def get(self, request: Request, name: str) -> Response:
        return _enrolment_response(request, name)


class Stop(AnnotatorResource):
    """Stop taking part and keep the answers."""

    @extend_schema(operation_id="part_stop", request=None, responses=OwnEnrolmentSerializer, tags=TAGS)
    def post(self, request: Request, name: str) -> Response:
        """End the participation. The answers stay; items in progress go to others."""
        enrolment = _membership(request, name).enrolment
        withdrawals.stop(annotator=enrolment.annotator, study=enrolment.study)
        return _enrolment_response(request, name)


class ComeBack(AnnotatorResource):
    """Take part again after having stopped."""

    @extend_schema(operation_id="part_come_back", request=None, responses=OwnEnrolmentSerializer, tags=TAGS)
    def post(self, request: Request, name: str) -> Response:
        """Let somebody who had stopped take part again. Changes nothing for anybody who had not stopped."""
        enrolment = _membership(request, name).enrolment
        withdrawals.come_back(annotator=enrolment.annotator, study=enrolment.study)
        return _enrolment_response(request, name)


class Withdraw(AnnotatorResource):
    """Withdraw all answers in a study."""

    @extend_schema(
        operation_id="part_withdraw", request=WithdrawBody, responses=OwnEnrolmentSerializer, tags=TAGS
    )
    def post(self, request: Request, name: str) -> Response:
        """Take the person's answers out of the data, for good. Idempotent."""
        enrolment = _membership(request, name).enrolment
        if not self.body(WithdrawBody)["sure"]:
            raise Refused("sure: withdrawing cannot be undone. Ask the person, and send true.")
        withdrawals.withdraw(annotator=enrolment.annotator, study=enrolment.study, by=None)
        return _enrolment_response(request, name)


def _membership(request: Request, name: str) -> Membership:
    """The account's membership in any state of the study and of the enrolment, else 404."""
    membership = queries.membership(user=request.user, study_name=name)
    if membership is None:
        raise Http404
    return membership


def _enrolment_response(request: Request, name: str) -> Response:
    membership = _membership(request, name)
    enrolment = membership.enrolment
    ended = enrolment.status in ENDED_STATUSES
    done = not ended and membership.consented and crowd.is_done(enrolment=enrolment)
    # The completion code is for finished work, or work that cannot be finished.
    over = done or ended or enrolment.study.status != StudyStatus.OPEN
    withdrawn = enrolment.status == EnrolmentStatus.WITHDRAWN
    completion = crowd.completion(enrolment=enrolment) if over and not withdrawn else None
    data = {
        "study": enrolment.study.name,
        "status": enrolment.status,
        "agreed": membership.consented,
        "answers": annotator_pages.answer_count(enrolment=enrolment),
        "done": done,
        "completion_code": completion.code if completion else "",
        "completion_url": completion.url if completion else "",
    }
    return Response(OwnEnrolmentSerializer(data).data)
