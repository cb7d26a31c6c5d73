"""The size limit of form requests, checked before the body is read.

Django limits the fields of a form but not its files, and writes them to disk before the view runs, because it
looks for the CSRF token among the fields. So anybody could fill the disk at any URL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


class BodyLimitMiddleware:
    """Responds with 413 to a multipart form that is larger than its view accepts from this user: the limit of
    form fields plus that of `accepts_files`. Must come before CsrfViewMiddleware.

    Without a Content-Length, Django reads no body. The API takes no forms and limits its own bodies.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *_arguments: Any) -> HttpResponse | None:
        if request.content_type != "multipart/form-data" or request.path.startswith("/api/"):
            return None
        length = request.headers.get("Content-Length") or "0"
        sent = int(length) if length.isdecimal() else 0
        fields = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if sent <= fields:
            return None
        files = view.max_file_bytes(request.user) if hasattr(view, "max_file_bytes") else 0
        if sent <= fields + files:
            return None
        return render(request, "413.html", {"most": (fields + files) // 1_000_000}, status=413)
