"""The voluntary profile, for front ends of one's own. Send only what the person behind the account said."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import get_language
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Conflict, Refused
from annotation.api.resource import Body
from annotation.assignment.constants import ENDED_STATUSES
from annotation.models import Study
from annotation.participation import profile_fields
from annotation.participation.enrolment_resource import (
    AnnotatorResource,
    consent_required,
    operation,
    require_membership,
)
from annotation.participation.forms import ProfileForm
from annotation.participation.queries import enrolments
from annotation.participation.services import annotators

_MAX_LENGTH = 200


class ChoiceSerializer(serializers.Serializer):
    """A choice of a question."""

    value = serializers.CharField()
    label = serializers.CharField()


class QuestionSerializer(serializers.Serializer):
    """A question of the profile and its answer. All questions are voluntary."""

    field = serializers.CharField(source="question.name")
    label = serializers.CharField(source="question.label", help_text="The question to show.")
    language = serializers.CharField(
        help_text="The language of label and choices. A study's own question may not be translated."
    )
    hint = serializers.CharField(source="question.hint")
    decides = serializers.BooleanField(
        source="question.decides", help_text="Whether the answer can decide which items they get: tell them."
    )
    choices = ChoiceSerializer(many=True, help_text="Empty: own words only.")
    choice = serializers.CharField(help_text="One of the choices; empty: prefers not to say.")
    own_words = serializers.CharField()
    may_publish = serializers.BooleanField(help_text="Whether the answer may be published.")


class ProfileSerializer(serializers.Serializer):
    """The profile: questions and answers."""

    questions = QuestionSerializer(many=True)


class ProfileAnswerBody(Body):
    """The answer to one question."""

    field = serializers.CharField(max_length=80, help_text="The field of the question.")
    choice = serializers.CharField(
        max_length=_MAX_LENGTH, default="", allow_blank=True, help_text="One of the choices."
    )
    own_words = serializers.CharField(max_length=_MAX_LENGTH, default="", allow_blank=True)
    may_publish = serializers.BooleanField(
        default=False, help_text="true only if the person allowed it for this question."
    )


class ProfileBody(Body):
    """The whole profile. An answer that is left out is deleted."""

    answers = serializers.ListField(child=ProfileAnswerBody(), max_length=100)


class OwnProfile(AnnotatorResource):
    """The profile in all studies of this account."""

    @operation(operation_id="own_profile_read", responses=ProfileSerializer)
    def get(self, request: Request) -> Response:
        return Response(ProfileSerializer(_profile(request, None)).data)

    @operation(operation_id="own_profile_set", request=ProfileBody, responses=ProfileSerializer)
    def put(self, request: Request) -> Response:
        """Save the profile. Items in progress are released if the answers decide which items they get."""
        _save(request, None, self.body(ProfileBody))
        return self.get(request)


_PROFILE = {
    200: ProfileSerializer,
    409: OpenApiResponse(description="They have left the study or are blocked."),
}


class StudyProfile(AnnotatorResource):
    """The profile for one study, with the study's own questions."""

    @operation(operation_id="study_profile_read", responses=_PROFILE)
    def get(self, request: Request, name: str) -> Response:
        return Response(ProfileSerializer(_profile(request, _active_study(request, name))).data)

    @operation(operation_id="study_profile_set", request=ProfileBody, responses=_PROFILE)
    def put(self, request: Request, name: str) -> Response:
        """Save the profile. Items in progress are released if the answers decide which items they get."""
        _save(request, _active_study(request, name), self.body(ProfileBody))
        return self.get(request, name)


def _active_study(request: Request, name: str) -> Study:
    """The study, if the account has consented and still takes part."""
    membership = require_membership(request, name)
    if membership.enrolment.status in ENDED_STATUSES:
        raise Conflict("They have left the study or are blocked.", state=membership.enrolment.status)
    if not membership.consented:
        raise consent_required(name)
    return membership.enrolment.study


def _profile(request: Request, study: Study | None) -> dict[str, Any]:
    questions = enrolments.profile_questions(user=request.user, study=study, language=get_language() or "")
    answers = ProfileForm.initial_from(enrolments.profile_answers(user=request.user), questions=questions)
    return {"questions": [_question(each, answers) for each in questions]}


def _question(question: profile_fields.Question, answers: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "question": question,
        "language": question.language or get_language() or "",
        "choices": [{"value": value, "label": label} for value, label in question.choices],
        "choice": answers.get(question.name, ""),
        "own_words": answers.get(f"{question.name}_own", ""),
        "may_publish": answers.get(f"{question.name}_publish", False),
    }


def _save(request: Request, study: Study | None, body: Mapping[str, Any]) -> None:
    """Validate the answers with the page's form, and save them."""
    questions = enrolments.profile_questions(user=request.user, study=study)
    by_name = {question.name: question for question in questions}
    form_data: dict[str, Any] = {}
    for index, answer in enumerate(body["answers"]):
        field = answer["field"]
        if field not in by_name:
            known = ", ".join(by_name)
            raise Refused(f"answers/{index}/field: There is no question '{field}'. There are: {known}.")
        if f"{field}_own" in form_data:
            raise Refused(f"answers/{index}/field: Each question is answered once.")
        form_data |= {field: answer["choice"], f"{field}_own": answer["own_words"]}
        form_data[f"{field}_publish"] = answer["may_publish"]
        choices = {value for value, _label in by_name[field].choices}
        if answer["choice"] and answer["choice"] not in choices:
            known = ", ".join(sorted(choices)) or "none: send own_words"
            raise Refused(f"answers/{index}/choice: There is no such choice. There are: {known}.")
    form = ProfileForm(form_data, questions=questions)
    if not form.is_valid():
        raise Refused(form.errors.as_text())
    annotator = annotators.annotator_for(user=request.user)
    annotators.save_profile(annotator=annotator, entries=form.entries(), own_questions=list(by_name))
