"""The studies that somebody can take part in, and consent."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import Conflict, refusals
from annotation.api.pages import list_query, page, page_serializer
from annotation.models import StudyStatus
from annotation.participation.constants import ENDED_STATUSES
from annotation.participation.enrolment_resource import TAGS, AnnotatorResource, find_membership
from annotation.participation.queries import annotator_pages
from annotation.participation.serializers import (
    AgreeBody,
    ConsentSerializer,
    OwnStudySerializer,
    localized_text,
    text_languages,
)
from annotation.participation.services import annotators

OwnStudiesQuery = list_query("OwnStudies", orders={"title": "title", "name": "name"}, default="title")


class OwnStudies(AnnotatorResource):
    """The studies that this account takes part in or can take part in."""

    @extend_schema(
        operation_id="own_studies_list",
        parameters=[OwnStudiesQuery],
        responses=page_serializer(OwnStudySerializer),
        tags=TAGS,
    )
    def get(self, request: Request) -> Response:
        query = self.query(OwnStudiesQuery)
        rows = policies.studies_open_to(request.user)
        return page(request, rows, query=query, kind=OwnStudiesQuery, row=OwnStudySerializer)


class ConsentView(AnnotatorResource):
    """Consent, which comes before the first item."""

    @extend_schema(operation_id="consent_read", responses=ConsentSerializer, tags=TAGS)
    def get(self, request: Request, name: str) -> Response:
        """The consent text in every language that it is written in, with its content warning."""
        study, membership = find_membership(request, name)
        data = {
            "study": study.name,
            "title": localized_text(study, "title").text,
            "description": localized_text(study, "description").text,
            "languages": text_languages(study, "title", "description"),
            "agreed": membership is not None and membership.consented,
            "texts": annotator_pages.consent_texts(study=study),
        }
        return Response(ConsentSerializer(data).data)

    @extend_schema(
        operation_id="consent_give",
        request=AgreeBody,
        responses={
            200: ConsentSerializer,
            409: OpenApiResponse(description="The text was replaced, or nobody can take part now."),
        },
        tags=TAGS,
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
        with refusals(annotators.ConsentOutdated, annotators.HasLeft):
            annotators.agree(user=request.user, study=study, text_id=body["text"])
        return self.get(request, name)

    @extend_schema(
        operation_id="consent_decline",
        responses={
            204: OpenApiResponse(description="Nothing about them is kept."),
            409: OpenApiResponse(description="They have agreed."),
        },
        tags=TAGS,
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
