"""Import existing images: from models behind an API, or other people's files (docs/generation.md)."""

import shutil
import tempfile
from contextlib import suppress
from typing import IO, Any

from django.conf import settings
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import parsers, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.errors import InsufficientStorage, Refused, TooLarge, refusals
from annotation.api.resource import BYTES, Query, Resource
from annotation.images import upload_spool
from annotation.imports.readers.oddities import FileRefused
from annotation.models import Axis
from generation.uploads import bundles
from generation.uploads.services import uploads
from generation.uploads.services.images import UploadRefused
from generation.uploads.tables import read_table

_IN_MEMORY = 1_000_000


class ZipBody(parsers.BaseParser):
    """The ZIP; large ones are kept on disk."""

    media_type = "application/zip"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> IO[bytes]:
        most = settings.UPLOAD_MAX_MB * 1_000_000
        request = (parser_context or {})["request"]
        length = request.headers.get("content-length") or "0"
        if length.isdigit() and int(length) > most:
            raise TooLarge(
                f"The body is larger than {settings.UPLOAD_MAX_MB} MB. Split it, or use the command: "
                "manage.py import_images"
            )
        kept: IO[bytes] = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - see post
            max_size=_IN_MEMORY, dir=str(upload_spool.folder())
        )
        try:
            shutil.copyfileobj(stream, kept)
            kept.seek(0)
        except OSError as error:
            if error.errno not in upload_spool.DISK_FULL:
                raise
            upload_spool.log_disk_full(error)
            with suppress(OSError):  # closing may write too
                kept.close()
            while stream.read(_IN_MEMORY):  # a client that is still sending does not read the answer
                pass
            raise InsufficientStorage from error
        return kept


class PlainBody(ZipBody):
    """The same for clients that send application/octet-stream."""

    media_type = BYTES


class UploadQuery(Query):
    title = serializers.CharField(required=False, max_length=200, help_text="Of a new set.")
    licence = serializers.CharField(required=False, max_length=80, help_text="Of a new set.")
    axis = serializers.ChoiceField(
        Axis.choices, default=Axis.NATIONALITY.value, help_text="The axis of the groups."
    )
    new_groups = serializers.BooleanField(
        default=False, help_text="true: create unknown groups; false: refuse them."
    )


class ImportedSerializer(serializers.Serializer[Any]):
    """The result of an import."""

    image_set = serializers.SlugField(source="image_set.name")
    created = serializers.IntegerField(help_text="New images.")
    filled = serializers.IntegerField(help_text="Known images that had no file and now have one.")
    unchanged = serializers.IntegerField(help_text="Images that were already in the set.")
    stored_anew = serializers.IntegerField(
        source="reencoded", help_text="Files with metadata: stored as PNG without it."
    )
    notes = serializers.ListField(child=serializers.CharField())


class Bundle(Resource):
    """A ZIP of images with a table that describes them."""

    parser_classes = (ZipBody, PlainBody)

    @extend_schema(
        operation_id="image_sets_bring_in",
        parameters=[UploadQuery],
        request={kind.media_type: OpenApiTypes.BINARY for kind in (ZipBody, PlainBody)},
        responses={
            200: ImportedSerializer,
            422: OpenApiResponse(description="The errors; nothing was imported."),
            507: OpenApiResponse(description="The server's disk is full; nothing was imported."),
        },
        tags=["images"],
    )
    def post(self, request: Request, name: str) -> Response:
        """Import everything or nothing. Creates the set if it does not exist. Importing the same ZIP again
        changes nothing."""
        if not policies.may_make_images(request.user):
            raise Http404
        params = self.query(UploadQuery)
        file = request.data
        if not hasattr(file, "read"):
            raise Refused("The body is empty. Send a ZIP.")
        target = uploads.TargetSet(
            name=name, title=params.get("title", ""), licence=params.get("licence", "")
        )
        with (
            file,
            refusals(FileRefused, UploadRefused, status=422),
            bundles.open_bundle(file, name="the ZIP") as bundle,
        ):
            imported = uploads.import_images(
                bundle=bundle,
                table=read_table(bundle),
                target=target,
                by=request.user,
                axis=params["axis"],
                new_groups=params["new_groups"],
            )
        return Response(ImportedSerializer(imported).data)
