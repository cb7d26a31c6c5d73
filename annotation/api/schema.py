"""The OpenAPI schema from drf-spectacular, with errors and conditional requests on every operation."""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema

from annotation.api.errors import MEDIA_TYPE, ProblemSerializer
from annotation.api.resource import Body, Resource

_ALL = {
    "401": "The request is not authenticated.",
    "403": "The token lacks the scope.",
    "404": "There is nothing here, or nothing you may see.",
    "406": "None of the media types in Accept is available.",
    "429": "Too many requests; Retry-After says when to try again.",
}
# For operations with a body or parameters.
_WITH_INPUT = {
    "400": "The request cannot be read, or a field is unknown or invalid.",
    "422": "The request is well formed but cannot be carried out.",
}
_WITH_BODY = {
    "413": "The body is too large.",
    "415": "The media type of the body is not supported.",
}


class Schema(AutoSchema):
    """Adds to each operation its scope and errors, and to a GET the ETag."""

    def get_description(self) -> str:
        scope = self.view.needed_scope(self.method) if isinstance(self.view, Resource) else None
        description = super().get_description() or ""
        return f"{description}\n\nScope: `{scope}`." if scope else description

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        shape = self.resolve_serializer(ProblemSerializer(), "response").ref
        responses = operation["responses"]
        if self.method == "GET" and "200" in responses:
            responses["200"].setdefault("headers", {})["ETag"] = {
                "schema": {"type": "string"},
                "description": "Send it as If-None-Match: 304 while nothing has changed.",
            }
            responses["304"] = {"description": "Nothing has changed (If-None-Match)."}
        errors = dict(_ALL)
        if operation.get("requestBody") or operation.get("parameters"):
            errors |= _WITH_INPUT
        if operation.get("requestBody"):
            errors |= _WITH_BODY
        for status, text in errors.items():
            responses.setdefault(status, {"description": text})
        for status, response in responses.items():
            if status.startswith(("4", "5")):
                response["content"] = {MEDIA_TYPE: {"schema": shape}}
        return operation


class StrictBody(OpenApiSerializerExtension):
    """The schema says that unknown keys are refused."""

    target_class = Body
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**schema, "additionalProperties": False}
