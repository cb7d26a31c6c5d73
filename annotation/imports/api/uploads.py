"""Imports of SeeGULL's and ViSAGe's files, for programs."""

import io
import zipfile
from contextlib import closing
from typing import IO, Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import parsers, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Refused, StorageUnreachable, TooLarge, refusals
from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import BYTES, Query
from annotation.core.leases import JobState
from annotation.core.zip_files import UNREADABLE, is_hidden
from annotation.imports import files, queries, tasks
from annotation.imports.api.access import EditorResource
from annotation.imports.services import jobs
from annotation.models import Axis, CatalogueImport


class ImportSerializer(serializers.Serializer):
    """A background import."""

    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=jobs.Kind.choices)
    options = serializers.DictField(child=serializers.CharField(allow_blank=True))
    files = serializers.DictField(child=serializers.CharField(), help_text="The names of the files.")
    by = serializers.CharField(source="by.username", default=None, allow_null=True)
    state = serializers.ChoiceField(
        choices=JobState.choices, help_text="claimed: a worker is importing; failed: error says why."
    )
    step = serializers.CharField(help_text="What the worker does.")
    done = serializers.IntegerField(help_text="Rows of this step that are done.")
    total = serializers.IntegerField(help_text="Rows of this step.")
    error = serializers.CharField(help_text="What is wrong, and what to do.")
    report = serializers.DictField(help_text="Once done: rows created by table, files, oddities.")
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class FileBody(parsers.BaseParser):
    """The uploaded file, of limited size."""

    media_type = BYTES

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> IO[bytes]:
        content = stream.read(files.MAX_BYTES + 1)
        if len(content) > files.MAX_BYTES:
            raise TooLarge(f"The body is larger than {files.MAX_BYTES // 1_000_000} MB.")
        return io.BytesIO(content)


class CsvBody(FileBody):
    media_type = "text/csv"


class ZipBody(FileBody):
    media_type = "application/zip"


ImportsQuery = list_query(
    "Imports",
    orders={"id": "pk"},
    default="-id",
    state=serializers.ChoiceField(
        choices=JobState.choices, required=False, help_text="Only imports in this state."
    ),
)


class Imports(EditorResource):
    """The background imports of this account; an admin's are all."""

    @documents_list("imports_list", query=ImportsQuery, row=ImportSerializer, tag="catalogue")
    def get(self, request: Request) -> Response:
        rows = queries.imports_of(request.user)
        return filtered_page(self, rows, kind=ImportsQuery, row=ImportSerializer)


class SeegullQuery(Query):
    axis = serializers.ChoiceField(
        choices=[axis.value for axis in jobs.AXES],
        default=Axis.NATIONALITY.value,
        help_text="What the file is about.",
    )
    source = serializers.CharField(
        required=False, max_length=80, help_text="Name of the source; default: the release's."
    )
    file_name = serializers.CharField(required=False, max_length=100, help_text="For messages.")


class VisageQuery(Query):
    study = serializers.CharField(
        required=False, max_length=80, help_text="Name of the study; default: visage."
    )


class _Upload(EditorResource):
    kind: jobs.Kind

    def accept(self, request: Request, uploads: dict[str, tuple[str, IO[bytes]]], **options: str) -> Response:
        try:
            with refusals(jobs.UploadRefused, status=422):
                job = jobs.request(kind=self.kind, uploads=uploads, options=options, by=request.user)
        except OSError as error:
            raise StorageUnreachable from error
        tasks.enqueue(job)
        return Response(ImportSerializer(job).data, status=202)

    def file(self, request: Request) -> IO[bytes]:
        file: IO[bytes] = request.data
        if not hasattr(file, "read"):
            raise Refused("The body is empty. Send the file.")
        return file


_ACCEPTED = {
    202: ImportSerializer,
    422: OpenApiResponse(description="The body cannot be imported; nothing was queued."),
    503: OpenApiResponse(description="The file storage is not responding."),
}


class SeegullUpload(_Upload):
    """Importing one of SeeGULL's files."""

    kind = jobs.Kind.SEEGULL
    parser_classes = (CsvBody, FileBody)

    @extend_schema(
        operation_id="imports_seegull",
        parameters=[SeegullQuery],
        request={kind.media_type: OpenApiTypes.BINARY for kind in (CsvBody, FileBody)},
        responses=_ACCEPTED,
        tags=["catalogue"],
    )
    def post(self, request: Request) -> Response:
        """Queue the import of a CSV as SeeGULL published it. Watch it at imports/{number}."""
        query = self.query(SeegullQuery)
        name = query.pop("file_name", "the CSV")
        return self.accept(request, {"associations": (name, self.file(request))}, **query)


class VisageUpload(_Upload):
    """Importing ViSAGe's two files."""

    kind = jobs.Kind.VISAGE
    parser_classes = (ZipBody, FileBody)

    @extend_schema(
        operation_id="imports_visage",
        parameters=[VisageQuery],
        request={kind.media_type: OpenApiTypes.BINARY for kind in (ZipBody, FileBody)},
        responses=_ACCEPTED,
        tags=["catalogue"],
    )
    def post(self, request: Request) -> Response:
        """Queue the import of a ZIP with 'Visual Attributes_.xlsx' and 'Image Annotations.xlsx', whose names
        say which is which. Watch it at imports/{number}."""
        with closing(self.file(request)) as file:
            uploads = {part: (name, io.BytesIO(data)) for part, (name, data) in _spreadsheets(file).items()}
        return self.accept(request, dict(uploads), **self.query(VisageQuery))


def _spreadsheets(file: IO[bytes]) -> dict[str, tuple[str, bytes]]:
    """Part -> name and content of the two spreadsheets in a ZIP. Reads no more than they may have."""
    found: dict[str, tuple[str, bytes]] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                name = files.local_name(member.filename)
                if member.is_dir() or not name.lower().endswith(".xlsx") or is_hidden(member.filename):
                    continue
                part = next((one for one in files.PARTS[jobs.Kind.VISAGE] if one in name.lower()), "")
                if not part or part in found:
                    raise Refused(
                        f"'{name}' does not say which file it is, or another one says the same. Name the two "
                        "'Visual Attributes_.xlsx' and 'Image Annotations.xlsx'."
                    )
                with archive.open(member) as packed:
                    found[part] = name, packed.read(files.MAX_BYTES + 1)
    except UNREADABLE as error:
        raise Refused(f"This is not a ZIP that can be read ({error}). Pack it again.") from error
    return found


class OneImport(EditorResource):
    """A background import."""

    @extend_schema(operation_id="imports_read", responses=ImportSerializer, tags=["catalogue"])
    def get(self, request: Request, number: int) -> Response:
        return Response(ImportSerializer(_job(request, number)).data)

    @extend_schema(
        operation_id="imports_delete",
        responses={204: OpenApiResponse(description="The record and its files are deleted.")},
        tags=["catalogue"],
    )
    def delete(self, request: Request, number: int) -> Response:
        """Delete the record of an import, or stop one that is not done; what it has stored stays."""
        jobs.delete(job=_job(request, number), by=request.user)
        return Response(status=204)


def _job(request: Request, number: int) -> CatalogueImport:
    return queries.import_of(request.user, number)
