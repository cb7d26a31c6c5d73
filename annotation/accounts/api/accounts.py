"""People and their roles, for admins. Only here is a name shown next to a pseudonym."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.contrib.auth.validators import UnicodeUsernameValidator
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
from annotation.accounts.services import accounts
from annotation.api.errors import Conflict, refusals
from annotation.api.pages import documents_list, list_query, page
from annotation.api.resource import Body, Resource
from annotation.models import Annotator, EnrolmentStatus, Scope, Study


class PersonEnrolmentSerializer(serializers.Serializer):
    """A person's enrolment in a study."""

    study = serializers.SlugField(source="enrolment.study.name")
    status = serializers.ChoiceField(choices=EnrolmentStatus.choices, source="enrolment.status")
    joined_at = serializers.DateTimeField(source="enrolment.joined_at")
    answered = serializers.IntegerField(source="enrolment.answered", help_text="Units answered.")
    held = serializers.IntegerField(help_text="Items in progress: leased and not answered yet.")
    last_seen = serializers.DateTimeField(allow_null=True)


class PersonAccountSerializer(serializers.Serializer):
    """A person's account."""

    username = serializers.CharField()
    full_name = serializers.CharField(source="get_full_name")
    email = serializers.CharField()
    active = serializers.BooleanField(source="is_active", help_text="false: switched off.")
    admin = serializers.BooleanField(source="is_superuser", help_text="Can do everything.")
    has_password = serializers.BooleanField(
        source="has_usable_password", help_text="false: they log in by a link."
    )
    last_login = serializers.DateTimeField(allow_null=True)


class PersonDetailsSerializer(serializers.Serializer):
    """An account, an annotator, or both."""

    who = serializers.CharField(
        help_text="Their key: u7 is account 7; a5 is annotator 5, who has no account."
    )
    account = PersonAccountSerializer(source="user", allow_null=True)
    pseudonym = serializers.CharField(
        source="annotator.pseudonym", allow_null=True, default=None, help_text="null: not an annotator."
    )
    simulated = serializers.BooleanField(source="annotator.simulated", default=False)
    creates_studies = serializers.BooleanField(
        source="may_create_studies",
        help_text="Has the permission to set up studies. Admins do not need it.",
    )
    leads = serializers.SerializerMethodField(help_text="The studies that they lead, by name.")
    parts = PersonEnrolmentSerializer(many=True, source="enrolments", help_text="Their enrolments.")
    last_seen = serializers.DateTimeField(allow_null=True)

    def get_leads(self, person: Person) -> list[str]:
        return [study.name for study in person.leads]


class NewAccountBody(Body):
    """A new account, of a lead who may set up studies or of an admin."""

    username = serializers.CharField(max_length=150, validators=[UnicodeUsernameValidator()])
    email = serializers.EmailField(max_length=254, default="", allow_blank=True)
    admin = serializers.BooleanField(default=False, help_text="Can do everything.")


class RolesBody(Body):
    """The changes. A field that is left out stays as it is."""

    active = serializers.BooleanField(
        required=False, help_text="false: logged out everywhere, tokens revoked, items in progress released."
    )
    admin = serializers.BooleanField(required=False, help_text="Can do everything.")
    creates_studies = serializers.BooleanField(required=False, help_text="Can set up studies.")


class PasswordLinkSerializer(serializers.Serializer):
    """A password reset link."""

    url = serializers.URLField(help_text="Anybody who opens it within three days can set a password, once.")


class PersonActionSerializer(serializers.Serializer):
    """The result of an action."""

    person = PersonDetailsSerializer()
    changed = serializers.IntegerField(help_text="How many studies or items it changed.")


operation = partial(extend_schema, tags=["accounts"])
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
_PERSON = {200: PersonDetailsSerializer, **REFUSED}
_ACTION = {200: PersonActionSerializer, **REFUSED}


class AdminResource(Resource):
    """A resource for admins, and 404 for others."""

    scopes: ClassVar = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), Scope.ACCOUNTS)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not policies.is_admin(request.user):
            raise Http404


class Accounts(AdminResource):
    """Accounts, or annotators without one."""

    @documents_list("accounts_list", query=AccountsQuery, row=PersonDetailsSerializer, tag="accounts")
    def get(self, request: Request) -> Response:
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

    @operation(
        operation_id="accounts_create",
        request=NewAccountBody,
        responses={201: PersonDetailsSerializer, **REFUSED},
    )
    def post(self, request: Request) -> Response:
        """Create the account of a lead or an admin. Send them a password link to log in."""
        body = self.body(NewAccountBody)
        with refusals(accounts.AccountRefused):
            user = accounts.create(**body, by=request.user)
        return _person_response(f"u{user.pk}", status=201)


class OneAccount(AdminResource):
    """A person."""

    @operation(operation_id="accounts_read", responses=PersonDetailsSerializer)
    def get(self, request: Request, who: str) -> Response:
        return _person_response(who)

    @operation(operation_id="accounts_change", request=RolesBody, responses=_PERSON)
    def patch(self, request: Request, who: str) -> Response:
        """Give or remove roles, switch the account on or off: all changes or none."""
        user = _account(who)
        body = self.body(RolesBody)
        changes: dict[str, Callable[..., bool]] = {
            "active": accounts.set_active,
            "creates_studies": accounts.set_may_create_studies,
            # Last, because admins who remove their own role cannot do more.
            "admin": accounts.set_admin,
        }
        with refusals(accounts.AccountRefused), transaction.atomic():
            for name, change in changes.items():
                if name in body:
                    change(user=user, on=body[name], by=request.user)
        return _person_response(who)


class StudyLead(AdminResource):
    """Whether somebody leads a study."""

    @operation(operation_id="accounts_lead", request=None, responses=_PERSON)
    def put(self, request: Request, who: str, name: str) -> Response:
        """Make somebody a lead of a study."""
        return self._set(request, who, name, on=True)

    @operation(operation_id="accounts_unlead", responses=_PERSON)
    def delete(self, request: Request, who: str, name: str) -> Response:
        """Remove somebody as a lead of a study."""
        return self._set(request, who, name, on=False)

    def _set(self, request: Request, who: str, name: str, *, on: bool) -> Response:
        study = get_object_or_404(Study, name=name)
        with refusals(accounts.AccountRefused):
            accounts.set_lead(user=_account(who), study=study, on=on, by=request.user)
        return _person_response(who)


class PasswordLink(AdminResource):
    """A password reset link. The program sends no mail."""

    @operation(
        operation_id="accounts_password_link",
        request=None,
        responses={201: PasswordLinkSerializer, **REFUSED},
    )
    def post(self, request: Request, who: str) -> Response:
        """Create a link to set a password, once. It is shown only here. The current password works until
        then."""
        with refusals(accounts.AccountRefused):
            uid, token = accounts.password_link(user=_account(who), by=request.user)
        url = request.build_absolute_uri(reverse("password_reset_confirm", args=[uid, token]))
        return Response(PasswordLinkSerializer({"url": url}).data, status=201)


class SecondFactor(AdminResource):
    """Somebody's two-factor authentication."""

    @operation(
        operation_id="accounts_remove_second_factor",
        responses={204: OpenApiResponse(description="They log in with the password alone."), **REFUSED},
    )
    def delete(self, request: Request, who: str) -> Response:
        """Remove it for somebody who lost their device. They can set it up again."""
        with refusals(accounts.AccountRefused):
            accounts.remove_second_factor(user=_account(who), by=request.user)
        return Response(status=204)


class BlockEverywhere(AdminResource):
    """Stop giving items to somebody in all studies. Items in progress go to others; their answers stay."""

    @operation(operation_id="accounts_block", request=None, responses=_ACTION)
    def post(self, request: Request, who: str) -> Response:
        return _act(request, who, accounts.block_everywhere)


class ReleaseEverywhere(AdminResource):
    """Return all of somebody's items in progress to the queues. Answers that still arrive are saved."""

    @operation(operation_id="accounts_release", request=None, responses=_ACTION)
    def post(self, request: Request, who: str) -> Response:
        return _act(request, who, accounts.release_everywhere)


def require_annotator(person: Person) -> Annotator:
    if person.annotator is None:
        raise Conflict("They are not an annotator.", state="no_annotator")
    return person.annotator


def _account(who: str) -> Any:
    user = account_queries.person(who).user
    if user is None:
        raise Conflict("They have no account.", state="no_account")
    return user


def _act(request: Request, who: str, action: Callable[..., int]) -> Response:
    changed = action(annotator=require_annotator(account_queries.person(who)), by=request.user)
    result = {"person": account_queries.person(who), "changed": changed}
    return Response(PersonActionSerializer(result).data)


def _person_response(who: str, *, status: int = 200) -> Response:
    return Response(PersonDetailsSerializer(account_queries.person(who)).data, status=status)
