"""What every resource of the API is made of: who may ask, what is read of a request, how it is answered."""

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

from annotation.api.auth import Scoped, SessionAuthentication, TokenAuthentication, default_scope
from annotation.api.conditional import unless_known
from annotation.api.errors import BadQuery, TooLarge
from annotation.api.throttles import PerCaller
from annotation.core import replica
from annotation.models import Scope


class JSONBody(parsers.JSONParser):
    """JSON of a bounded size and depth."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        text = whole_body(stream, parser_context)
        try:
            found = json.loads(text, parse_constant=_no_number, object_pairs_hook=_once)
            # only an escape can write what no database keeps as text
            if "\\u" in text and any("\x00" in each for each in _texts(found)):
                raise ValueError("U+0000 is no character of a text")
        except (ValueError, RecursionError) as error:
            raise exceptions.ParseError(f"The body is not JSON: {error}") from error
        return found


class Body(serializers.Serializer):
    """What is sent: a key that is not among the fields is refused, not passed over."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = sorted(str(key) for key in data if key not in self.fields)
            if unknown:
                there = ", ".join(self.fields) or "none"
                raise serializers.ValidationError(
                    {key: [f"There is no such field. There are: {there}."] for key in unknown}
                )
            wrong = {key: [_KINDS[kind]] for key, kind in self._other_kinds(data)}
            if wrong:
                raise serializers.ValidationError(wrong)
        return super().to_internal_value(data)

    def _other_kinds(self, data: Mapping[str, Any]) -> Iterator[tuple[str, type]]:
        """Fields sent as something else that could be taken for it: 0 for false, a number for a text."""
        for key, value in data.items():
            kind = bool if isinstance(self.fields[key], serializers.BooleanField) else str
            texts = isinstance(self.fields[key], serializers.CharField)
            if (kind is bool or texts) and value is not None and not isinstance(value, kind):
                yield key, kind


_KINDS = {bool: "Send true or false.", str: "Send a text."}


class Query(serializers.Serializer):
    """Query parameters; see annotation/api/pages.py for those of lists."""


class Passed(BaseRenderer):
    """For answers that are not JSON; errors still are."""

    def render(self, data: Any, accepted_media_type: Any = None, renderer_context: Any = None) -> bytes:
        return data if isinstance(data, bytes) else JSONRenderer().render(data)


BYTES = "application/octet-stream"


class AnyFile(Passed):
    """Whatever the client says it accepts: the address says which kind of file is wanted."""

    media_type = "*/*"
    format = "file"


class Resource(APIView):
    """A view of the API. `scopes`: method -> scope, where it is another than *read* and *manage*; None asks
    for a known account only."""

    authentication_classes = (TokenAuthentication, SessionAuthentication)
    permission_classes: ClassVar[tuple[type, ...]] = (Scoped,)
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
        """As rest_framework does it, but whoever is refused is counted as well, and who asks, and what they
        may, is never asked of a copy of the database that is late."""
        with replica.current():
            self._admit(request, *args, **kwargs)

    def _admit(self, request: Request, *args: Any, **kwargs: Any) -> None:
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
            return unless_known(request, response.render())
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    def query(self, kind: type[Query]) -> dict[str, Any]:
        """The query parameters, checked. A parameter that there is not is refused: a misspelt filter would
        show everything."""
        asked = self.request.query_params
        # a plain dictionary: in one of a form, an empty value would count as left out
        serializer = kind(data=asked.dict())
        unknown = sorted(set(asked) - set(serializer.fields))
        if unknown:
            there = ", ".join(serializer.fields) or "none"
            raise BadQuery({name: [f"There is no such parameter. There are: {there}."] for name in unknown})
        twice = sorted(name for name in asked if len(asked.getlist(name)) > 1)
        if twice:
            raise BadQuery({name: ["Give it once."] for name in twice})
        if not serializer.is_valid():
            raise BadQuery(serializer.errors)
        found: dict[str, Any] = serializer.validated_data
        return found

    def body(self, kind: type[Body], **options: Any) -> dict[str, Any]:
        """The body, checked."""
        serializer = kind(data=self.request.data, **options)
        serializer.is_valid(raise_exception=True)
        found: dict[str, Any] = serializer.validated_data
        return found


class FileResource(Resource):
    """A view that answers with a file: as what it is, or as plain bytes to a client that accepts those
    and not what it is. Many that are made from the schema know no other file."""

    renderer_classes = (AnyFile,)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        if response.status_code == 200:
            patch_vary_headers(response, ["Accept"])
            kind = response["Content-Type"].partition(";")[0]
            if request.accepts(BYTES) and not request.accepts(kind):
                response["Content-Type"] = BYTES
        return response


def file_of(*kinds: str) -> dict[tuple[int, str], Any]:
    """What the schema says of a FileResource's answer, of one of these kinds."""
    return {(200, kind): OpenApiTypes.BINARY for kind in (BYTES, *kinds)}


class Nothing(Resource):
    """Every address that there is not."""

    scopes: ClassVar = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
    permission_classes = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(
            request, force=True
        )
        self.check_throttles(request)
        raise Http404


def whole_body(stream: Any, parser_context: Any) -> str:
    """The text of a body, if it is not too large."""
    context = parser_context or {}
    request = context.get("request")
    length = request.headers.get("content-length") or "0" if request is not None else "0"
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if length.isdigit() and int(length) > most:
        raise TooLarge(f"The body is larger than {most:,} bytes.")
    try:
        encoding = codecs.lookup(context.get("encoding") or settings.DEFAULT_CHARSET).name
        return str(stream.read(most + 1).decode(encoding))
    except (LookupError, UnicodeDecodeError) as error:
        raise exceptions.ParseError(f"The body is not text in UTF-8: {error}") from error


def _texts(found: Any) -> Iterator[str]:
    """Every text in what was sent. Raises UnicodeEncodeError for half of a surrogate pair."""
    if isinstance(found, str):
        found.encode()
        yield found
    elif isinstance(found, dict):
        for key, value in found.items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(found, list):
        for value in found:
            yield from _texts(value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which no key stands twice: of two values, readers disagree on which one counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
