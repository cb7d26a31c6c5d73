"""The outermost middleware: gives each request an id, logs it and counts it."""

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
    """All log lines of a request and its response have the request id, so a user can quote it. The line for
    the request has its method and route, but no user, IP address or values."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        current_id = request.META[META] = id_of_request(request)
        token = request_id.set(current_id)
        began = time.perf_counter()
        try:
            response = self._get_response(request)
            seconds = time.perf_counter() - began
            response[HEADER] = current_id
            self._record(request, response.status_code, seconds)
        finally:
            request_id.reset(token)
        return response

    def _record(self, request: HttpRequest, status: int, seconds: float) -> None:
        route, method = route_of(request), request_metrics.method_of(request)
        request_metrics.count(route=route, method=method, status=status, seconds=seconds)
        if log.isEnabledFor(logging.INFO):
            fields = {"route": route, "method": method, "status": status}
            fields["duration_ms"] = round(seconds * 1000, 1)
            log.info("%s %s %s in %s ms", method, route, status, fields["duration_ms"], extra=fields)


def id_of_request(request: HttpRequest) -> str:
    """The request id from our proxy, or a new one: without a proxy, clients could choose it."""
    current_id = request.headers.get(HEADER, "") if settings.BEHIND_PROXY else ""
    return current_id if _USABLE.fullmatch(current_id) else secrets.token_hex(8)
