"""ETags: 304 for a GET whose result the client has, 412 for a change that would overwrite another."""

from __future__ import annotations

import hashlib
from typing import Any

from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import parse_etags
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.errors import Stale


def etag_of(data: Any) -> str:
    """The strong ETag of the response to a GET: a digest of its JSON."""
    return _etag(JSONRenderer().render(data))


def with_etag(request: Request, response: Response) -> Any:
    """A rendered 200 response with its ETag, or 304 if the client has it already."""
    etag = _etag(response.content)
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    patch_vary_headers(response, ["Authorization", "Cookie", "Accept"])
    return get_conditional_response(request, etag=etag, response=response)


def check_if_match(request: Request, data: Any) -> None:
    """Raises Stale if If-Match is sent and does not match `data`, the current response to a GET."""
    if_match = request.headers.get("if-match", "")
    if if_match and if_match.strip() != "*" and etag_of(data) not in parse_etags(if_match):
        raise Stale


def _etag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'
