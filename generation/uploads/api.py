"""Finished pictures brought in: models behind an API, pictures of others (docs/generation.md)."""

from __future__ import annotations

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
from annotation.api.errors import NoRoom, Refused, TooLarge, refusals
from annotation.api.resource import BYTES, Query, Resource
from annotation.images import upload_spool
from annotation.imports.readers.oddities import FileRefused
from annotation.models import Axis
from generation.uploads import bundles
from generation.uploads.services import uploads
from generation.uploads.tables import read_table

_IN_MEMORY = 1_000_000


class ZipBody(parsers.BaseParser):
    """A ZIP as it is, on the disk where it is large."""

    media_type = "application/zip"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> IO[bytes]:
        most = settings.UPLOAD_MAX_MB * 1_000_000
        request = (parser_context or {})["request"]
        length = request.headers.get("content-length") or "0"
        if length.isdigit() and int(length) > most:
            raise TooLarge(
                f"The body has more than {settings.UPLOAD_MAX_MB} MB. Part it, or use the command: "
                "manage.py import_images"
            )
        kept: IO[bytes] = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - see post
            max_size=_IN_MEMORY, dir=str(upload_spool.folder())
        )
        try:
            shutil.copyfileobj(stream, kept)
            kept.seek(0)
        except OSError as error:
            if error.errno not in upload_spool.FULL:
                raise
            upload_spool.told(error)
            with suppress(OSError):  # closing writes, too
                kept.close()
            while stream.read(_IN_MEMORY):  # who still sends does not hear an answer
                pass
            raise NoRoom from error
        return kept


class PlainBody(ZipBody):
    """The same from clients that call no file by its kind."""

    media_type = BYTES


class UploadQuery(Query):
    title = serializers.CharField(required=False, max_length=200, help_text="Of a new set.")
    licence = serializers.CharField(required=False, max_length=80, help_text="Of a new set.")
    axis = serializers.ChoiceField(
        Axis.choices, default=Axis.NATIONALITY.value, help_text="What the groups are."
    )
    new_groups = serializers.BooleanField(
        default=False, help_text="Make groups that are not known yet; else they are refused."
    )


class ImportedSerializer(serializers.Serializer[Any]):
    """What was brought in."""

    image_set = serializers.SlugField(source="image_set.name")
    created = serializers.IntegerField(help_text="Images that are new.")
    filled = serializers.IntegerField(help_text="Known images that had no file.")
    unchanged = serializers.IntegerField(help_text="Images that were here as they are now.")
    stored_anew = serializers.IntegerField(
        help_text="Files that said more than pixels: stored as PNG without it."
    )
    notes = serializers.ListField(child=serializers.CharField())


class Bundle(Resource):
    """A ZIP of finished pictures with the table that tells what each shows."""

    parser_classes = (ZipBody, PlainBody)

    @extend_schema(
        operation_id="image_sets_bring_in",
        parameters=[UploadQuery],
        request={kind.media_type: OpenApiTypes.BINARY for kind in (ZipBody, PlainBody)},
        responses={
            200: ImportedSerializer,
            422: OpenApiResponse(description="What stands in the way of all of it; nothing was brought in."),
            507: OpenApiResponse(description="The server's disk is full; nothing was kept."),
        },
        tags=["images"],
    )
    def post(self, request: Request, name: str) -> Response:
        """Bring all of it in, or nothing. The set is made if there is none of this name. The same again
        changes nothing."""
        if not policies.may_make_images(request.user):
            raise Http404
        asked = self.query(UploadQuery)
        sent = request.data
        if not hasattr(sent, "read"):
            raise Refused("The body is empty. Send a ZIP.")
        into = uploads.TargetSet(name=name, title=asked.get("title", ""), licence=asked.get("licence", ""))
        with (
            sent,
            refusals(FileRefused, uploads.UploadRefused, status=422),
            bundles.open_bundle(sent, name="the ZIP") as bundle,
        ):
            imported = uploads.import_images(
                bundle=bundle,
                finished=read_table(bundle),
                into=into,
                by=request.user,
                axis=asked["axis"],
                new_groups=asked["new_groups"],
            )
        return Response(ImportedSerializer(imported).data)
