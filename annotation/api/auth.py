"""Authentication, token scopes and rate limits. policies.py decides what an account may do."""

import copy
from typing import Any

from django.conf import settings
from django.http import QueryDict
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication, exceptions
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from annotation.api import tokens
from annotation.models import ApiToken


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer SECRET`; `Token SECRET` works too."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        keyword, _, secret = request.headers.get("authorization", "").partition(" ")
        if keyword.lower() not in ("bearer", "token"):
            return None
        token = tokens.authenticate(secret=secret.strip())
        if token is None:
            raise exceptions.AuthenticationFailed(
                "There is no such token, or it has expired or was revoked. Create one on the page /tokens/."
            )
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="visage"'


class SessionAuthentication(authentication.SessionAuthentication):
    """A user logged in with the browser. Changes need the CSRF token in the header."""

    def enforce_csrf(self, request: Request) -> None:
        # Django looks for the token in the form first and would read the whole body, for example a ZIP.
        # The API takes no forms, so give it an empty one.
        without_form: Any = copy.copy(request._request)
        without_form.POST = QueryDict()
        super().enforce_csrf(without_form)


class HasScope(BasePermission):
    """Requires an authenticated account, and for a token the scope that the view needs."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user.is_authenticated:
            return False
        needed = view.needed_scope(request.method)
        if isinstance(request.auth, ApiToken) and needed is not None and needed not in request.auth.scopes:
            raise exceptions.PermissionDenied(
                f"This needs a token with the scope '{needed}'; yours has: {', '.join(request.auth.scopes)}."
            )
        return True


class PerCaller(SimpleRateThrottle):
    """Rate limit: `API_RATE` for each token, account or, without either, IP address.

    Counted in Django's cache: over all processes and machines with CACHE_URL, otherwise in each process.
    While the shared cache is down, no request is refused.
    """

    def get_rate(self) -> str:
        return settings.API_RATE

    def get_cache_key(self, request: Request, view: object) -> str:
        if isinstance(request.auth, ApiToken):
            return f"api-rate-token-{request.auth.pk}"
        if request.user.is_authenticated:
            return f"api-rate-user-{request.user.pk}"
        return f"api-rate-address-{self.get_ident(request)}"


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token from the page /tokens/ or `manage.py token`. `Token SECRET` works too.",
        }


class SessionScheme(OpenApiAuthenticationExtension):
    target_class = SessionAuthentication
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "Logged in with the browser; changes need the header X-CSRFToken.",
        }
