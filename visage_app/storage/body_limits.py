"""How much a form may send, decided before anything of it is read.

Django bounds the fields of a form and reads its files without bound, onto the disk, and it reads them before
a view is asked: the forgery token is looked for among the fields. So anybody could fill the disk at any page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


class BodyLimitMiddleware:
    """Answers 413 to a form with files that is larger than its page takes from whoever sends it: what the
    fields of any form may hold, or what `accepts_files` says of the view. Stands before the forgery check.

    Without a Content-Length nothing is read at all. The API reads no form, and bounds its own bodies.
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
