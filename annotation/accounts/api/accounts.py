"""Everybody there is, and what they may do. For admins: here alone a name stands beside a pseudonym."""

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
from annotation.accounts.serializers import DoneSerializer, EverybodySerializer, LinkSerializer, RolesBody
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
        help_text="no_account: annotators who cannot log in, from imported or simulated answers.",
    ),
    text=serializers.CharField(
        required=False, max_length=200, help_text="In name, e-mail or pseudonym; or all of a platform's id."
    ),
    role=serializers.ChoiceField(
        choices=account_queries.ROLES, required=False, help_text="Only who has this role."
    ),
    state=serializers.ChoiceField(
        choices=["off", *EnrolmentStatus.values],
        required=False,
        help_text="off: accounts that are switched off; else: who stands so in some study.",
    ),
)
REFUSED = {409: OpenApiResponse(description="It cannot be done about them; detail says why.")}


class Accounts(Resource):
    """Everybody who can log in, or, asked for apart, annotators who cannot."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_list",
        parameters=[AccountsQuery],
        responses=page_serializer(EverybodySerializer),
        tags=TAGS,
    )
    def get(self, request: Request) -> Response:
        for_admins(request)
        query = self.query(AccountsQuery)
        kind = _KINDS[query["kind"]]
        asked = {key: query[key] for key in ("text", "role", "state") if key in query}
        return page(
            request,
            account_queries.rows(kind=kind, **asked),
            query=query,
            kind=AccountsQuery,
            row=EverybodySerializer,
            prepare=lambda found: account_queries.persons(kind, found),
        )


class OneAccount(Resource):
    """Somebody."""

    scopes: ClassVar = SCOPES

    @extend_schema(operation_id="accounts_read", responses=EverybodySerializer, tags=TAGS)
    def get(self, request: Request, who: str) -> Response:
        return _told(person_of(request, who))

    @extend_schema(
        operation_id="accounts_change",
        request=RolesBody,
        responses={200: EverybodySerializer, **REFUSED},
        tags=TAGS,
    )
    def patch(self, request: Request, who: str) -> Response:
        """Give or take a role, switch an account on or off: all of it or nothing."""
        person = person_of(request, who)
        asked = self.body(RolesBody)
        changes: dict[str, Callable[..., bool]] = {
            "active": accounts.set_active,
            "creates_studies": accounts.set_may_set_up,
            # at last: who takes it from themselves can do no more
            "admin": accounts.set_admin,
        }
        user = _account(person)
        with refusals(accounts.AccountRefused), transaction.atomic():
            for name, change in changes.items():
                if name in asked:
                    change(user=user, on=asked[name], by=request.user)
        return _told(_again(person))


class Led(Resource):
    """Whether somebody leads a study."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_lead",
        request=None,
        responses={200: EverybodySerializer, **REFUSED},
        tags=TAGS,
    )
    def put(self, request: Request, who: str, name: str) -> Response:
        """Let somebody lead a study."""
        return self._set(request, who, name, on=True)

    @extend_schema(operation_id="accounts_unlead", responses={200: EverybodySerializer, **REFUSED}, tags=TAGS)
    def delete(self, request: Request, who: str, name: str) -> Response:
        """Let somebody lead a study no more."""
        return self._set(request, who, name, on=False)

    def _set(self, request: Request, who: str, name: str, *, on: bool) -> Response:
        person = person_of(request, who)
        study = get_object_or_404(Study, name=name)
        with refusals(accounts.AccountRefused):
            accounts.set_lead(user=_account(person), study=study, on=on, by=request.user)
        return _told(_again(person))


class PasswordLink(Resource):
    """A way to a new password, since no mail is sent."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_password_link",
        request=None,
        responses={201: LinkSerializer, **REFUSED},
        tags=TAGS,
    )
    def post(self, request: Request, who: str) -> Response:
        """Make a link with which somebody sets a password, once. It is shown here alone. The password they
        have works until then."""
        person = person_of(request, who)
        with refusals(accounts.AccountRefused):
            uid, token = accounts.password_link(user=_account(person), by=request.user)
        url = request.build_absolute_uri(reverse("password_reset_confirm", args=[uid, token]))
        return Response(LinkSerializer({"url": url}).data, status=201)


class SecondFactor(Resource):
    """The second step of somebody's login."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_remove_second_factor",
        responses={204: OpenApiResponse(description="The password alone is asked for."), **REFUSED},
        tags=TAGS,
    )
    def delete(self, request: Request, who: str) -> Response:
        """Take it away from somebody who lost their device; they can set up another."""
        person = person_of(request, who)
        with refusals(accounts.AccountRefused):
            accounts.remove_second_factor(user=_account(person), by=request.user)
        return Response(status=204)


class BlockEverywhere(Resource):
    """Give somebody no more items in any study; what they hold goes to others, what they answered stays."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_block", request=None, responses={200: DoneSerializer, **REFUSED}, tags=TAGS
    )
    def post(self, request: Request, who: str) -> Response:
        return _acted(request, who, accounts.block_everywhere)


class ReleaseEverywhere(Resource):
    """Return to the queues all that somebody holds. Answers that still come are kept."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="accounts_release", request=None, responses={200: DoneSerializer, **REFUSED}, tags=TAGS
    )
    def post(self, request: Request, who: str) -> Response:
        return _acted(request, who, accounts.release_everywhere)


def for_admins(request: Request) -> None:
    """404 for everybody else, as if there were nothing."""
    if not policies.is_admin(request.user):
        raise Http404


def person_of(request: Request, who: str) -> Person:
    for_admins(request)
    found = account_queries.person(who)
    if found is None:
        raise Http404
    return found


def annotator_of(person: Person) -> Annotator:
    if person.annotator is None:
        raise Conflict("They are no annotator.", state="no_annotator")
    return person.annotator


def _account(person: Person) -> Any:
    if person.user is None:
        raise Conflict("They have no account.", state="no_account")
    return person.user


def _acted(request: Request, who: str, act: Callable[..., int]) -> Response:
    person = person_of(request, who)
    done = act(annotator=annotator_of(person), by=request.user)
    return Response(DoneSerializer({"person": _again(person), "changed": done}).data)


def _again(person: Person) -> Person:
    """As they stand now."""
    found = account_queries.person(person.who)
    if found is None:
        raise Http404
    return found


def _told(person: Person) -> Response:
    return Response(EverybodySerializer(person).data)
