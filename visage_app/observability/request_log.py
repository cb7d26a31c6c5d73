"""The outermost middleware: gives each request an id, writes its line into the log and counts it."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from visage_app.observability import request_metrics
from visage_app.observability.log_lines import META, request_id, route_of

log = logging.getLogger("visage_app.requests")
HEADER = "X-Request-ID"
_USABLE = re.compile(r"[A-Za-z0-9_-]{8,64}")


class RequestLogMiddleware:
    """Everything that is logged while a request is answered carries its id, and so does the answer: who
    quotes it leads to those lines. The line of the request says what was asked of which route, never by
    whom, from where or with which values."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.META[META] = identity(request)
        token = request_id.set(given)
        began = time.perf_counter()
        try:
            response = self._get_response(request)
            seconds = time.perf_counter() - began
            response[HEADER] = given
            self._tell(request, response.status_code, seconds)
        finally:
            request_id.reset(token)
        return response

    def _tell(self, request: HttpRequest, status: int, seconds: float) -> None:
        route, method = route_of(request), request_metrics.method_of(request)
        request_metrics.count(route=route, method=method, status=status, seconds=seconds)
        if log.isEnabledFor(logging.INFO):
            told = {"route": route, "method": method, "status": status}
            told["duration_ms"] = round(seconds * 1000, 1)
            log.info("%s %s %s in %s ms", method, route, status, told["duration_ms"], extra=told)


def identity(request: HttpRequest) -> str:
    """The id that our proxy gave the request, else a new one: without a proxy anybody could choose it."""
    given = request.headers.get(HEADER, "") if settings.BEHIND_PROXY else ""
    return given if _USABLE.fullmatch(given) else secrets.token_hex(8)
