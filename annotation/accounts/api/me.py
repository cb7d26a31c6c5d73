"""The account and the token of a request."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.resource import Resource
from annotation.models import ApiToken, Scope


class TokenSerializer(serializers.Serializer):
    """The token that this request was made with. Tokens are created on the page /tokens/."""

    name = serializers.CharField()
    prefix = serializers.CharField(help_text="How its secret begins.")
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices))
    expires_at = serializers.DateTimeField()


class AccountSerializer(serializers.Serializer):
    """The account that makes the request."""

    username = serializers.CharField()
    admin = serializers.BooleanField(help_text="Can do everything.")
    creates_studies = serializers.BooleanField(help_text="Can set up studies.")
    token = TokenSerializer(allow_null=True, help_text="null: a browser session.")


class Account(Resource):
    """The account that makes this request, and what its token may do."""

    scopes: ClassVar = {"GET": None}

    @extend_schema(operation_id="account_read", responses=AccountSerializer, tags=["account"])
    def get(self, request: Request) -> Response:
        data = {
            "username": request.user.get_username(),
            "admin": policies.is_admin(request.user),
            "creates_studies": policies.may_create_studies(request.user),
            "token": request.auth if isinstance(request.auth, ApiToken) else None,
        }
        return Response(AccountSerializer(data).data)
