"""The base classes of the API's resources: access, request bodies and parameters, responses."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.http import Http404
from django.utils.cache import patch_vary_headers
from drf_spectacular.types import OpenApiTypes
from rest_framework import exceptions, parsers, serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api.auth import HasScope, SessionAuthentication, TokenAuthentication, default_scope
from annotation.api.conditional import with_etag
from annotation.api.errors import BadQuery, TooLarge
from annotation.api.throttles import PerCaller
from annotation.core import replica
from annotation.models import Scope


class JSONBody(parsers.JSONParser):
    """JSON of limited size and depth."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        text = read_body(stream, parser_context)
        try:
            data = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_duplicates)
            # PostgreSQL cannot store U+0000 in text; in JSON it can only be written as an escape.
            if "\\u" in text and any("\x00" in each for each in _texts(data)):
                raise ValueError("U+0000 is not allowed in text")
        except (ValueError, RecursionError) as error:
            raise exceptions.ParseError(f"The body is not JSON: {error}") from error
        return data


class Body(serializers.Serializer):
    """A request body. Unknown keys are refused, not ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = sorted(str(key) for key in data if key not in self.fields)
            if unknown:
                known = ", ".join(self.fields) or "none"
                raise serializers.ValidationError(
                    {key: [f"There is no such field. Known fields: {known}."] for key in unknown}
                )
            wrong = {key: [_KINDS[kind]] for key, kind in self._wrong_types(data)}
            if wrong:
                raise serializers.ValidationError(wrong)
        return super().to_internal_value(data)

    def _wrong_types(self, data: Mapping[str, Any]) -> Iterator[tuple[str, type]]:
        """Fields sent with a type that DRF would convert: 0 for false, a number for a text."""
        for key, value in data.items():
            kind = bool if isinstance(self.fields[key], serializers.BooleanField) else str
            texts = isinstance(self.fields[key], serializers.CharField)
            if (kind is bool or texts) and value is not None and not isinstance(value, kind):
                yield key, kind


_KINDS = {bool: "Send true or false.", str: "Send a string."}


class Query(serializers.Serializer):
    """Query parameters; annotation/api/pages.py has those of lists."""


class RawRenderer(BaseRenderer):
    """For responses that are not JSON; errors still are."""

    def render(self, data: Any, accepted_media_type: Any = None, renderer_context: Any = None) -> bytes:
        return data if isinstance(data, bytes) else JSONRenderer().render(data)


BYTES = "application/octet-stream"


class FileRenderer(RawRenderer):
    """Ignores Accept: the URL decides the type of the file."""

    media_type = "*/*"
    format = "file"


class Resource(APIView):
    """A view of the API. `scopes`: method -> scope, where it is not the default (*read* or *manage*); None
    needs an authenticated account only."""

    authentication_classes = (TokenAuthentication, SessionAuthentication)
    permission_classes: ClassVar[tuple[type, ...]] = (HasScope,)
    throttle_classes = (PerCaller,)
    renderer_classes: ClassVar[tuple[type, ...]] = (JSONRenderer,)
    parser_classes: ClassVar[tuple[type, ...]] = (JSONBody,)
    http_method_names: ClassVar = ["get", "head", "post", "put", "patch", "delete"]
    format_kwarg = None
    scopes: ClassVar[Mapping[str, Scope | None]] = {}

    def needed_scope(self, method: str) -> Scope | None:
        method = "GET" if method == "HEAD" else method
        return self.scopes.get(method, default_scope(method))

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """As in rest_framework, but requests that fail authentication count for throttling too, and accounts
        and permissions are read from the primary database."""
        with replica.from_primary():
            self._check_access(request, *args, **kwargs)

    def _check_access(self, request: Request, *args: Any, **kwargs: Any) -> None:
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        request.version, request.versioning_scheme = self.determine_version(request, *args, **kwargs)
        try:
            self.perform_authentication(request)
        finally:
            self.check_throttles(request)
        self.check_permissions(request)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        read = request.method in ("GET", "HEAD") and response.status_code == 200
        if read and isinstance(response, Response):
            return with_etag(request, response.render())
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    def query(self, kind: type[Query]) -> dict[str, Any]:
        """The validated query parameters. Unknown ones are refused, since a misspelt filter would show
        everything."""
        params = self.request.query_params
        # A plain dictionary: with a QueryDict, an empty value would count as missing.
        serializer = kind(data=params.dict())
        unknown = sorted(set(params) - set(serializer.fields))
        if unknown:
            known = ", ".join(serializer.fields) or "none"
            raise BadQuery(
                {name: [f"There is no such parameter. Known parameters: {known}."] for name in unknown}
            )
        repeated = sorted(name for name in params if len(params.getlist(name)) > 1)
        if repeated:
            raise BadQuery({name: ["Send it once."] for name in repeated})
        if not serializer.is_valid():
            raise BadQuery(serializer.errors)
        data: dict[str, Any] = serializer.validated_data
        return data

    def body(self, kind: type[Body], **options: Any) -> dict[str, Any]:
        """The validated body."""
        serializer = kind(data=self.request.data, **options)
        serializer.is_valid(raise_exception=True)
        data: dict[str, Any] = serializer.validated_data
        return data


class FileResource(Resource):
    """A view that returns a file: with its own media type, or as application/octet-stream to a client that
    accepts only that. Many generated clients do."""

    renderer_classes = (FileRenderer,)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        if response.status_code == 200:
            patch_vary_headers(response, ["Accept"])
            kind = response["Content-Type"].partition(";")[0]
            if request.accepts(BYTES) and not request.accepts(kind):
                response["Content-Type"] = BYTES
        return response


def file_of(*kinds: str) -> dict[tuple[int, str], Any]:
    """The responses of a FileResource with one of these media types, for the schema."""
    return {(200, kind): OpenApiTypes.BINARY for kind in (BYTES, *kinds)}


class NotFoundView(Resource):
    """404 for every unknown URL."""

    scopes: ClassVar = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
    permission_classes = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(
            request, force=True
        )
        self.check_throttles(request)
        raise Http404


def read_body(stream: Any, parser_context: Any) -> str:
    """The text of a body; raises TooLarge."""
    context = parser_context or {}
    request = context.get("request")
    length = request.headers.get("content-length") or "0" if request is not None else "0"
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if length.isdigit() and int(length) > limit:
        raise TooLarge(f"The body is larger than {limit:,} bytes.")
    try:
        encoding = codecs.lookup(context.get("encoding") or settings.DEFAULT_CHARSET).name
        return str(stream.read(limit + 1).decode(encoding))
    except (LookupError, UnicodeDecodeError) as error:
        raise exceptions.ParseError(f"The body is not UTF-8 text: {error}") from error


def _texts(data: Any) -> Iterator[str]:
    """Every string in parsed JSON. Raises UnicodeEncodeError for an unpaired surrogate."""
    if isinstance(data, str):
        data.encode()
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from _texts(value)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without duplicate keys, since readers disagree on which value counts."""
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("an object has a duplicate key")
    return data


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
