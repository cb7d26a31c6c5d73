"""The response to a form whose files could not be saved because the disk is full."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation.images import upload_spool


class DiskFullMiddleware:
    """Responds with 507 instead of the page, which would say that no file was sent. Must come after
    CsrfViewMiddleware, which reads the form."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_arguments: Any) -> HttpResponse | None:
        if not upload_spool.ran_out_of_space(request):
            return None
        return render(request, "507.html", status=HTTPStatus.INSUFFICIENT_STORAGE)
