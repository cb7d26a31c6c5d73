"""People as admins see them: accounts, and annotators without one (DESIGN §11). Only here is a name shown
next to a pseudonym. A platform id can be searched for, but is never shown."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet, Value
from django.http import Http404
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.assignment.constants import LEFT_STATUSES
from annotation.models import (
    Annotator,
    Enrolment,
    EnrolmentStatus,
    Study,
)
from annotation.participation.queries.people import activity

PER_PAGE = 50
ROLES = ("admin", "set_up", "lead", "annotator", "none")


@dataclass(frozen=True)
class PersonEnrolment:
    """A person's enrolment in a study. `held`: leased items."""

    enrolment: Enrolment
    held: int
    last_seen: datetime | None


@dataclass
class Person:
    """An account, an annotator, or both. `who` is their key in URLs: u7 is account 7; a5 is annotator 5, who
    has no account."""

    who: str
    user: User | None = None
    annotator: Annotator | None = None
    may_create_studies: bool = False
    leads: list[Study] = field(default_factory=list)
    enrolments: list[PersonEnrolment] = field(default_factory=list)

    @property
    def name(self) -> str:
        if self.user is not None:
            return self.user.get_username()
        assert self.annotator is not None
        return self.annotator.pseudonym

    @property
    def held(self) -> int:
        return sum(each.held for each in self.enrolments)

    @property
    def last_seen(self) -> datetime | None:
        """The last login, answer, skip or lease."""
        login = self.user.last_login if self.user is not None else None
        times = [login, *(each.last_seen for each in self.enrolments)]
        return max((time for time in times if time is not None), default=None)

    @property
    def may_be_blocked(self) -> bool:
        not_blockable = LEFT_STATUSES | {EnrolmentStatus.BLOCKED}
        return any(each.enrolment.status not in not_blockable for each in self.enrolments)


def people(
    *, text: str = "", role: str = "", state: str = "", page: str | int | None = 1
) -> tuple[Page[dict[str, Any]], list[Person]]:
    """A page of accounts and annotators without one, newest first. `text` is searched for in names, e-mail
    addresses and pseudonyms; a platform id must match completely. `role` is one of ROLES and `state` *off*,
    *no_account* or an EnrolmentStatus; other values are ignored."""
    accounts = _keys(_accounts(text, role, state), "u", "date_joined")
    annotators = _keys(_annotators_without_account(text, role, state), "a", "created_at")
    both = accounts.union(annotators, all=True).order_by("-joined", "kind", "-number")
    found = Paginator(both, PER_PAGE).get_page(page)
    return found, _load_persons([(row["kind"], row["number"]) for row in found.object_list])


def person(who: str) -> Person:
    """The person with the key `who`, else 404. Everybody with an account is found only by the account."""
    kind, number = who[:1], who[1:]
    if kind not in {"u", "a"} or not number.isdecimal() or not number.isascii() or len(number) > 18:
        raise Http404
    found = _load_persons([(kind, int(number))])
    if not found:
        raise Http404
    return found[0]


def search(*, kind: str, text: str = "", role: str = "", state: str = "") -> QuerySet[Any]:
    """The same search in one table: accounts (`kind` u), or annotators without one (a)."""
    return _accounts(text, role, state) if kind == "u" else _annotators_without_account(text, role, state)


def persons(kind: str, rows: Iterable[Any]) -> list[Person]:
    """The persons of the rows that `search` found. The number of queries does not depend on how many."""
    return _load_persons([(kind, row.pk) for row in rows])


def person_by_pseudonym(pseudonym: str) -> Person | None:
    """The person with this pseudonym."""
    annotator = Annotator.objects.filter(pseudonym=pseudonym).first()
    if annotator is None:
        return None
    return person(f"a{annotator.pk}" if annotator.user_id is None else f"u{annotator.user_id}")


def leadable_studies(user: User) -> QuerySet[Study]:
    """The studies that `user` can be made a lead of: those they neither lead nor take part in."""
    return Study.objects.exclude(leads=user).exclude(enrolments__annotator__user=user).order_by("title", "pk")


def has_second_factor(user: User) -> bool:
    """Whether `user` must give a code after the password."""
    return bool(TOTPDevice.objects.filter(user=user, confirmed=True).exists())


def _keys(rows: QuerySet[Any], kind: str, joined: str) -> QuerySet[Any, dict[str, Any]]:
    return rows.order_by().values(
        kind=Value(kind, output_field=CharField()), number=F("pk"), joined=F(joined)
    )


def _accounts(text: str, role: str, state: str) -> QuerySet[User]:
    found = User.objects.all()
    if text:
        fields = ("username", "first_name", "last_name", "email", "annotator__pseudonym")
        matches = Q(pk__in=_by_platform_id(text).values("annotator__user"))
        for name in fields:
            matches |= Q(**{f"{name}__icontains": text})
        for word in text.split():
            # A full name is stored in two fields.
            matches |= Q(first_name__iexact=word, last_name__in=text.split())
        found = found.filter(matches)
    leads = Exists(Study.objects.filter(leads=OuterRef("pk")))
    may_create_studies = Q(pk__in=_may_create_studies().values("pk"))
    by_role = {
        "admin": Q(is_superuser=True),
        "set_up": may_create_studies,
        "lead": Q(leads),
        "annotator": Q(annotator__isnull=False),
        "none": Q(is_superuser=False, annotator__isnull=True) & ~may_create_studies & ~Q(leads),
    }
    if role in by_role:
        found = found.filter(by_role[role])
    if state == "off":
        return found.filter(is_active=False)
    if state == "no_account":
        return found.none()
    if state in EnrolmentStatus.values:
        return found.filter(pk__in=Enrolment.objects.filter(status=state).values("annotator__user"))
    return found


def _annotators_without_account(text: str, role: str, state: str) -> QuerySet[Annotator]:
    found = Annotator.objects.filter(user__isnull=True)
    if (role not in {"", "annotator"} and role in ROLES) or state == "off":
        return found.none()
    if text:
        found = found.filter(
            Q(pseudonym__icontains=text) | Q(pk__in=_by_platform_id(text).values("annotator"))
        )
    if state in EnrolmentStatus.values:
        found = found.filter(pk__in=Enrolment.objects.filter(status=state).values("annotator"))
    return found


def _by_platform_id(text: str) -> QuerySet[Enrolment]:
    return Enrolment.objects.filter(crowd_participant=text, annotator__isnull=False)


def _may_create_studies() -> QuerySet[User]:
    """Accounts with the permission to set up studies, which admins do not need."""
    return User.objects.filter(
        user_permissions__codename="add_study", user_permissions__content_type__app_label="annotation"
    )


def _load_persons(keys: Collection[tuple[str, int]]) -> list[Person]:
    """The persons with these keys, in this order. The number of queries does not depend on how many."""
    accounts = [number for kind, number in keys if kind == "u"]
    without_account = [number for kind, number in keys if kind == "a"]
    users = User.objects.in_bulk(accounts)
    annotators = Annotator.objects.filter(Q(user__in=accounts) | Q(pk__in=without_account, user__isnull=True))
    found: dict[tuple[str, int], Person] = {}
    for pk, user in users.items():
        found["u", pk] = Person(who=f"u{pk}", user=user)
    by_annotator: dict[int, Person] = {}
    for annotator in annotators:
        key = ("a", annotator.pk) if annotator.user_id is None else ("u", annotator.user_id)
        by_annotator[annotator.pk] = found.setdefault(key, Person(who=f"{key[0]}{key[1]}"))
        by_annotator[annotator.pk].annotator = annotator
    for pk in _may_create_studies().filter(pk__in=accounts).values_list("pk", flat=True):
        found["u", pk].may_create_studies = True
    led = Study.leads.through.objects.filter(user__in=accounts).select_related("study")
    for row in led.order_by("study__title"):
        found["u", row.user_id].leads.append(row.study)
    enrolments = Enrolment.objects.filter(annotator__in=by_annotator).select_related("study", "invitation")
    active = activity(by_annotator)
    for enrolment in enrolments.order_by("-joined_at", "-pk"):
        done = active[enrolment.annotator_id, enrolment.study_id]
        by_annotator[enrolment.annotator_id].enrolments.append(
            PersonEnrolment(enrolment, done.held, done.last_seen)
        )
    return [found[key] for key in keys if key in found]
