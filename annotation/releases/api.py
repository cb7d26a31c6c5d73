"""Publishing a study's data, for admins: the preview, the release and earlier releases (docs/releases.md)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import refusals
from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import Body, ExportResource, FileResource, Query, file_of
from annotation.exports.packing import zip_response
from annotation.models import AuditEvent
from annotation.releases.request import MAX_K, MIN_K, ReleaseOptions, ReleaseRefused, study_to_release
from annotation.releases.services import bundle
from annotation.releases.services.bundle import AUDIT_EVENT

operation = partial(extend_schema, tags=["releases"])
_REFUSED = {
    422: OpenApiResponse(description="It cannot be made as requested: detail says why and what to do.")
}


class _DisclosureOptions(serializers.Serializer):
    k = serializers.IntegerField(
        min_value=MIN_K,
        max_value=MAX_K,
        default=5,
        help_text="The least number of people who share each combination of profile values.",
    )
    without_pseudonyms = serializers.BooleanField(
        default=False,
        help_text="Nobody can tell which answers are by the same person, and no profiles are published.",
    )


class ReportQuery(_DisclosureOptions, Query):
    withhold = serializers.CharField(
        required=False,
        max_length=2000,
        help_text="Profile fields that are published for nobody, separated by commas.",
    )


class ReleaseBody(_DisclosureOptions, Body):
    """The options of a release."""

    withhold = serializers.ListField(
        child=serializers.CharField(max_length=80),
        default=list,
        max_length=100,
        help_text="Profile fields that are published for nobody.",
    )
    with_text = serializers.BooleanField(
        default=False, help_text="Include what annotators wrote, screened. Still read the texts."
    )
    images = serializers.BooleanField(default=False, help_text="Include the image files.")
    licence = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="SPDX identifier, or free text."
    )
    citation = serializers.CharField(
        max_length=500, default="", allow_blank=True, help_text="How the data are to be cited."
    )


class FieldReportSerializer(serializers.Serializer):
    """How one profile field is published."""

    name = serializers.CharField()
    level = serializers.IntegerField(
        help_text="Level at which values are published: 0 is as chosen, each higher level is wider."
    )
    levels = serializers.IntegerField(help_text="The last level.")
    told = serializers.IntegerField(source="published", help_text="For how many people it is published.")
    own_words = serializers.IntegerField(
        help_text="How many used their own words, which are never published."
    )
    rare = serializers.IntegerField(help_text="For how many it is withheld because it could identify people.")
    withheld = serializers.BooleanField()


class LinkageSerializer(serializers.Serializer):
    """What readers can infer about withheld strata from who judged the same unit."""

    hidden = serializers.IntegerField(
        help_text="People who judged units with strata that are not all published for them."
    )
    found = serializers.IntegerField(help_text="For how many of them, at least, strata can be inferred.")
    determined = serializers.BooleanField(
        help_text="Whether strata can be inferred for all people who judged units of some design."
    )


class ReportSerializer(serializers.Serializer):
    """What a release would disclose about people."""

    people = serializers.IntegerField(source="people.__len__")
    responses = serializers.IntegerField()
    profile = FieldReportSerializer(many=True, source="people.coarsened.report")
    unpermitted = serializers.DictField(
        source="people.unpermitted",
        child=serializers.IntegerField(),
        help_text="Field -> people who do not permit its publication.",
    )
    strata_told = serializers.BooleanField(
        source="people.strata_published", help_text="Whether the strata of slots are published."
    )
    smallest = serializers.IntegerField(
        source="people.smallest_group",
        allow_null=True,
        help_text="Size of the smallest group with equal values, counting blanks; null: none is published.",
    )
    strata_worked_out = LinkageSerializer(source="people.linkage")
    earlier = serializers.IntegerField(help_text="How often the study was released before.")


class ReleasedSerializer(serializers.Serializer):
    """A release that was made. Neither its file nor its key is stored, so it cannot be made again."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    by = serializers.CharField(
        source="by.username", allow_null=True, default=None, help_text="The account; null: a command."
    )
    k = serializers.IntegerField(source="details.k")
    texts = serializers.BooleanField(source="details.texts")
    images = serializers.BooleanField(source="details.images")
    withheld = serializers.ListField(child=serializers.CharField(), source="details.withheld")
    annotators = serializers.IntegerField(source="details.annotators")
    responses = serializers.IntegerField(source="details.responses")
    judgements = serializers.IntegerField(source="details.judgements")
    checksum = serializers.CharField(
        source="details.checksum", help_text="SHA-256 of the release's file of checksums."
    )


ReleasesQuery = list_query("Releases", orders={"at": "at", "id": "pk"}, default="-at")


class Releases(ExportResource):
    """The releases that were made of a study."""

    @documents_list("releases_list", query=ReleasesQuery, row=ReleasedSerializer, tag="releases")
    def get(self, request: Request, name: str) -> Response:
        made = AuditEvent.objects.filter(
            study=study_to_release(request.user, name), what=AUDIT_EVENT
        ).select_related("by")
        return filtered_page(self, made, kind=ReleasesQuery, row=ReleasedSerializer)


class Report(ExportResource):
    """What a release would disclose about people. Nothing is released."""

    @operation(
        operation_id="releases_report",
        parameters=[ReportQuery],
        responses={200: ReportSerializer, **_REFUSED},
    )
    def get(self, request: Request, name: str) -> Response:
        study = study_to_release(request.user, name)
        params = dict(self.query(ReportQuery))
        withhold = (each.strip() for each in params.pop("withhold", "").split(","))
        options = ReleaseOptions(**params, withhold=tuple(each for each in withhold if each))
        with refusals(ReleaseRefused, status=422):
            preview = bundle.preview(study=study, options=options)
        return Response(ReportSerializer(preview).data)


class Release(ExportResource, FileResource):
    """A release."""

    @operation(
        operation_id="releases_create",
        request=ReleaseBody,
        responses={**file_of("application/zip"), **_REFUSED},
    )
    def post(self, request: Request, name: str) -> StreamingHttpResponse:
        """Make a release: a zip archive with the data, a data card and checksums. It is recorded in the audit
        trail. Each release has its own pseudonyms."""
        study = study_to_release(request.user, name)
        body: Mapping[str, Any] = self.body(ReleaseBody)
        options = ReleaseOptions(**{**body, "withhold": tuple(body["withhold"])})
        with refusals(ReleaseRefused, status=422):
            archive = bundle.stream_zip(study=study, by=request.user, options=options)
        return zip_response(archive, f"{study.name}-release.zip")
