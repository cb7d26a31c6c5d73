"""The account of a request and its tokens, which are created on a page or by a command (docs/api.md)."""

from functools import partial
from typing import ClassVar

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.accounts.queries import tokens as token_queries
from annotation.api import tokens
from annotation.api.pages import documents_list, filtered_page, list_query
from annotation.api.resource import Resource
from annotation.models import ApiToken, Scope

operation = partial(extend_schema, tags=["account"])
REVOKED = {204: OpenApiResponse(description="It is revoked.")}


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

    @operation(operation_id="account_read", responses=AccountSerializer)
    def get(self, request: Request) -> Response:
        data = {
            "username": request.user.get_username(),
            "admin": policies.is_admin(request.user),
            "creates_studies": policies.may_create_studies(request.user),
            "token": request.auth if isinstance(request.auth, ApiToken) else None,
        }
        return Response(AccountSerializer(data).data)


class OwnTokenSerializer(serializers.Serializer):
    """A token of this account. Its secret is not stored."""

    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    prefix = serializers.CharField(help_text="How its secret begins.")
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices))
    state = serializers.ChoiceField(choices=token_queries.STATES)
    in_use = serializers.SerializerMethodField(help_text="Whether this request was made with it.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute; null: never.")
    revoked_at = serializers.DateTimeField(allow_null=True)

    def get_in_use(self, token: ApiToken) -> bool:
        return bool(token == self.context["request"].auth)


TokensQuery = list_query(
    "OwnTokens",
    orders={"id": "pk"},
    default="-id",
    state=serializers.ChoiceField(
        choices=token_queries.STATES, required=False, help_text="Only tokens in this state."
    ),
)


class OwnTokens(Resource):
    """The tokens of this account."""

    @documents_list("tokens_list", query=TokensQuery, row=OwnTokenSerializer, tag="account")
    def get(self, request: Request) -> Response:
        rows = token_queries.tokens_with_state(request.user)
        return filtered_page(self, rows, kind=TokensQuery, row=OwnTokenSerializer)


class OneOwnToken(Resource):
    """A token of this account."""

    @operation(operation_id="tokens_revoke", responses=REVOKED)
    def delete(self, request: Request, number: int) -> Response:
        """Revoke it. Idempotent."""
        token = get_object_or_404(ApiToken, pk=number, user=request.user)
        tokens.revoke(token=token, by=request.user)
        return Response(status=204)


class TokenInUse(Resource):
    """The token that this request was made with."""

    scopes: ClassVar = {"DELETE": None}

    @operation(operation_id="account_revoke_token", responses=REVOKED)
    def delete(self, request: Request) -> Response:
        """Revoke it, whatever its scopes: whoever finds a leaked token can end it."""
        if not isinstance(request.auth, ApiToken):
            raise Http404
        tokens.revoke(token=request.auth, by=request.user)
        return Response(status=204)
