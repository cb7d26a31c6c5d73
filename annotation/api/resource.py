"""The base classes of the API's resources: access, request bodies and parameters, responses."""

import codecs
import copy
import hashlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.http import Http404
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import parse_etags
from django.utils.translation import get_language
from drf_spectacular.types import OpenApiTypes
from rest_framework import exceptions, parsers, serializers
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils import json
from rest_framework.views import APIView

from annotation.api.auth import HasScope, PerCaller, SessionAuthentication, TokenAuthentication
from annotation.api.errors import BadQuery, Stale, TooLarge
from annotation.core import replica
from annotation.models import Scope


class JSONBody(parsers.JSONParser):
    """JSON of limited size and depth."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        text = read_body(stream, parser_context)
        try:
            data = json.loads(text, object_pairs_hook=_without_duplicates)
            # PostgreSQL cannot store U+0000 in text; in JSON it can only be written as an escape.
            if "\\u" in text and any("\x00" in each for each in _texts(data)):
                raise ValueError("U+0000 is not allowed in text")
        except (ValueError, RecursionError) as error:
            raise exceptions.ParseError(f"The body is not JSON: {error}") from error
        return data


class _Strict(serializers.Serializer):
    """Unknown keys are refused, not ignored: a misspelt filter would show everything."""

    noun = "field"

    def to_internal_value(self, data: Any) -> Any:
        keys = {str(key) for key in data} if isinstance(data, Mapping) else set()
        if unknown := sorted(keys - self.fields.keys()):
            known = ", ".join(self.fields) or "none"
            message = f"There is no such {self.noun}. Known {self.noun}s: {known}."
            raise serializers.ValidationError({key: [message] for key in unknown})
        return super().to_internal_value(data)


class Body(_Strict):
    """A request body."""

    def to_internal_value(self, data: Any) -> Any:
        validated = super().to_internal_value(data)
        found = {key: _wrong_type(self.fields[key], value) for key, value in data.items()}
        wrong = {key: messages for key, messages in found.items() if messages}
        if wrong:
            raise serializers.ValidationError(wrong)
        return validated


def _wrong_type(field: Any, value: Any) -> list[str] | dict[str, Any]:
    """What is wrong with a value that DRF would convert: 0 to false, a number to a text or a UUID. For a list
    by position."""
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        found = {str(place): _wrong_type(field.child, each) for place, each in enumerate(value)}
        return {place: messages for place, messages in found.items() if messages}
    if isinstance(field, serializers.BooleanField) and not isinstance(value, bool | None):
        return ["Send true or false."]
    texts = (serializers.CharField, serializers.UUIDField)
    return ["Send a string."] if isinstance(field, texts) and not isinstance(value, str | None) else []


class Query(_Strict):
    """Query parameters; annotation/api/pages.py has those of lists."""

    noun = "parameter"


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
        default = Scope.READ if method in SAFE_METHODS else Scope.MANAGE
        return self.scopes.get("GET" if method == "HEAD" else method, default)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """As in rest_framework, but requests that fail authentication count for throttling too, and accounts
        and permissions are read from the primary database."""
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(request)
        with replica.from_primary():
            try:
                self.perform_authentication(request)
            finally:
                self.check_throttles(request)
            self.check_permissions(request)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        read = request.method in ("GET", "HEAD") and response.status_code == 200
        if read and isinstance(response, Response):
            etag = _etag(response.render().content)
            response["ETag"] = etag
            response["Cache-Control"] = "private, no-cache"
            patch_vary_headers(response, ["Authorization", "Cookie", "Accept"])
            return get_conditional_response(request, etag=etag, response=response)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response

    def query(self, kind: type[Query]) -> dict[str, Any]:
        """The validated query parameters."""
        params = self.request.query_params
        repeated = sorted(name for name in params if len(params.getlist(name)) > 1)
        if repeated:
            raise BadQuery({name: ["Send it once."] for name in repeated})
        # A plain dictionary: with a QueryDict, an empty value would count as missing.
        serializer = _serializer(kind, params.dict())
        if not serializer.is_valid():
            raise BadQuery(serializer.errors)
        return serializer.validated_data

    def body(self, kind: type[Body]) -> dict[str, Any]:
        """The validated body."""
        serializer = _serializer(kind, self.request.data)
        serializer.is_valid(raise_exception=True)
        return serializer.validated_data


class ExportResource(Resource):
    """A resource for which every method needs the scope *export*."""

    scopes: ClassVar = dict.fromkeys(("GET", "POST", "DELETE"), Scope.EXPORT)


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

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        request.accepted_renderer, request.accepted_media_type = self.perform_content_negotiation(
            request, force=True
        )
        self.check_throttles(request)
        raise Http404


def etag_of(data: Any) -> str:
    """The strong ETag of the response to a GET: a digest of its JSON."""
    return _etag(JSONRenderer().render(data))


def check_if_match(request: Request, data: Any) -> None:
    """Raises Stale if If-Match is sent and does not match `data`, the current response to a GET."""
    if_match = request.headers.get("if-match", "")
    if if_match and if_match.strip() != "*" and etag_of(data) not in parse_etags(if_match):
        raise Stale


class _Made(threading.local):
    """Serializers whose fields are made, by class and language. Each thread has its own, and each language:
    a field writes some of its messages once, when they are first shown."""

    def __init__(self) -> None:
        self.serializers: dict[tuple[type[_Strict], str | None], _Strict] = {}


_made = _Made()


def _serializer(kind: type[_Strict], data: Any) -> _Strict:
    """`kind(data=data)`, with fields that were made once: making them takes longer than validating. Apart
    from messages, they keep nothing of what they validate."""
    key = kind, get_language()
    if key not in _made.serializers:
        _made.serializers[key] = kind()
        list(_made.serializers[key].fields)  # made when first asked for
    serializer = copy.copy(_made.serializers[key])
    serializer.initial_data = data
    return serializer


def _etag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def read_body(stream: Any, parser_context: dict[str, Any]) -> str:
    """The text of a body; raises TooLarge."""
    length = parser_context["request"].headers.get("content-length", "")
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if length.isdigit() and int(length) > limit:
        raise TooLarge(f"The body is larger than {limit:,} bytes.")
    try:
        encoding = codecs.lookup(parser_context.get("encoding") or settings.DEFAULT_CHARSET).name
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
