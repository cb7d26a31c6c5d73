"""Which studies somebody can take part in, and what they agree to before they see the first item."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import Conflict, refusals
from annotation.api.pages import list_query, page, page_serializer
from annotation.models import EnrolmentStatus, StudyStatus
from annotation.participation.enrolment_resource import TAGS, Working, place
from annotation.participation.queries import care
from annotation.participation.serializers import (
    AgreeBody,
    ConsentSerializer,
    OwnStudySerializer,
    languages_here,
    text_here,
)
from annotation.participation.services import annotators

_ENDED = (
    EnrolmentStatus.BLOCKED,
    EnrolmentStatus.FINISHED,
    EnrolmentStatus.SCREENED_OUT,
    EnrolmentStatus.WITHDRAWN,
)

OwnStudiesQuery = list_query("OwnStudies", orders={"title": "title", "name": "name"}, default="title")


class OwnStudies(Working):
    """The studies that this account can take part in, or does."""

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


class ConsentView(Working):
    """What somebody agrees to before they see the first item."""

    @extend_schema(operation_id="consent_read", responses=ConsentSerializer, tags=TAGS)
    def get(self, request: Request, name: str) -> Response:
        """The text to be shown, in every language that it is written in, with its content warning."""
        study, seat = place(request, name)
        told = {
            "study": study.name,
            "title": text_here(study, "title").text,
            "description": text_here(study, "description").text,
            "languages": languages_here(study, "title", "description"),
            "agreed": seat is not None and seat.consented,
            "texts": care.consent_texts(study=study),
        }
        return Response(ConsentSerializer(told).data)

    @extend_schema(
        operation_id="consent_give",
        request=AgreeBody,
        responses={
            200: ConsentSerializer,
            409: OpenApiResponse(description="The text was replaced meanwhile, or nobody can take part now."),
        },
        tags=TAGS,
    )
    def post(self, request: Request, name: str) -> Response:
        """Record that the person behind this account has read the text and agrees; it enrols them. Only
        they can: a program sends this when they said so."""
        study, seat = place(request, name)
        body = self.body(AgreeBody)
        if study.status != StudyStatus.OPEN or (seat is not None and seat.enrolment.status in _ENDED):
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
            204: OpenApiResponse(description="Nothing of them is kept."),
            409: OpenApiResponse(description="They have agreed."),
        },
        tags=TAGS,
    )
    def delete(self, request: Request, name: str) -> Response:
        """Record that somebody who was let in does not agree: they are forgotten, with an account that was
        made for this visit alone. Who has agreed before withdraws instead."""
        _study, seat = place(request, name)
        if seat is not None and seat.consented:
            raise Conflict("They have agreed to take part. They can stop, or withdraw.", state="agreed")
        if seat is not None:
            annotators.decline(annotator=seat.enrolment.annotator, study=seat.enrolment.study)
        return Response(status=204)
