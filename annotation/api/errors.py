"""Errors in one shape: RFC 9457, `application/problem+json` (docs/api.md)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from rest_framework import exceptions, serializers
from rest_framework.response import Response
from rest_framework.views import set_rollback

MEDIA_TYPE = "application/problem+json"
_TYPES = {
    401: "not-authenticated",
    403: "not-permitted",
    412: "changed-meanwhile",
    413: "too-large",
    414: "too-long",
    422: "refused",
    429: "throttled",
    431: "too-long",
    500: "server-error",
    503: "busy",
    507: "no-room",
}
"""Status -> type of error, where it is not the status's phrase."""


class Conflict(exceptions.APIException):
    """The request conflicts with the current state: `state`, where it has a name."""

    status_code = HTTPStatus.CONFLICT

    def __init__(self, detail: str, *, state: str = "") -> None:
        super().__init__(detail)
        self.state = state


class NoItemsLeft(exceptions.NotFound):
    """No items are left for this annotator."""

    kind = "nothing-left"


class Busy(exceptions.APIException):
    """The answer is not available yet: try again after `wait` seconds."""

    status_code = HTTPStatus.SERVICE_UNAVAILABLE
    wait = 2


class Refused(exceptions.APIException):
    """The request is well formed but cannot be carried out."""

    status_code = HTTPStatus.UNPROCESSABLE_ENTITY


def refused_form(form: BaseForm) -> Refused:
    """What is wrong with a page's form that validated a request, by field."""
    return Refused(
        {
            "non_field_errors" if name == "__all__" else name: [str(each) for each in errors]
            for name, errors in form.errors.items()
        }
    )


class Stale(exceptions.APIException):
    """If-Match names a version that is not the current one."""

    status_code = HTTPStatus.PRECONDITION_FAILED
    default_detail = "It has changed since you read it. Read it again and send your change with the new ETag."


class StorageUnreachable(exceptions.APIException):
    """The storage that holds the file does not answer."""

    kind = "unreachable"
    status_code = HTTPStatus.SERVICE_UNAVAILABLE
    default_detail = "The storage does not answer at the moment. Try again in a few seconds."
    wait = 5


class TooLarge(exceptions.APIException):
    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    default_detail = "The body is too large."


class InsufficientStorage(exceptions.APIException):
    """The disk for uploads is full."""

    status_code = HTTPStatus.INSUFFICIENT_STORAGE
    default_detail = (
        "The server's disk is full. Nothing you sent was saved. Ask the server's administrator to free "
        "space, then send it again."
    )


class BadQuery(exceptions.ValidationError):
    """Invalid query parameters: parameter -> messages."""


class BadCursor(BadQuery):
    """A cursor that this list did not issue."""

    status_code = HTTPStatus.UNPROCESSABLE_ENTITY


class FieldErrorSerializer(serializers.Serializer):
    """One error: in the body at `pointer`, or in the query parameter `parameter`."""

    detail = serializers.CharField(help_text="What is wrong.")
    pointer = serializers.CharField(required=False, help_text="JSON pointer (RFC 6901) into the body.")
    parameter = serializers.CharField(required=False, help_text="Name of the query parameter.")


class ProblemSerializer(serializers.Serializer):
    """An error in the format of RFC 9457."""

    type = serializers.CharField(help_text="The type of error, for example urn:visage:problem:not-found.")
    title = serializers.CharField(help_text="The type in words.")
    status = serializers.IntegerField(help_text="The HTTP status.")
    detail = serializers.CharField(help_text="What happened and what to do.")
    instance = serializers.CharField(help_text="The requested path; empty with 414 and 431.")
    errors = FieldErrorSerializer(many=True, required=False, help_text="The individual errors.")
    state = serializers.CharField(required=False, help_text="The current state, for programs.")


@contextmanager
def refusals(
    *kinds: type[Exception],
    forbidden: type[Exception] | tuple[()] = (),
    status: int = HTTPStatus.CONFLICT,
) -> Iterator[None]:
    """Translate the exceptions `kinds` of services to 409 (the state does not allow it) or 422 (the input
    cannot be used), and `forbidden`, one of them, to 403."""
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
    body: dict[str, Any] = {
        "type": f"urn:visage:problem:{kind}",
        "title": phrase,
        "status": status,
        "detail": detail,
        "instance": instance,
    }
    return body | ({"errors": errors} if errors else {})


def exception_handler(exc: Exception, context: Mapping[str, Any]) -> Response | None:
    """Every error of the API as a problem; None for an unexpected one, which becomes a 500."""
    if isinstance(exc, Http404):
        exc = exceptions.NotFound("There is nothing here, or nothing you may see.")
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
        detail = " ".join(_as_text(one) for one in errors)
    request = context["request"]
    kind = getattr(exc, "kind", "")
    body = problem(status=exc.status_code, detail=detail, instance=request.path, kind=kind, errors=errors)
    if state := getattr(exc, "state", ""):
        body["state"] = state
    return Response(body, status=exc.status_code, headers=headers, content_type=MEDIA_TYPE)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Requests that Django refuses before any view: for the API in the API's format."""
    if not request.path.startswith("/api/"):
        return defaults.bad_request(request, exception)
    return problem_response(request, 400, "The request cannot be read.")


def server_error(request: HttpRequest) -> HttpResponse:
    if not request.path.startswith("/api/"):
        return defaults.server_error(request)
    return problem_response(
        request, 500, "Something went wrong on the server. It was logged, and nothing was partly saved."
    )


def problem_response(request: HttpRequest, status: int, detail: str) -> HttpResponse:
    """A problem for a request that never reached the API."""
    body = problem(status=status, detail=detail, instance=request.path)
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE)


def _as_text(error: Mapping[str, str]) -> str:
    place = error.get("parameter") or error.get("pointer", "").strip("/")
    return f"{place}: {error['detail']}" if place else error["detail"]


def _errors(detail: Any, *, query: bool, pointer: str = "") -> Iterator[dict[str, str]]:
    """Each message with the place it refers to."""
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            escaped = str(key).replace("~", "~0").replace("/", "~1")
            here = pointer if key == "non_field_errors" else f"{pointer}/{escaped}"
            yield from _errors(value, query=query, pointer=here)
    elif isinstance(detail, list | tuple):
        for number, value in enumerate(detail):
            nested = isinstance(value, Mapping | list | tuple)
            yield from _errors(value, query=query, pointer=f"{pointer}/{number}" if nested else pointer)
    else:
        place = {"parameter": pointer.strip("/").partition("/")[0]} if query else {"pointer": pointer}
        yield {"detail": str(detail), **place}
