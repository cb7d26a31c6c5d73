"""People and their roles, for admins. Only here is a name shown next to a pseudonym."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.accounts.queries import accounts as account_queries
from annotation.accounts.queries.accounts import Person
from annotation.accounts.serializers import (
    PasswordLinkSerializer,
    PersonActionSerializer,
    PersonDetailsSerializer,
    RolesBody,
)
from annotation.accounts.services import accounts
from annotation.api.errors import Conflict, refusals
from annotation.api.pages import list_query, page, page_serializer
from annotation.api.resource import Resource
from annotation.models import Annotator, EnrolmentStatus, Scope, Study

TAGS = ["accounts"]
SCOPES: dict[str, Scope] = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), Scope.ACCOUNTS)
_KINDS = {"account": "u", "no_account": "a"}


AccountsQuery = list_query(
    "Accounts",
    orders={"id": "pk"},
    default="-id",
    kind=serializers.ChoiceField(
        choices=sorted(_KINDS),
        default="account",
        help_text="no_account: annotators from imported or simulated answers, who cannot log in.",
    ),
    text=serializers.CharField(
        required=False,
        max_length=200,
        help_text="Part of a name, e-mail or pseudonym, or a complete platform id.",
    ),
    role=serializers.ChoiceField(
        choices=account_queries.ROLES, required=False, help_text="Only people with this role."
    ),
    state=serializers.ChoiceField(
        choices=["off", *EnrolmentStatus.values],
        required=False,
        help_text="off: accounts that are switched off. Else: people with this status in a study.",
    ),
)
REFUSED = {409: OpenApiResponse(description="Not possible; detail says why.")}


class Accounts(Resource):
    """Accounts, or annotators without one."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_list",
        parameters=[AccountsQuery],
        responses=page_serializer(PersonDetailsSerializer),
        tags=TAGS,
    )
    def get(self, request: Request) -> Response:
        require_admin(request)
        query = self.query(AccountsQuery)
        kind = _KINDS[query["kind"]]
        filters = {key: query[key] for key in ("text", "role", "state") if key in query}
        return page(
            request,
            account_queries.search(kind=kind, **filters),
            query=query,
            kind=AccountsQuery,
            row=PersonDetailsSerializer,
            prepare=lambda found: account_queries.persons(kind, found),
        )


class OneAccount(Resource):
    """A person."""

    scopes: ClassVar = SCOPES

    @extend_schema(operation_id="accounts_read", responses=PersonDetailsSerializer, tags=TAGS)
    def get(self, request: Request, who: str) -> Response:
        return _person_response(get_person(request, who))

    @extend_schema(
        operation_id="accounts_change",
        request=RolesBody,
        responses={200: PersonDetailsSerializer, **REFUSED},
        tags=TAGS,
    )
    def patch(self, request: Request, who: str) -> Response:
        """Give or remove roles, switch the account on or off: all changes or none."""
        person = get_person(request, who)
        body = self.body(RolesBody)
        changes: dict[str, Callable[..., bool]] = {
            "active": accounts.set_active,
            "creates_studies": accounts.set_may_create_studies,
            # Last, because admins who remove their own role cannot do more.
            "admin": accounts.set_admin,
        }
        user = _require_account(person)
        with refusals(accounts.AccountRefused), transaction.atomic():
            for name, change in changes.items():
                if name in body:
                    change(user=user, on=body[name], by=request.user)
        return _person_response(_reload(person))


class StudyLead(Resource):
    """Whether somebody leads a study."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_lead",
        request=None,
        responses={200: PersonDetailsSerializer, **REFUSED},
        tags=TAGS,
    )
    def put(self, request: Request, who: str, name: str) -> Response:
        """Make somebody a lead of a study."""
        return self._set(request, who, name, on=True)

    @extend_schema(
        operation_id="accounts_unlead", responses={200: PersonDetailsSerializer, **REFUSED}, tags=TAGS
    )
    def delete(self, request: Request, who: str, name: str) -> Response:
        """Remove somebody as a lead of a study."""
        return self._set(request, who, name, on=False)

    def _set(self, request: Request, who: str, name: str, *, on: bool) -> Response:
        person = get_person(request, who)
        study = get_object_or_404(Study, name=name)
        with refusals(accounts.AccountRefused):
            accounts.set_lead(user=_require_account(person), study=study, on=on, by=request.user)
        return _person_response(_reload(person))


class PasswordLink(Resource):
    """A password reset link. The program sends no mail."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_password_link",
        request=None,
        responses={201: PasswordLinkSerializer, **REFUSED},
        tags=TAGS,
    )
    def post(self, request: Request, who: str) -> Response:
        """Create a link to set a password, once. It is shown only here. The current password works until
        then."""
        person = get_person(request, who)
        with refusals(accounts.AccountRefused):
            uid, token = accounts.password_link(user=_require_account(person), by=request.user)
        url = request.build_absolute_uri(reverse("password_reset_confirm", args=[uid, token]))
        return Response(PasswordLinkSerializer({"url": url}).data, status=201)


class SecondFactor(Resource):
    """Somebody's two-factor authentication."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_remove_second_factor",
        responses={204: OpenApiResponse(description="They log in with the password alone."), **REFUSED},
        tags=TAGS,
    )
    def delete(self, request: Request, who: str) -> Response:
        """Remove it for somebody who lost their device. They can set it up again."""
        person = get_person(request, who)
        with refusals(accounts.AccountRefused):
            accounts.remove_second_factor(user=_require_account(person), by=request.user)
        return Response(status=204)


class BlockEverywhere(Resource):
    """Stop giving items to somebody in all studies. Items in progress go to others; their answers stay."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_block",
        request=None,
        responses={200: PersonActionSerializer, **REFUSED},
        tags=TAGS,
    )
    def post(self, request: Request, who: str) -> Response:
        return _act(request, who, accounts.block_everywhere)


class ReleaseEverywhere(Resource):
    """Return all of somebody's items in progress to the queues. Answers that still arrive are saved."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_release",
        request=None,
        responses={200: PersonActionSerializer, **REFUSED},
        tags=TAGS,
    )
    def post(self, request: Request, who: str) -> Response:
        return _act(request, who, accounts.release_everywhere)


def require_admin(request: Request) -> None:
    """404 for anybody but an admin."""
    if not policies.is_admin(request.user):
        raise Http404


def get_person(request: Request, who: str) -> Person:
    require_admin(request)
    found = account_queries.person(who)
    if found is None:
        raise Http404
    return found


def require_annotator(person: Person) -> Annotator:
    if person.annotator is None:
        raise Conflict("They are not an annotator.", state="no_annotator")
    return person.annotator


def _require_account(person: Person) -> Any:
    if person.user is None:
        raise Conflict("They have no account.", state="no_account")
    return person.user


def _act(request: Request, who: str, action: Callable[..., int]) -> Response:
    person = get_person(request, who)
    changed = action(annotator=require_annotator(person), by=request.user)
    return Response(PersonActionSerializer({"person": _reload(person), "changed": changed}).data)


def _reload(person: Person) -> Person:
    found = account_queries.person(person.who)
    if found is None:
        raise Http404
    return found


def _person_response(person: Person) -> Response:
    return Response(PersonDetailsSerializer(person).data)
