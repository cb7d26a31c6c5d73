"""Sources from one's own pairs, and imports of SeeGULL's and ViSAGe's files, for programs."""

import io
import zipfile
from contextlib import closing
from typing import IO, Any

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import parsers, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import Refused, StorageUnreachable, TooLarge, refusals
from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import BYTES, Body, Query, Resource
from annotation.catalogue.serializers import SourceSerializer
from annotation.catalogue.services import SourceDetails, SourceForbidden, SourceRefused
from annotation.core.leases import JobState
from annotation.imports import files, queries, tasks
from annotation.imports.readers import pairs
from annotation.imports.services import jobs
from annotation.imports.services.pairs import add_source, check_pairs
from annotation.models import Axis, CatalogueImport

MOST_ERRORS = 200


class EditorResource(Resource):
    """For accounts that may set up studies."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        if not policies.may_edit_catalogue(request.user):
            raise Http404


def _votes_field(help_text: str) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=pairs.MOST_VOTES),
        min_length=3,
        max_length=3,
        required=False,
        allow_null=True,
        help_text=f"{help_text}: Stereotypical, Non-stereotypical, Unsure; null: nobody was asked.",
    )


class PairBody(Body):
    """One pair, with votes and ratings if there are any."""

    identity = serializers.CharField(
        max_length=pairs.LONGEST_NAME, help_text="Name of an identity group, in any case."
    )
    attribute = serializers.CharField(max_length=pairs.LONGEST_ATTRIBUTE, help_text="Stored in lower case.")
    in_votes = _votes_field("Of in-region annotators")
    out_votes = _votes_field("Of out-region annotators")
    offensiveness = serializers.ListField(
        child=serializers.FloatField(min_value=pairs.LOWEST, max_value=pairs.HIGHEST),
        max_length=pairs.MOST_RATINGS,
        required=False,
        help_text="All ratings, -1 to 4; their mean is computed.",
    )


class NewGroupBody(Body):
    """An identity group to create."""

    name = serializers.CharField(max_length=pairs.LONGEST_NAME)
    demonym = serializers.CharField(max_length=120, help_text="Completes 'a ... person'.")


class PairsBody(Body):
    """A new source of one's own pairs."""

    title = serializers.CharField(max_length=200)
    licence = serializers.CharField(required=False, allow_blank=True, default="", max_length=80)
    origin = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=500,
        help_text="Where it comes from: a URL or a text.",
    )
    citation = serializers.CharField(required=False, allow_blank=True, default="", max_length=4000)
    axis = serializers.ChoiceField(
        choices=Axis.choices, default=Axis.NATIONALITY.value, help_text="The axis of the identities."
    )
    pairs = serializers.ListField(child=PairBody(), min_length=1)
    create_groups = serializers.BooleanField(
        default=False, help_text="true: create unknown identities; false: refuse them."
    )
    new_groups = NewGroupBody(
        many=True,
        required=False,
        help_text="Demonyms of unknown identities; without one, a new group is called by its name.",
    )
    check_only = serializers.BooleanField(default=False, help_text="true: store nothing, only check.")


class LineErrorSerializer(serializers.Serializer):
    """What is wrong with one pair."""

    row = serializers.IntegerField(help_text="Its number in the list, from 1.")
    column = serializers.CharField(help_text="The field; empty if the whole pair is meant.")
    problem = serializers.CharField()
    cure = serializers.CharField()


class UnknownIdentitySerializer(serializers.Serializer):
    """An identity that no group on the axis is called."""

    name = serializers.CharField()
    row = serializers.IntegerField(help_text="The first pair with it.")
    nearest = serializers.CharField(help_text="The known name most like it; may be empty.")
    demonym = serializers.CharField(help_text="That it would be created with.")


class CheckedSerializer(serializers.Serializer):
    """What storing the pairs does, or what is wrong with them."""

    stored = serializers.BooleanField()
    associations = serializers.IntegerField()
    groups = serializers.IntegerField()
    attributes = serializers.IntegerField()
    new_attributes = serializers.IntegerField()
    repeated = serializers.IntegerField(help_text="Pairs that say the same as an earlier one.")
    wrong = serializers.IntegerField(help_text="How many pairs are wrong.")
    errors = LineErrorSerializer(many=True, help_text=f"The first {MOST_ERRORS} of them.")
    unknown = UnknownIdentitySerializer(many=True)
    source = SourceSerializer(allow_null=True)


class SourcePairs(EditorResource):
    """One's own pairs as a source."""

    @extend_schema(
        operation_id="sources_create",
        request=PairsBody,
        responses={
            200: CheckedSerializer,
            201: CheckedSerializer,
            409: OpenApiResponse(description="The name is taken or cannot be used."),
            422: OpenApiResponse(
                description="Pairs are wrong; nothing was stored. With check_only they are all listed."
            ),
        },
        tags=["catalogue"],
    )
    def post(self, request: Request, name: str) -> Response:
        """Create the source `name` from pairs: all of them, or none if one is wrong. For more than the
        largest body: manage.py import_pairs."""
        body = self.body(PairsBody)
        axis = Axis(body["axis"])
        checked = check_pairs(
            pairs.read_given(body["pairs"]),
            axis=axis,
            create_groups=body["create_groups"],
            demonyms={group["name"]: group["demonym"] for group in body.get("new_groups", ())},
        )
        source = None
        if not body["check_only"]:
            if checked.errors:
                raise Refused(_wrong_pairs(checked.errors))
            details = SourceDetails(body["title"], body["licence"], body["origin"], body["citation"])
            with refusals(SourceRefused, forbidden=SourceForbidden):
                source = add_source(name=name, details=details, axis=axis, checked=checked, by=request.user)
        told = {
            "stored": source is not None,
            "associations": len(checked.pairs),
            "groups": checked.groups,
            "attributes": checked.attributes,
            "new_attributes": checked.new_attributes,
            "repeated": checked.repeated,
            "wrong": len(checked.errors),
            "errors": checked.errors[:MOST_ERRORS],
            "unknown": checked.unknown,
            "source": source,
        }
        return Response(CheckedSerializer(told).data, status=201 if source else 200)


def _wrong_pairs(errors: tuple[pairs.LineError, ...]) -> str:
    shown = " ".join(f"Pair {error.row}: {error.problem} {error.cure}" for error in errors[:10])
    more = f" And {len(errors) - 10} more: send check_only to see them." if len(errors) > 10 else ""
    return f"{len(errors)} pairs are wrong; nothing was stored. {shown}{more}"


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
                if member.is_dir() or not name.lower().endswith(".xlsx") or name.startswith("._"):
                    continue
                part = next((one for one in files.PARTS[jobs.Kind.VISAGE] if one in name.lower()), "")
                if not part or part in found:
                    raise Refused(
                        f"'{name}' does not say which file it is, or another one says the same. Name the two "
                        "'Visual Attributes_.xlsx' and 'Image Annotations.xlsx'."
                    )
                with archive.open(member) as packed:
                    found[part] = name, packed.read(files.MAX_BYTES + 1)
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError) as error:
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
