"""Enforces the second factor for accounts that must have one (SECOND_FACTOR; docs/administration.md).

Accounts with a second factor can only log in with it (views/login.py). An account that must have one but does
not can only set it up.
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
"""Names of the URLs that are available without it."""


class SecondFactorMiddleware:
    """Redirects accounts that lack a required second factor to the page for setting it up."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: object, *_arguments: Any) -> HttpResponse | None:
        match = request.resolver_match
        user: Any = request.user
        if (match is not None and match.view_name in OPEN) or not policies.needs_second_factor(user):
            return None
        if user.is_verified():
            return None
        if request.path.startswith("/api/"):
            return errors.problem_response(request, 403, "This account must log in with a second factor.")
        if has_second_factor(user):
            auth.logout(request)
            return redirect_to_login(request.get_full_path())
        return redirect("second_factor")
