"""Every page needs a login, and some accounts a second factor (SECOND_FACTOR; docs/administration.md)."""

from typing import Any

from django.contrib import auth
from django.contrib.auth import middleware
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.cache import add_never_cache_headers
from django.utils.deprecation import MiddlewareMixin

from annotation import policies
from annotation.accounts.queries.accounts import has_second_factor
from annotation.api import errors

OPEN = frozenset({"second_factor", "login", "login_code", "logout", "set_language", "healthz", "readyz"})
"""Names of the URLs that are available without it."""


class LoginRequiredMiddleware(middleware.LoginRequiredMiddleware):
    """Only views marked `login_not_required` are open. Pages behind the login are never cached, unless their
    view says otherwise."""

    def process_view(self, request: HttpRequest, view: Any, *arguments: Any) -> HttpResponseBase | None:
        # Open views do not read the session: probes must answer without the database.
        return super().process_view(request, view, *arguments) if _needs_login(request) else None

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if _needs_login(request) and not response.has_header("Cache-Control"):
            add_never_cache_headers(response)
        return response


def _needs_login(request: HttpRequest) -> bool:
    """False also for the admin site, which has a login check of its own, and for URLs that do not exist."""
    match = request.resolver_match
    return match is not None and match.app_name != "admin" and getattr(match.func, "login_required", True)


class SecondFactorMiddleware(MiddlewareMixin):
    """Redirects accounts that lack a required second factor to the page for setting it up."""

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
