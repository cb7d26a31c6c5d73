"""Errors in one shape: RFC 9457, `application/problem+json` (docs/api.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from rest_framework import exceptions, serializers
from rest_framework.response import Response
from rest_framework.views import set_rollback

MEDIA_TYPE = "application/problem+json"
_TYPES = {
    400: "bad-request",
    401: "not-authenticated",
    403: "not-permitted",
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    409: "conflict",
    412: "changed-meanwhile",
    413: "too-large",
    414: "too-long",
    415: "unsupported-media-type",
    422: "refused",
    429: "throttled",
    431: "too-long",
    500: "server-error",
    503: "busy",
    507: "no-room",
}


class Conflict(exceptions.APIException):
    """What is asked does not fit the state that things are in: `state`, where there is a word for it."""

    status_code = HTTPStatus.CONFLICT
    default_detail = "This does not fit the state that it is in."

    def __init__(self, detail: str | None = None, *, state: str = "") -> None:
        super().__init__(detail)
        self.state = state


class NothingLeft(exceptions.NotFound):
    """There is nothing more to do for who asks."""

    kind = "nothing-left"


class Busy(exceptions.APIException):
    """It cannot be said at this moment, and it will be: come again after `wait` seconds."""

    status_code = HTTPStatus.SERVICE_UNAVAILABLE
    default_detail = "Come again in a moment."
    wait = 2


class Refused(exceptions.APIException):
    """The request is well formed, and what it says cannot be done."""

    status_code = HTTPStatus.UNPROCESSABLE_ENTITY
    default_detail = "This cannot be done."


class Stale(exceptions.APIException):
    """If-Match names another version than there is."""

    status_code = HTTPStatus.PRECONDITION_FAILED
    default_detail = "It was changed since you read it. Read it again, and send your change with its ETag."


class Unreachable(exceptions.APIException):
    """What is asked for is kept elsewhere, and that does not answer."""

    kind = "unreachable"
    status_code = HTTPStatus.SERVICE_UNAVAILABLE
    default_detail = "Where this is kept does not answer at the moment. Ask again in some seconds."
    wait = 5


class TooLarge(exceptions.APIException):
    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    default_detail = "The body is too large."


class NoRoom(exceptions.APIException):
    """The disk is full on which what is sent would be kept."""

    status_code = HTTPStatus.INSUFFICIENT_STORAGE
    default_detail = (
        "The server's disk is full. Nothing of what you sent was kept. Ask whoever runs the server to make "
        "room on it, then send it again."
    )


class BadQuery(exceptions.ValidationError):
    """Query parameters that are wrong: parameter -> what is wrong."""


class BadCursor(BadQuery):
    """A cursor that this list never gave out."""

    status_code = HTTPStatus.UNPROCESSABLE_ENTITY


class FieldErrorSerializer(serializers.Serializer):
    """One thing that is wrong: in the body, at `pointer`, or in the query parameter `parameter`."""

    detail = serializers.CharField(help_text="What is wrong with it.")
    pointer = serializers.CharField(
        required=False, help_text="JSON pointer (RFC 6901) to the place in the body."
    )
    parameter = serializers.CharField(required=False, help_text="Name of the query parameter.")


class ProblemSerializer(serializers.Serializer):
    """An error, as RFC 9457 has it."""

    type = serializers.CharField(help_text="What kind of error: urn:visage:problem:not-found, say.")
    title = serializers.CharField(help_text="The kind in words.")
    status = serializers.IntegerField(help_text="The HTTP status.")
    detail = serializers.CharField(help_text="What happened here, and what to do.")
    instance = serializers.CharField(help_text="The path that was asked; empty with 414 and 431.")
    errors = FieldErrorSerializer(many=True, required=False, help_text="What is wrong, one by one.")
    state = serializers.CharField(required=False, help_text="In which state it is, where a program asks.")


@contextmanager
def refusals(
    *kinds: type[Exception],
    forbidden: type[Exception] | tuple[()] = (),
    status: int = HTTPStatus.CONFLICT,
) -> Iterator[None]:
    """What services refuse by raising `kinds`, as 409 (the state does not allow it) or 422 (what was sent
    cannot be used); `forbidden`, one of them, as 403."""
    try:
        yield
    except forbidden as refused:
        raise exceptions.PermissionDenied(str(refused)) from refused
    except kinds as refused:
        raise (Conflict if status == HTTPStatus.CONFLICT else Refused)(str(refused)) from refused


def problem(
    *, status: int, detail: str, instance: str, kind: str = "", errors: list[dict[str, str]] | None = None
) -> dict[str, Any]:
    """The body of an error."""
    phrase = HTTPStatus(status).phrase
    kind = kind or _TYPES.get(status, phrase.lower().replace(" ", "-"))
    said: dict[str, Any] = {
        "type": f"urn:visage:problem:{kind}",
        "title": phrase,
        "status": status,
        "detail": detail,
        "instance": instance,
    }
    return said | ({"errors": errors} if errors else {})


def handle(exc: Exception, context: Mapping[str, Any]) -> Response | None:
    """Every error of the API as a problem; None for what nobody foresaw, which becomes a 500."""
    if isinstance(exc, Http404):
        exc = exceptions.NotFound("There is nothing here, or nothing that is yours to see.")
    elif isinstance(exc, PermissionDenied):
        exc = exceptions.PermissionDenied()
    elif isinstance(exc, RequestDataTooBig):
        exc = TooLarge()
    if not isinstance(exc, exceptions.APIException):
        return None
    set_rollback()
    headers = {}
    if challenge := getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if wait := getattr(exc, "wait", None):
        headers["Retry-After"] = str(max(1, round(wait + 0.5)))
    errors: list[dict[str, str]] = []
    detail = str(exc.detail) if not isinstance(exc.detail, list | dict) else ""
    if not detail:
        errors = list(_errors(exc.detail, query=isinstance(exc, BadQuery)))
        detail = " ".join(_told(one) for one in errors)
    request = context["request"]
    kind = getattr(exc, "kind", "")
    body = problem(status=exc.status_code, detail=detail, instance=request.path, kind=kind, errors=errors)
    if state := getattr(exc, "state", ""):
        body["state"] = state
    return Response(body, status=exc.status_code, headers=headers, content_type=MEDIA_TYPE)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """What Django refuses before any view is asked: in the API's shape, where it was the API."""
    if not request.path.startswith("/api/"):
        return defaults.bad_request(request, exception)
    return _plain(request, 400, "The request cannot be read.")


def server_error(request: HttpRequest) -> HttpResponse:
    if not request.path.startswith("/api/"):
        return defaults.server_error(request)
    return _plain(request, 500, "Something went wrong here. It was logged; nothing was half-written.")


def forbidden(request: HttpRequest, detail: str) -> HttpResponse:
    """What is refused before the API is asked."""
    return _plain(request, 403, detail)


def _plain(request: HttpRequest, status: int, detail: str) -> HttpResponse:
    body = problem(status=status, detail=detail, instance=request.path)
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE)


def _told(error: Mapping[str, str]) -> str:
    place = error.get("parameter") or error.get("pointer", "").strip("/")
    return f"{place}: {error['detail']}" if place else error["detail"]


def _errors(detail: Any, *, query: bool, pointer: str = "") -> Iterator[dict[str, str]]:
    """Each message with the place that it is about."""
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            here = pointer if key == "non_field_errors" else f"{pointer}/{_escaped(str(key))}"
            yield from _errors(value, query=query, pointer=here)
    elif isinstance(detail, list | tuple):
        for number, value in enumerate(detail):
            nested = isinstance(value, Mapping | list | tuple)
            yield from _errors(value, query=query, pointer=f"{pointer}/{number}" if nested else pointer)
    else:
        place = {"parameter": pointer.strip("/").partition("/")[0]} if query else {"pointer": pointer}
        yield {"detail": str(detail), **place}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
