"""Refusals of forms that are too large, or whose files could not be saved because the disk is full."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from annotation.images import upload_spool


class BodyLimitMiddleware(MiddlewareMixin):
    """Responds with 413 to a multipart form that is larger than its view accepts from this user: the limit of
    form fields plus that of `accepts_files`.

    Must come before CsrfViewMiddleware: it looks for its token in the form, and Django writes the files of
    the form to disk, so anybody could fill the disk at any URL. Without a Content-Length, Django reads no
    body. The API takes no forms and limits its own bodies.
    """

    def process_view(self, request: HttpRequest, view: Any, *_arguments: Any) -> HttpResponse | None:
        if request.content_type != "multipart/form-data" or request.path.startswith("/api/"):
            return None
        length = request.headers.get("Content-Length", "")
        sent = int(length) if length.isdecimal() else 0
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if sent > limit and hasattr(view, "max_file_bytes"):
            limit += view.max_file_bytes(request.user)
        if sent <= limit:
            return None
        return render(request, "413.html", {"most": limit // 1_000_000}, status=413)


class DiskFullMiddleware(MiddlewareMixin):
    """Responds with 507 instead of the page, which would say that no file was sent. Must come after
    CsrfViewMiddleware, which reads the form."""

    def process_view(self, request: HttpRequest, *_arguments: Any) -> HttpResponse | None:
        if not upload_spool.ran_out_of_space(request):
            return None
        return render(request, "507.html", status=HTTPStatus.INSUFFICIENT_STORAGE)
