"""Whose account a request comes from, and what its token may do."""

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
    """The token by which this request came. Tokens are made on the page /tokens/."""

    name = serializers.CharField()
    prefix = serializers.CharField(help_text="How its secret begins.")
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices))
    expires_at = serializers.DateTimeField()


class AccountSerializer(serializers.Serializer):
    """The account that the request stands for."""

    username = serializers.CharField()
    admin = serializers.BooleanField(help_text="May do everything.")
    creates_studies = serializers.BooleanField(help_text="May set up studies.")
    token = TokenSerializer(allow_null=True, help_text="null: logged in in the browser.")


class Account(Resource):
    """Who this request stands for, and what its token may do."""

    scopes: ClassVar = {"GET": None}

    @extend_schema(operation_id="account_read", responses=AccountSerializer, tags=["account"])
    def get(self, request: Request) -> Response:
        told = {
            "username": request.user.get_username(),
            "admin": policies.is_admin(request.user),
            "creates_studies": policies.may_create_studies(request.user),
            "token": request.auth if isinstance(request.auth, ApiToken) else None,
        }
        return Response(AccountSerializer(told).data)
