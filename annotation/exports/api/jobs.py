"""Exports that are made in the background: asked for, watched, fetched. For admins; each sees their own."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import FileResponse, Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.auth import EXPORT_SCOPES
from annotation.api.errors import Conflict, StorageUnreachable, refusals
from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import Body, FileResource, Resource, file_of
from annotation.api.study_access import study_for_export
from annotation.exports import tasks
from annotation.exports.api.exports import TAGS, filter_fields
from annotation.exports.formats.registry import FORMATS, UnknownFormat
from annotation.exports.selection import ExportRefused, Filters
from annotation.exports.services import jobs as export_jobs
from annotation.models import ExportJob, ExportState


class ExportJobSerializer(serializers.Serializer):
    """An export that is made in the background."""

    id = serializers.IntegerField()
    format = serializers.CharField()
    filters = serializers.DictField(child=serializers.CharField(), help_text="What was asked for.")
    state = serializers.ChoiceField(
        choices=ExportState.choices, help_text="claimed: a worker is at it; fetch the file when it is done."
    )
    rows = serializers.IntegerField(help_text="Judgements written so far.")
    total = serializers.IntegerField(allow_null=True, help_text="Judgements there are to write.")
    has_file = serializers.SerializerMethodField(
        help_text="Whether there is a file: it is deleted after some days, and when somebody withdraws."
    )
    size = serializers.IntegerField(allow_null=True, help_text="bytes")
    sha256 = serializers.CharField(help_text="Of the file, in hexadecimal digits; empty without one.")
    error = serializers.CharField(help_text="Why it failed, or why its file is gone.")
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_has_file(self, job: ExportJob) -> bool:
        return bool(job.file)


ExportBody: type[Body] = type(
    "ExportBody",
    (Body,),
    {
        "__doc__": "What to take, and in which shape.",
        "format": serializers.ChoiceField(
            choices=sorted(FORMATS), help_text="The shape of the files (docs/exports.md)."
        ),
        **filter_fields(),
    },
)
ExportsQuery = list_query(
    "Exports",
    orders={"id": "pk"},
    default="-id",
    state=serializers.ChoiceField(
        choices=ExportState.choices, required=False, help_text="Only exports that are so."
    ),
)


class Exports(Resource):
    """The exports of a study that this account asked for."""

    scopes: ClassVar = EXPORT_SCOPES

    @extend_schema(
        operation_id="exports_list",
        parameters=[ExportsQuery],
        responses=page_serializer(ExportJobSerializer),
        tags=TAGS,
    )
    def get(self, request: Request, name: str) -> Response:
        rows = ExportJob.objects.filter(study=study_for_export(request, name), by=request.user)
        query = self.query(ExportsQuery)
        if "state" in query:
            rows = rows.filter(state=query["state"])
        return page(request, rows, query=query, kind=ExportsQuery, row=ExportJobSerializer)

    @extend_schema(
        operation_id="exports_create",
        request=ExportBody,
        responses={
            202: ExportJobSerializer,
            422: OpenApiResponse(description="There is nothing of what is asked; detail says what there is."),
        },
        tags=TAGS,
    )
    def post(self, request: Request, name: str) -> Response:
        """Have an export made; the one there is, if the same is waiting or being made already."""
        study = study_for_export(request, name)
        asked: dict[str, Any] = dict(self.body(ExportBody))
        fmt = asked.pop("format")
        with refusals(ExportRefused, UnknownFormat, status=422):
            job = export_jobs.request(study=study, fmt=fmt, filters=Filters(**asked), by=request.user)
        tasks.ring(job)
        return Response(ExportJobSerializer(job).data, status=202)


class OneExport(Resource):
    """An export."""

    scopes: ClassVar = EXPORT_SCOPES

    @extend_schema(operation_id="exports_read", responses=ExportJobSerializer, tags=TAGS)
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(ExportJobSerializer(_job(request, name, number)).data)

    @extend_schema(
        operation_id="exports_delete",
        responses={204: OpenApiResponse(description="It is deleted with its file.")},
        tags=TAGS,
    )
    def delete(self, request: Request, name: str, number: int) -> Response:
        """Delete an export with its file; a worker that is at it stops."""
        export_jobs.delete(job=_job(request, name, number))
        return Response(status=204)


class Retry(Resource):
    """Making an export again."""

    scopes: ClassVar = EXPORT_SCOPES

    @extend_schema(
        operation_id="exports_retry",
        request=None,
        responses={
            202: ExportJobSerializer,
            409: OpenApiResponse(description="It is waiting, being made, or there already."),
        },
        tags=TAGS,
    )
    def post(self, request: Request, name: str, number: int) -> Response:
        """Make an export again that failed, or whose file is gone."""
        job = _job(request, name, number)
        if not export_jobs.retry(job=job):
            raise Conflict("It is waiting, being made, or there already.", state=job.state)
        job.refresh_from_db()
        tasks.ring(job)
        return Response(ExportJobSerializer(job).data, status=202)


class ExportFile(FileResource):
    """The file of an export."""

    scopes: ClassVar = EXPORT_SCOPES

    @extend_schema(
        operation_id="exports_file",
        responses={
            **file_of("application/zip"),
            409: OpenApiResponse(description="There is no file yet, or no more."),
            503: OpenApiResponse(description="Where exports are kept does not answer."),
        },
        tags=TAGS,
    )
    def get(self, request: Request, name: str, number: int) -> FileResponse:
        """A zip archive with the data and what its columns mean. Fetching it is noted in the audit trail."""
        job = _job(request, name, number)
        try:
            with refusals(export_jobs.ExportGone):
                file = export_jobs.fetch(job=job, by=request.user)
        except OSError as error:
            raise StorageUnreachable from error
        return FileResponse(
            file,
            as_attachment=True,
            filename=f"{job.study.name}-{job.format}.zip",
            content_type="application/zip",
        )


def _job(request: Request, name: str, number: int) -> ExportJob:
    """The export, if the account asked for it and may still have it; 404 otherwise."""
    study = study_for_export(request, name)
    job = get_object_or_404(ExportJob.objects.select_related("study"), study=study, pk=number)
    if not policies.may_fetch_export(request.user, job):
        raise Http404
    return job
