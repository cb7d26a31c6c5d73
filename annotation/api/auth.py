"""Who asks, and what their token is for. What the account may do is for policies.py to say."""

from __future__ import annotations

import copy
from typing import Any

from django.http import QueryDict
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework import authentication, exceptions
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from annotation.api import tokens
from annotation.models import ApiToken, Scope

_KEYWORDS = ("bearer", "token")


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer SECRET`; `Token SECRET` is the same."""

    def authenticate(self, request: Request) -> tuple[Any, ApiToken] | None:
        keyword, _, secret = request.headers.get("authorization", "").partition(" ")
        if keyword.lower() not in _KEYWORDS:
            return None
        token = tokens.authenticate(secret=secret.strip())
        if token is None:
            raise exceptions.AuthenticationFailed(
                "There is no such token, or it has expired or was revoked. Make one on the page /tokens/."
            )
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="visage"'


class SessionAuthentication(authentication.SessionAuthentication):
    """Who is logged in in the browser; what changes something needs the CSRF token, in the header."""

    def enforce_csrf(self, request: Request) -> None:
        # Django looks for the token in the form first, for which the whole body would be read, a ZIP say.
        # No form comes here: let it look into an empty one.
        bare: Any = copy.copy(request._request)
        bare.POST = QueryDict()
        super().enforce_csrf(bare)


class Scoped(BasePermission):
    """Somebody who is known, and by a token only what it was made for."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user.is_authenticated:
            return False
        needed = view.needed_scope(request.method)
        if isinstance(request.auth, ApiToken) and needed is not None and needed not in request.auth.scopes:
            raise exceptions.PermissionDenied(
                f"This needs a token with the scope '{needed}'; yours has: {', '.join(request.auth.scopes)}."
            )
        return True


def default_scope(method: str) -> Scope:
    """Reading needs *read*, whatever changes something *manage*."""
    return Scope.READ if method in SAFE_METHODS else Scope.MANAGE


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of the page /tokens/ or of `manage.py token`. Also: `Token SECRET`.",
        }


class SessionScheme(OpenApiAuthenticationExtension):
    target_class = SessionAuthentication
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "Logged in in the browser; changes need the header X-CSRFToken.",
        }
