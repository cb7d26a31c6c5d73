"""Background exports: request, watch, download. For admins; each sees their own."""

from typing import Any

from django.http import FileResponse
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Conflict, StorageUnreachable, refusals
from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import Body, ExportResource, FileResource, file_of
from annotation.api.study_access import study_for_export
from annotation.core.leases import JobState
from annotation.exports import queries, tasks
from annotation.exports.api.exports import EXPORT_FIELDS, operation
from annotation.exports.formats.registry import UnknownFormat
from annotation.exports.selection import ExportRefused, Filters
from annotation.exports.services import jobs as export_jobs
from annotation.models import ExportJob


class ExportJobSerializer(serializers.Serializer):
    """A background export."""

    id = serializers.IntegerField()
    format = serializers.CharField()
    filters = serializers.DictField(child=serializers.CharField(), help_text="The filters that were set.")
    state = serializers.ChoiceField(
        choices=JobState.choices, help_text="claimed: a worker is making it; done: download the file."
    )
    rows = serializers.IntegerField(help_text="Judgements written so far.")
    total = serializers.IntegerField(allow_null=True, help_text="Judgements to write.")
    has_file = serializers.SerializerMethodField(
        help_text="Whether its file exists: it is deleted after some days, and when somebody withdraws."
    )
    size = serializers.IntegerField(allow_null=True, help_text="bytes")
    sha256 = serializers.CharField(help_text="Of the file, in hexadecimal; empty without a file.")
    error = serializers.CharField(help_text="Why it failed, or why its file was deleted.")
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_has_file(self, job: ExportJob) -> bool:
        return bool(job.file)


ExportBody: type[Body] = type("ExportBody", (Body,), {"__doc__": "A format and filters.", **EXPORT_FIELDS})
ExportsQuery = list_query(
    "Exports",
    orders={"id": "pk"},
    default="-id",
    state=serializers.ChoiceField(
        choices=JobState.choices, required=False, help_text="Only exports in this state."
    ),
)


class Exports(ExportResource):
    """The background exports of a study that this account requested."""

    @documents_list("exports_list", query=ExportsQuery, row=ExportJobSerializer, tag="exports")
    def get(self, request: Request, name: str) -> Response:
        rows = ExportJob.objects.filter(study=study_for_export(request, name), by=request.user)
        return filtered_page(self, rows, kind=ExportsQuery, row=ExportJobSerializer)

    @operation(
        operation_id="exports_create",
        request=ExportBody,
        responses={
            202: ExportJobSerializer,
            422: OpenApiResponse(description="A filter has an unknown value; detail lists the known ones."),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        """Request an export. Returns the existing one if the same export is pending or being made already."""
        study = study_for_export(request, name)
        params: dict[str, Any] = dict(self.body(ExportBody))
        fmt = params.pop("format")
        with refusals(ExportRefused, UnknownFormat, status=422):
            job = export_jobs.request(study=study, fmt=fmt, filters=Filters(**params), by=request.user)
        tasks.enqueue(job)
        return Response(ExportJobSerializer(job).data, status=202)


class OneExport(ExportResource):
    """A background export."""

    @operation(operation_id="exports_read", responses=ExportJobSerializer)
    def get(self, request: Request, name: str, number: int) -> Response:
        return Response(ExportJobSerializer(_job(request, name, number)).data)

    @operation(
        operation_id="exports_delete",
        responses={204: OpenApiResponse(description="The export and its file are deleted.")},
    )
    def delete(self, request: Request, name: str, number: int) -> Response:
        """Delete an export and its file; a worker that is making it stops."""
        export_jobs.delete(job=_job(request, name, number))
        return Response(status=204)


class Retry(ExportResource):
    """Making an export again."""

    @operation(
        operation_id="exports_retry",
        request=None,
        responses={
            202: ExportJobSerializer,
            409: OpenApiResponse(description="It is pending, being made, or done already."),
        },
    )
    def post(self, request: Request, name: str, number: int) -> Response:
        """Make an export again that failed, or whose file was deleted."""
        job = _job(request, name, number)
        if not export_jobs.retry(job=job):
            raise Conflict("It is pending, being made, or done already.", state=job.state)
        job.refresh_from_db()
        tasks.enqueue(job)
        return Response(ExportJobSerializer(job).data, status=202)


class ExportFile(ExportResource, FileResource):
    """The file of an export."""

    @operation(
        operation_id="exports_file",
        responses={
            **file_of("application/zip"),
            409: OpenApiResponse(description="There is no file yet, or it was deleted."),
            503: OpenApiResponse(description="The export storage is not responding."),
        },
    )
    def get(self, request: Request, name: str, number: int) -> FileResponse:
        """A zip archive with the data and a description of its columns. The audit trail records each
        download."""
        job = _job(request, name, number)
        try:
            with refusals(export_jobs.ExportGone):
                file = export_jobs.open_file(job=job, by=request.user)
        except OSError as error:
            raise StorageUnreachable from error
        return FileResponse(file, as_attachment=True, filename=f"{job.study.name}-{job.format}.zip")


def _job(request: Request, name: str, number: int) -> ExportJob:
    return queries.export_job(request.user, study_for_export(request, name), pk=number)
