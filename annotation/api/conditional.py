"""ETags: reading what is known already is answered by 304, a change that would overwrite another's by 412."""

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
    """The strong ETag of what a GET answers: a digest of its JSON."""
    return f'"{hashlib.sha256(JSONRenderer().render(data)).hexdigest()[:32]}"'


def unless_known(request: Request, response: Response) -> Any:
    """A rendered 200 with its ETag, or 304 if the client has it already."""
    etag = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    patch_vary_headers(response, ["Authorization", "Cookie", "Accept"])
    return get_conditional_response(request, etag=etag, response=response)


def check_match(request: Request, data: Any) -> None:
    """Raises Stale unless If-Match, where it is sent, names what there is now (`data`: what GET answers)."""
    given = request.headers.get("if-match", "")
    if given and given.strip() != "*" and etag_of(data) not in parse_etags(given):
        raise Stale
