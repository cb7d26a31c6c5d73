"""What an annotator says of themselves, and how they stop or take back what they said: for front ends of
one's own. Only the person behind the account decides: a program sends these when they said so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404
from django.utils.translation import get_language
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import Conflict, Refused
from annotation.api.resource import Body
from annotation.assignment import queries
from annotation.assignment.queries import Membership
from annotation.models import EnrolmentStatus, Study, StudyStatus
from annotation.participation import profile_fields
from annotation.participation.enrolment_resource import TAGS, Working, no_consent
from annotation.participation.forms.annotator import ProfileForm
from annotation.participation.queries import care, enrolments
from annotation.participation.services import annotators, crowd, withdrawals

_LONGEST = 200
_ENDED = (
    EnrolmentStatus.BLOCKED,
    EnrolmentStatus.FINISHED,
    EnrolmentStatus.SCREENED_OUT,
    EnrolmentStatus.WITHDRAWN,
)


class ChoiceSerializer(serializers.Serializer):
    """A value that a question offers."""

    value = serializers.CharField()
    label = serializers.CharField()


class QuestionSerializer(serializers.Serializer):
    """A question of the profile with what was answered. All of them are voluntary."""

    field = serializers.CharField(source="question.name")
    label = serializers.CharField(source="question.label", help_text="What to ask.")
    language = serializers.CharField(
        help_text="In which label and choices are: a study's own question may not be translated."
    )
    hint = serializers.CharField(source="question.hint")
    decides = serializers.BooleanField(
        source="question.decides", help_text="Which items are for them can go by it: tell them so."
    )
    choices = ChoiceSerializer(many=True, help_text="None: own words only.")
    choice = serializers.CharField(help_text="One of the choices; empty: prefers not to say.")
    own_words = serializers.CharField()
    may_publish = serializers.BooleanField(help_text="Whether they let it be published.")


class ProfileSerializer(serializers.Serializer):
    """What somebody is asked of themselves."""

    questions = QuestionSerializer(many=True)


class AnswerOfProfileBody(Body):
    """The answer to one question."""

    field = serializers.CharField(max_length=80, help_text="Of the question.")
    choice = serializers.CharField(
        max_length=_LONGEST, default="", allow_blank=True, help_text="One of the choices."
    )
    own_words = serializers.CharField(max_length=_LONGEST, default="", allow_blank=True)
    may_publish = serializers.BooleanField(
        default=False, help_text="Only if the person allowed it for this question."
    )


class ProfileBody(Body):
    """The whole profile: what is left out is taken back."""

    answers = serializers.ListField(child=AnswerOfProfileBody(), max_length=100)


class OwnPartSerializer(serializers.Serializer):
    """How somebody stands in a study."""

    study = serializers.SlugField()
    status = serializers.ChoiceField(choices=EnrolmentStatus.choices)
    agreed = serializers.BooleanField(help_text="To the present text.")
    answers = serializers.IntegerField(help_text="That they gave and that are kept.")
    done = serializers.BooleanField(help_text="Nothing is left for them.")
    completion_code = serializers.CharField(help_text="For a crowd platform, once their part is over.")
    completion_url = serializers.CharField(help_text="Back to the platform, once their part is over.")


class WithdrawBody(Body):
    """It cannot be undone."""

    sure = serializers.BooleanField(help_text="true: the person was asked twice.")


_GONE = {409: OpenApiResponse(description="They have left the study, or were shut out of it.")}


class OwnProfile(Working):
    """What somebody says of themselves, in all their studies."""

    @extend_schema(operation_id="own_profile_read", responses=ProfileSerializer, tags=TAGS)
    def get(self, request: Request) -> Response:
        return Response(ProfileSerializer(_profile(request, None)).data)

    @extend_schema(
        operation_id="own_profile_set", request=ProfileBody, responses=ProfileSerializer, tags=TAGS
    )
    def put(self, request: Request) -> Response:
        """Keep what somebody says of themselves. Items in hand go back where it decides which are theirs."""
        _save(request, None, self.body(ProfileBody))
        return self.get(request)


class StudyProfile(Working):
    """The profile as one study asks for it, with its own questions."""

    @extend_schema(operation_id="study_profile_read", responses={200: ProfileSerializer, **_GONE}, tags=TAGS)
    def get(self, request: Request, name: str) -> Response:
        return Response(ProfileSerializer(_profile(request, _at_work(request, name))).data)

    @extend_schema(
        operation_id="study_profile_set",
        request=ProfileBody,
        responses={200: ProfileSerializer, **_GONE},
        tags=TAGS,
    )
    def put(self, request: Request, name: str) -> Response:
        """Keep what somebody says of themselves. Items in hand go back where it decides which are theirs."""
        _save(request, _at_work(request, name), self.body(ProfileBody))
        return self.get(request, name)


class OwnPart(Working):
    """How somebody stands in a study that they ever took part in."""

    @extend_schema(operation_id="part_read", responses=OwnPartSerializer, tags=TAGS)
    def get(self, request: Request, name: str) -> Response:
        return _part(request, name)


class Stop(Working):
    """Stopping, and keeping what was answered."""

    @extend_schema(operation_id="part_stop", request=None, responses=OwnPartSerializer, tags=TAGS)
    def post(self, request: Request, name: str) -> Response:
        """End somebody's part. What they answered stays; what they hold goes to others."""
        enrolment = _membership(request, name).enrolment
        withdrawals.stop(annotator=enrolment.annotator, study=enrolment.study)
        return _part(request, name)


class ComeBack(Working):
    """Going on after having stopped."""

    @extend_schema(operation_id="part_come_back", request=None, responses=OwnPartSerializer, tags=TAGS)
    def post(self, request: Request, name: str) -> Response:
        """Let somebody who had stopped take part again; nothing changes for anybody else."""
        enrolment = _membership(request, name).enrolment
        withdrawals.come_back(annotator=enrolment.annotator, study=enrolment.study)
        return _part(request, name)


class Withdraw(Working):
    """Taking back all that somebody said in a study."""

    @extend_schema(operation_id="part_withdraw", request=WithdrawBody, responses=OwnPartSerializer, tags=TAGS)
    def post(self, request: Request, name: str) -> Response:
        """Take somebody's answers out of the data, for good. Doing it twice is doing it once."""
        enrolment = _membership(request, name).enrolment
        if not self.body(WithdrawBody)["sure"]:
            raise Refused("sure: withdrawing cannot be undone. Ask the person, and send true.")
        withdrawals.withdraw(annotator=enrolment.annotator, study=enrolment.study, by=None)
        return _part(request, name)


def _membership(request: Request, name: str) -> Membership:
    """Their part; open to everybody who ever took part, whatever has become of them or of the study."""
    membership = queries.membership(user=request.user, study_name=name)
    if membership is None:
        raise Http404
    return membership


def _part(request: Request, name: str) -> Response:
    membership = _membership(request, name)
    enrolment = membership.enrolment
    withdrawn = enrolment.status == EnrolmentStatus.WITHDRAWN
    done = enrolment.status not in _ENDED and membership.consented and crowd.is_done(enrolment=enrolment)
    # the code is for finished work, or work that cannot be finished
    over = done or enrolment.status in _ENDED or enrolment.study.status != StudyStatus.OPEN
    completion = crowd.completion(enrolment=enrolment) if over and not withdrawn else None
    said = {
        "study": enrolment.study.name,
        "status": enrolment.status,
        "agreed": membership.consented,
        "answers": care.answers_given(enrolment=enrolment),
        "done": done,
        "completion_code": completion.code if completion else "",
        "completion_url": completion.url if completion else "",
    }
    return Response(OwnPartSerializer(said).data)


def _at_work(request: Request, name: str) -> Study:
    """The study, if the account has agreed to take part and still does."""
    membership = queries.membership(user=request.user, study_name=name)
    if membership is None:
        study = Study.objects.filter(name=name).first()
        if study is None or not policies.may_annotate(request.user, study):
            raise Http404
        raise no_consent(name)
    if membership.enrolment.status in _ENDED:
        raise Conflict("They have left the study, or were shut out of it.", state=membership.enrolment.status)
    if not membership.consented:
        raise no_consent(name)
    found: Study = membership.enrolment.study
    return found


def _profile(request: Request, study: Study | None) -> dict[str, Any]:
    questions = care.profile_questions(user=request.user, study=study, language=get_language() or "")
    said = ProfileForm.initial_from(enrolments.profile_answers(user=request.user), questions=questions)
    return {"questions": [_question(each, said) for each in questions]}


def _question(question: profile_fields.Question, said: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "question": question,
        "language": question.language or get_language() or "",
        "choices": [{"value": value, "label": label} for value, label in question.choices],
        "choice": said.get(question.name, ""),
        "own_words": said.get(f"{question.name}_own", ""),
        "may_publish": said.get(f"{question.name}_publish", False),
    }


def _save(request: Request, study: Study | None, asked: Mapping[str, Any]) -> None:
    """What the page's form takes, by the form's rules."""
    questions = care.profile_questions(user=request.user, study=study)
    names = [question.name for question in questions]
    told: dict[str, Any] = {}
    for place, answer in enumerate(asked["answers"]):
        field = answer["field"]
        if field not in names:
            there = ", ".join(names)
            raise _wrong(place, "field", f"There is no question '{field}'. There are: {there}.")
        if f"{field}_own" in told:
            raise _wrong(place, "field", "Each question is answered once.")
        told |= {field: answer["choice"], f"{field}_own": answer["own_words"]}
        told[f"{field}_publish"] = answer["may_publish"]
        offered = {value for question in questions if question.name == field for value, _ in question.choices}
        if answer["choice"] and answer["choice"] not in offered:
            listed = ", ".join(sorted(offered)) or "none: send own_words"
            raise _wrong(place, "choice", f"There is no such choice. There are: {listed}.")
    form = ProfileForm(told, questions=questions)
    if not form.is_valid():
        raise Refused(form.errors.as_text())
    annotator = annotators.annotator_for(user=request.user)
    annotators.save_profile(annotator=annotator, said=form.said(), own_questions=names)


def _wrong(place: int, key: str, message: str) -> Refused:
    return Refused(f"answers/{place}/{key}: {message}")
