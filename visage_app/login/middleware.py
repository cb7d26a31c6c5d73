"""Nobody who must have a second factor does anything without it (SECOND_FACTOR; docs/administration.md).

A session whose account has one is only ever begun with it (views/login.py). What is left is an account that
has none and must: it can set one up, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import auth
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotation import policies
from annotation.accounts.queries.accounts import has_second_factor
from annotation.api import errors

OPEN = frozenset({"second_factor", "login", "login_code", "logout", "set_language", "healthz", "readyz"})
"""Names of the URLs that are reached without it."""


class SecondFactorMiddleware:
    """Sends who must have a second factor, and has logged in without, to set it up."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: object, *_arguments: Any) -> HttpResponse | None:
        where = request.resolver_match
        user: Any = request.user
        if (where is not None and where.view_name in OPEN) or not policies.needs_second_factor(user):
            return None
        if user.is_verified():
            return None
        if request.path.startswith("/api/"):
            return errors.forbidden(request, "This account must log in with a second step.")
        if has_second_factor(user):
            auth.logout(request)
            return redirect_to_login(request.get_full_path())
        return redirect("second_factor")
