"""Own studies, for other front ends: consent, stopping, withdrawing. Only the person behind the account
decides: send these requests only after they said so."""

from django.http import Http404
from django.utils.translation import get_language
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import Conflict, Refused, refusals
from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import Body
from annotation.assignment import queries
from annotation.assignment.constants import ENDED_STATUSES
from annotation.assignment.services import slots
from annotation.core.translation import LocalizedText, translated_text
from annotation.models import EnrolmentStatus, Study, StudyStatus
from annotation.participation.enrolment_resource import AnnotatorResource, find_membership, operation
from annotation.participation.queries import enrolments
from annotation.participation.services import annotators, crowd, withdrawals
from annotation.studies.study_file.texts import TRANSLATABLE_TEXTS


class TranslatedField(serializers.CharField):
    """A text of a study in the requested language."""

    def get_attribute(self, study: Study) -> str:
        return localized_text(study, self.field_name).text


class OwnStudySerializer(serializers.Serializer):
    """A study, as somebody who may take part in it sees it."""

    name = serializers.SlugField()
    title = TranslatedField(read_only=True, help_text="In the requested language, if it is translated.")
    description = TranslatedField(read_only=True, help_text="In the same language as the title.")
    status = serializers.ChoiceField(choices=StudyStatus.choices)
    contact = serializers.CharField(help_text="Whom participants can write to.")
    support_text = TranslatedField(
        read_only=True,
        help_text="Where people who are upset find help. Show it always. Translated like the title.",
    )
    languages = serializers.SerializerMethodField(
        help_text="The languages of title, description and support_text."
    )
    blur_images = serializers.BooleanField(help_text="Blur images until they are revealed.")
    break_after = serializers.IntegerField(help_text="Minutes after which a break is offered; 0: never.")

    def get_languages(self, study: Study) -> dict[str, str]:
        return text_languages(study, *TRANSLATABLE_TEXTS)


class ConsentTextSerializer(serializers.Serializer):
    """The consent text in one language."""

    id = serializers.IntegerField(help_text="Send this id to agree.")
    version = serializers.IntegerField()
    language = serializers.CharField()
    text = serializers.CharField()
    content_warning = serializers.CharField(help_text="Show it before the text.")


class ConsentSerializer(serializers.Serializer):
    """What somebody agrees to by taking part."""

    study = serializers.SlugField()
    title = serializers.CharField()
    description = serializers.CharField()
    languages = serializers.DictField(
        child=serializers.CharField(), help_text="The languages of title and description."
    )
    agreed = serializers.BooleanField(help_text="Whether this account agreed to this version.")
    texts = ConsentTextSerializer(many=True)


class AgreeBody(Body):
    """Consent to a study."""

    text = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, help_text="The `id` of the text that they read."
    )


def localized_text(study: Study, field: str) -> LocalizedText:
    """A text of the study in the requested language, or as it was written if it is not translated."""
    return translated_text(study, field, get_language() or "")


def text_languages(study: Study, *fields: str) -> dict[str, str]:
    """Field -> the language in which `localized_text` returns it."""
    return {field: localized_text(study, field).language for field in fields}


OwnStudiesQuery = list_query("OwnStudies", orders={"title": "title", "name": "name"}, default="title")


class OwnStudies(AnnotatorResource):
    """The studies that this account takes part in or can take part in."""

    @documents_list("own_studies_list", query=OwnStudiesQuery, row=OwnStudySerializer, tag="work")
    def get(self, request: Request) -> Response:
        rows = policies.studies_open_to(request.user)
        return filtered_page(self, rows, kind=OwnStudiesQuery, row=OwnStudySerializer)


class ConsentView(AnnotatorResource):
    """Consent, which comes before the first item."""

    @operation(operation_id="consent_read", responses=ConsentSerializer)
    def get(self, request: Request, name: str) -> Response:
        """The consent text in every language that it is written in, with its content warning."""
        study, membership = find_membership(request, name)
        data = {
            "study": study.name,
            "title": localized_text(study, "title").text,
            "description": localized_text(study, "description").text,
            "languages": text_languages(study, "title", "description"),
            "agreed": membership is not None and membership.consented,
            "texts": enrolments.consent_texts(study=study),
        }
        return Response(ConsentSerializer(data).data)

    @operation(
        operation_id="consent_give",
        request=AgreeBody,
        responses={
            200: ConsentSerializer,
            409: OpenApiResponse(description="The text was replaced, or nobody can take part now."),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        """Record that the person has read the text and agrees, and enrol them. Send this only after they said
        so themselves."""
        study, membership = find_membership(request, name)
        body = self.body(AgreeBody)
        if study.status != StudyStatus.OPEN or (
            membership is not None and membership.enrolment.status in ENDED_STATUSES
        ):
            state = "closed" if study.status != StudyStatus.OPEN else "blocked"
            raise Conflict("Nobody can agree to take part in this study now.", state=state)
        if not policies.may_annotate(request.user, study):
            raise Http404
        with refusals(annotators.ConsentRefused):
            annotators.agree(user=request.user, study=study, text_id=body["text"])
        return self.get(request, name)

    @operation(
        operation_id="consent_decline",
        responses={
            204: OpenApiResponse(description="Nothing about them is kept."),
            409: OpenApiResponse(description="They have agreed."),
        },
    )
    def delete(self, request: Request, name: str) -> Response:
        """Record that somebody does not agree. Their enrolment is deleted, and their account too if it was
        created for this visit alone. Somebody who has agreed before withdraws instead."""
        _study, membership = find_membership(request, name)
        if membership is not None and membership.consented:
            raise Conflict("They have agreed to take part. They can stop, or withdraw.", state="agreed")
        if membership is not None:
            annotators.decline(annotator=membership.enrolment.annotator, study=membership.enrolment.study)
        return Response(status=204)


class OwnEnrolmentSerializer(serializers.Serializer):
    """This account's enrolment in a study."""

    study = serializers.SlugField()
    status = serializers.ChoiceField(choices=EnrolmentStatus.choices)
    agreed = serializers.BooleanField(help_text="Whether they agreed to the current consent text.")
    answers = serializers.IntegerField(help_text="How many items they answered, without practice.")
    done = serializers.BooleanField(help_text="Whether nothing is left for them.")
    completion_code = serializers.CharField(help_text="For a crowd platform, once they are finished.")
    completion_url = serializers.CharField(help_text="Back to the platform, once they are finished.")


class WithdrawBody(Body):
    """Confirmation: withdrawing cannot be undone."""

    sure = serializers.BooleanField(help_text="true: the person was asked twice.")


class OwnEnrolment(AnnotatorResource):
    """This account's enrolment in a study, also after it has ended."""

    @operation(operation_id="part_read", responses=OwnEnrolmentSerializer)
    def get(self, request: Request, name: str) -> Response:
        return _enrolment_response(request, name)


class Stop(AnnotatorResource):
    """Stop taking part and keep the answers."""

    @operation(operation_id="part_stop", request=None, responses=OwnEnrolmentSerializer)
    def post(self, request: Request, name: str) -> Response:
        """End the participation. The answers stay; items in progress go to others."""
        enrolment = queries.membership_or_404(user=request.user, study_name=name).enrolment
        withdrawals.stop(annotator=enrolment.annotator, study=enrolment.study)
        return _enrolment_response(request, name)


class ComeBack(AnnotatorResource):
    """Take part again after having stopped."""

    @operation(operation_id="part_come_back", request=None, responses=OwnEnrolmentSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Let somebody who had stopped take part again. Changes nothing for anybody who had not stopped."""
        enrolment = queries.membership_or_404(user=request.user, study_name=name).enrolment
        withdrawals.come_back(annotator=enrolment.annotator, study=enrolment.study)
        return _enrolment_response(request, name)


class Withdraw(AnnotatorResource):
    """Withdraw all answers in a study."""

    @operation(operation_id="part_withdraw", request=WithdrawBody, responses=OwnEnrolmentSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Take the person's answers out of the data, for good. Idempotent."""
        enrolment = queries.membership_or_404(user=request.user, study_name=name).enrolment
        if not self.body(WithdrawBody)["sure"]:
            raise Refused("sure: withdrawing cannot be undone. Ask the person, and send true.")
        withdrawals.withdraw(annotator=enrolment.annotator, study=enrolment.study, by=None)
        return _enrolment_response(request, name)


def _enrolment_response(request: Request, name: str) -> Response:
    membership = queries.membership_or_404(user=request.user, study_name=name)
    enrolment = membership.enrolment
    ended = enrolment.status in ENDED_STATUSES
    done = not ended and membership.consented and slots.is_done(enrolment=enrolment)
    # The completion code is for finished work, or work that cannot be finished.
    over = done or ended or enrolment.study.status != StudyStatus.OPEN
    withdrawn = enrolment.status == EnrolmentStatus.WITHDRAWN
    completion = crowd.completion(enrolment=enrolment) if over and not withdrawn else None
    data = {
        "study": enrolment.study.name,
        "status": enrolment.status,
        "agreed": membership.consented,
        "answers": enrolments.answered_items(enrolment=enrolment),
        "done": done,
        "completion_code": completion.code if completion else "",
        "completion_url": completion.url if completion else "",
    }
    return Response(OwnEnrolmentSerializer(data).data)
