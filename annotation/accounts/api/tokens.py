"""An account's own tokens: list and revoke them. They are created on a page or by a command (docs/api.md)."""

from __future__ import annotations

from typing import ClassVar

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.accounts.queries import tokens as token_queries
from annotation.accounts.queries.tokens import TokenRow
from annotation.api import tokens
from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import Resource
from annotation.models import ApiToken, Scope

TAGS = ["account"]
REVOKED = {204: OpenApiResponse(description="It is revoked.")}


class OwnTokenSerializer(serializers.Serializer):
    """A token of this account. Its secret is not stored."""

    id = serializers.IntegerField(source="token.pk")
    name = serializers.CharField(source="token.name")
    prefix = serializers.CharField(source="token.prefix", help_text="How its secret begins.")
    scopes = serializers.ListField(
        source="token.scopes", child=serializers.ChoiceField(choices=Scope.choices)
    )
    state = serializers.ChoiceField(choices=token_queries.STATES)
    in_use = serializers.SerializerMethodField(help_text="Whether this request was made with it.")
    created_at = serializers.DateTimeField(source="token.created_at")
    expires_at = serializers.DateTimeField(source="token.expires_at")
    last_used_at = serializers.DateTimeField(
        source="token.last_used_at", allow_null=True, help_text="To the minute; null: never."
    )
    revoked_at = serializers.DateTimeField(source="token.revoked_at", allow_null=True)

    def get_in_use(self, row: TokenRow) -> bool:
        return bool(row.token == self.context["request"].auth)


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

    @extend_schema(
        operation_id="tokens_list",
        parameters=[TokensQuery],
        responses=page_serializer(OwnTokenSerializer),
        tags=TAGS,
    )
    def get(self, request: Request) -> Response:
        query = self.query(TokensQuery)
        return page(
            request,
            token_queries.filter_by_state(request.user, state=query.get("state", "")),
            query=query,
            kind=TokensQuery,
            row=OwnTokenSerializer,
            prepare=token_queries.token_rows,
        )


class OneOwnToken(Resource):
    """A token of this account."""

    @extend_schema(operation_id="tokens_revoke", responses=REVOKED, tags=TAGS)
    def delete(self, request: Request, number: int) -> Response:
        """Revoke it. Idempotent."""
        token = get_object_or_404(ApiToken, pk=number, user=request.user)
        tokens.revoke(token=token, by=request.user)
        return Response(status=204)


class TokenInUse(Resource):
    """The token that this request was made with."""

    scopes: ClassVar = {"DELETE": None}

    @extend_schema(operation_id="account_revoke_token", responses=REVOKED, tags=TAGS)
    def delete(self, request: Request) -> Response:
        """Revoke it, whatever its scopes: whoever finds a leaked token can end it."""
        if not isinstance(request.auth, ApiToken):
            raise Http404
        tokens.revoke(token=request.auth, by=request.user)
        return Response(status=204)
