"""The schema that drf-spectacular makes of the resources: errors and conditions on every operation."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema

from annotation.api.errors import MEDIA_TYPE, ProblemSerializer
from annotation.api.resource import Body, Resource

_ALWAYS = {
    "401": "Nobody is known by this request.",
    "403": "The token lacks the scope.",
    "404": "There is nothing here, or nothing that is yours to see.",
    "406": "It does not come in a form that Accept names.",
    "429": "Too many requests; Retry-After says when to come again.",
}
# Where something is sent: in the body, or as parameters.
_SENT = {
    "400": "What was sent cannot be read, or has fields that cannot be.",
    "422": "What was sent can be read, and what it says cannot be done.",
}
_BODY = {
    "413": "The body is too large.",
    "415": "The body is of another kind than is read here.",
}


class Schema(AutoSchema):
    """Adds to each operation its scope, the errors, and for a GET the ETag."""

    def get_description(self) -> str:
        scope = self.view.needed_scope(self.method) if isinstance(self.view, Resource) else None
        said = super().get_description() or ""
        return f"{said}\n\nScope: `{scope}`." if scope else said

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        shape = self.resolve_serializer(ProblemSerializer(), "response").ref
        responses = operation["responses"]
        if self.method == "GET" and "200" in responses:
            responses["200"].setdefault("headers", {})["ETag"] = {
                "schema": {"type": "string"},
                "description": "Send it back as If-None-Match: 304 while nothing has changed.",
            }
            responses["304"] = {"description": "What you have is what there is (If-None-Match)."}
        wrong = dict(_ALWAYS)
        if operation.get("requestBody") or operation.get("parameters"):
            wrong |= _SENT
        if operation.get("requestBody"):
            wrong |= _BODY
        for status, words in wrong.items():
            one = responses.setdefault(status, {"description": words})
            one["content"] = {MEDIA_TYPE: {"schema": shape}}
        for status, one in responses.items():
            if status.startswith(("4", "5")):
                one["content"] = {MEDIA_TYPE: {"schema": shape}}
        return operation


class StrictBody(OpenApiSerializerExtension):
    """A body with another key is refused, and the schema says so."""

    target_class = Body
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**schema, "additionalProperties": False}
