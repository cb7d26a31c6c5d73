"""Publishing a study's data: what a release would tell of people, the bundle, and what was released before.
For admins (docs/releases.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import Http404, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.auth import EXPORT_SCOPES
from annotation.api.errors import refusals
from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import Body, FileResource, Query, Resource, file_of
from annotation.models import AuditEvent, Study
from annotation.releases.request import LEAST_K, ReleaseRefused, Wanted
from annotation.releases.services import bundle
from annotation.releases.services.bundle import WHAT

TAGS = ["releases"]
_MOST_K = 10_000
_REFUSED = {422: OpenApiResponse(description="It cannot be made as asked: detail says why and what to do.")}


def _k() -> serializers.Field:
    return serializers.IntegerField(
        min_value=LEAST_K,
        max_value=_MOST_K,
        default=5,
        help_text="How many people each combination of profile values needs.",
    )


def _without_pseudonyms() -> serializers.Field:
    return serializers.BooleanField(
        default=False,
        help_text="Nobody can tell which answers are of one person, and nothing is told of people.",
    )


class ReportQuery(Query):
    k = _k()
    without_pseudonyms = _without_pseudonyms()
    withhold = serializers.CharField(
        required=False,
        max_length=2000,
        help_text="Fields of the profile that are told of nobody, parted by commas.",
    )


class ReleaseBody(Body):
    """What a release is to hold."""

    k = _k()
    withhold = serializers.ListField(
        child=serializers.CharField(max_length=80),
        default=list,
        max_length=100,
        help_text="Fields of the profile that are told of nobody.",
    )
    without_pseudonyms = _without_pseudonyms()
    with_text = serializers.BooleanField(
        default=False, help_text="With what people wrote, screened. Read the texts all the same."
    )
    images = serializers.BooleanField(default=False, help_text="With the files of the images.")
    licence = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="SPDX identifier, or any words."
    )
    citation = serializers.CharField(
        max_length=500, default="", allow_blank=True, help_text="How the data are to be cited."
    )


class FieldReportSerializer(serializers.Serializer):
    """What becomes of one field of the profile."""

    name = serializers.CharField()
    level = serializers.IntegerField(
        help_text="At which everybody's value is told: 0 as it was chosen, each wider than the one before."
    )
    levels = serializers.IntegerField(help_text="The last of them.")
    told = serializers.IntegerField(help_text="Of how many people it is told.")
    own_words = serializers.IntegerField(help_text="How many said it in their own words, never told.")
    rare = serializers.IntegerField(help_text="Of how many it is withheld so that nobody stands out.")
    withheld = serializers.BooleanField()


class LinkageSerializer(serializers.Serializer):
    """What follows of withheld strata from who judged the same unit."""

    hidden = serializers.IntegerField(
        help_text="People who judged units with reserved places without all of that being told of them."
    )
    found = serializers.IntegerField(help_text="Of how many of them, at least, it can be worked out.")
    determined = serializers.BooleanField(
        help_text="Whether, of units of one design, it can be worked out of all who judged them."
    )


class ReportSerializer(serializers.Serializer):
    """What a release would tell of people."""

    people = serializers.IntegerField()
    responses = serializers.IntegerField()
    profile = FieldReportSerializer(many=True)
    unpermitted = serializers.DictField(
        child=serializers.IntegerField(), help_text="Field -> people who do not let it be published."
    )
    strata_told = serializers.BooleanField(help_text="Whether it is told for whom places were reserved.")
    smallest = serializers.IntegerField(
        allow_null=True,
        help_text="People of the smallest combination of values, blanks among them; null: nothing is told.",
    )
    strata_worked_out = LinkageSerializer()
    earlier = serializers.IntegerField(help_text="How often the study was released before.")


class ReleasedSerializer(serializers.Serializer):
    """A release that was made. Its file is not kept here: a bundle can be made once, by its own key."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    by = serializers.CharField(
        source="by.username", allow_null=True, default=None, help_text="Whose account; null: a command."
    )
    k = serializers.IntegerField(source="details.k")
    texts = serializers.BooleanField(source="details.texts")
    images = serializers.BooleanField(source="details.images")
    withheld = serializers.ListField(child=serializers.CharField(), source="details.withheld")
    annotators = serializers.IntegerField(source="details.annotators")
    responses = serializers.IntegerField(source="details.responses")
    judgements = serializers.IntegerField(source="details.judgements")
    checksum = serializers.CharField(
        source="details.checksum", help_text="SHA-256 of the bundle's file of checksums."
    )


ReleasesQuery = list_query("Releases", orders={"at": "at", "id": "pk"}, default="-at")


class Releases(Resource):
    """The releases that were made of a study."""

    scopes: ClassVar = EXPORT_SCOPES

    @extend_schema(
        operation_id="releases_list",
        parameters=[ReleasesQuery],
        responses=page_serializer(ReleasedSerializer),
        tags=TAGS,
    )
    def get(self, request: Request, name: str) -> Response:
        made = AuditEvent.objects.filter(study=_study(request, name), what=WHAT).select_related("by")
        query = self.query(ReleasesQuery)
        return page(request, made, query=query, kind=ReleasesQuery, row=ReleasedSerializer)


class Report(Resource):
    """What a release would tell of people. Nothing is taken out."""

    scopes: ClassVar = EXPORT_SCOPES

    @extend_schema(
        operation_id="releases_report",
        parameters=[ReportQuery],
        responses={200: ReportSerializer, **_REFUSED},
        tags=TAGS,
    )
    def get(self, request: Request, name: str) -> Response:
        study = _study(request, name)
        asked = self.query(ReportQuery)
        named = (each.strip() for each in asked.get("withhold", "").split(","))
        wanted = Wanted(
            k=asked["k"],
            withhold=tuple(each for each in named if each),
            without_pseudonyms=asked["without_pseudonyms"],
        )
        with refusals(ReleaseRefused, status=422):
            found = bundle.preview(study=study, wanted=wanted)
        said = {
            "people": len(found.people),
            "responses": found.responses,
            "profile": found.people.coarsened.report,
            "unpermitted": found.people.unpermitted,
            "strata_told": found.people.strata_told,
            "smallest": found.people.smallest(),
            "strata_worked_out": found.people.linkage,
            "earlier": found.earlier,
        }
        return Response(ReportSerializer(said).data)


class Release(FileResource):
    """A release."""

    scopes: ClassVar = EXPORT_SCOPES

    @extend_schema(
        operation_id="releases_create",
        request=ReleaseBody,
        responses={**file_of("application/zip"), **_REFUSED},
        tags=TAGS,
    )
    def post(self, request: Request, name: str) -> StreamingHttpResponse:
        """Make a release: a zip archive with the data, their card and checksums. It is noted in the audit
        trail. No two are alike: each has pseudonyms of its own."""
        study = _study(request, name)
        asked: Mapping[str, Any] = self.body(ReleaseBody)
        wanted = Wanted(**{**asked, "withhold": tuple(asked["withhold"])})
        with refusals(ReleaseRefused, status=422):
            archive = bundle.stream_zip(study=study, by=request.user, wanted=wanted)
        return StreamingHttpResponse(
            archive,
            content_type="application/zip",
            headers={"Content-Disposition": f'attachment; filename="{study.name}-release.zip"'},
        )


def _study(request: Request, name: str) -> Study:
    study = get_object_or_404(Study, name=name)
    if not policies.may_release(request.user, study):
        raise Http404
    return study
