"""What admins see of everybody: accounts, and annotators without one (DESIGN §11).

Here alone a name stands beside a pseudonym. A platform's id is searched for and never shown. No count of
queries grows with the rows of a page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.core.paginator import Page, Paginator
from django.db.models import CharField, Count, Exists, F, Max, OuterRef, Q, QuerySet, Value
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.models import (
    Annotator,
    Enrolment,
    EnrolmentStatus,
    Response,
    Skip,
    Slot,
    SlotState,
    Study,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PER_PAGE = 50
ROLES = ("admin", "set_up", "lead", "annotator", "none")
STATES = ("off", "no_account", *EnrolmentStatus.values)
_WHO = ("kind", "number")


@dataclass(frozen=True)
class Part:
    """One study that somebody takes part in."""

    enrolment: Enrolment
    held: int
    last_seen: datetime | None


@dataclass
class Person:
    """An account, an annotator, or both of one person. `who` names them in addresses: u7 is account 7, and
    a5 is annotator 5, who has no account."""

    who: str
    user: User | None = None
    annotator: Annotator | None = None
    sets_up: bool = False
    leads: list[Study] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    @property
    def name(self) -> str:
        if self.user is not None:
            return self.user.get_username()
        assert self.annotator is not None
        return self.annotator.pseudonym

    @property
    def held(self) -> int:
        return sum(part.held for part in self.parts)

    @property
    def last_seen(self) -> datetime | None:
        """The last login, answer, skip, or item given out."""
        login = self.user.last_login if self.user is not None else None
        moments = [login, *(part.last_seen for part in self.parts)]
        return max((moment for moment in moments if moment is not None), default=None)

    @property
    def may_be_blocked(self) -> bool:
        gone = (EnrolmentStatus.BLOCKED, EnrolmentStatus.WITHDRAWN, EnrolmentStatus.SCREENED_OUT)
        return any(part.enrolment.status not in gone for part in self.parts)


def people(
    *, text: str = "", role: str = "", state: str = "", page: str | int | None = 1
) -> tuple[Page[dict[str, Any]], list[Person]]:
    """A page of accounts and of annotators without one, who came last first.

    `text` is looked for in names, e-mail addresses and pseudonyms, and is compared with platforms' ids as a
    whole; `role` is one of ROLES and `state` one of STATES, anything else asks for nothing.
    """
    accounts, seats = _accounts(text, role, state), _seats(text, role, state)
    both = _keys(accounts, "u", "date_joined").union(_keys(seats, "a", "created_at"), all=True)
    found = Paginator(both.order_by("-came", "kind", "-number"), PER_PAGE).get_page(page)
    keys = [(row["kind"], row["number"]) for row in found.object_list]
    return found, _persons(keys)


def person(who: str) -> Person | None:
    """Who is called `who` in addresses; None if there is nobody. An annotator with an account is found by
    the account alone, so that everybody has one address."""
    kind, number = who[:1], who[1:]
    if kind not in {"u", "a"} or not number.isdecimal() or not number.isascii() or len(number) > 18:
        return None
    key = (kind, int(number))
    there = (
        get_user_model().objects.filter(pk=key[1])
        if kind == "u"
        else Annotator.objects.filter(pk=key[1], user__isnull=True)
    )
    return _persons([key])[0] if there.exists() else None


def rows(*, kind: str, text: str = "", role: str = "", state: str = "") -> QuerySet[Any]:
    """The same search for a reader who goes through everybody row by row: accounts (`kind` u), or annotators
    who have none (a)."""
    found: QuerySet[Any] = (_accounts if kind == "u" else _seats)(text, role, state)
    return found


def persons(kind: str, found: Iterable[Any]) -> list[Person]:
    """Who the rows of `rows` are: a few queries, however many they are."""
    return _persons([(kind, row.pk) for row in found])


def person_by_pseudonym(pseudonym: str) -> Person | None:
    """The person with this pseudonym."""
    seat = Annotator.objects.filter(pseudonym=pseudonym).first()
    if seat is None:
        return None
    return person(f"a{seat.pk}" if seat.user_id is None else f"u{seat.user_id}")


def leadable_studies(user: User) -> QuerySet[Study]:
    """The studies that `user` could be made a lead of: neither leads nor takes part in."""
    return Study.objects.exclude(leads=user).exclude(enrolments__annotator__user=user).order_by("title", "pk")


def has_second_factor(user: User) -> bool:
    """Whether `user` is asked for a code after the password."""
    return bool(TOTPDevice.objects.filter(user=user, confirmed=True).exists())


def _keys(rows: QuerySet[Any], kind: str, came: str) -> QuerySet[Any, dict[str, Any]]:
    return rows.order_by().values(kind=Value(kind, output_field=CharField()), number=F("pk"), came=F(came))


def _accounts(text: str, role: str, state: str) -> QuerySet[User]:
    found = get_user_model().objects.all()
    if text:
        fields = ("username", "first_name", "last_name", "email", "annotator__pseudonym")
        asked = Q(pk__in=_by_platform(text).values("annotator__user"))
        for name in fields:
            asked |= Q(**{f"{name}__icontains": text})
        for word in text.split():
            # "Amal Haddad" is written in two fields
            asked |= Q(first_name__iexact=word, last_name__in=text.split())
        found = found.filter(asked)
    led = Exists(Study.objects.filter(leads=OuterRef("pk")))
    sets_up = Q(pk__in=_setting_up().values("pk"))
    by_role = {
        "admin": Q(is_superuser=True),
        "set_up": sets_up,
        "lead": Q(led),
        "annotator": Q(annotator__isnull=False),
        "none": Q(is_superuser=False, annotator__isnull=True) & ~sets_up & ~Q(led),
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


def _seats(text: str, role: str, state: str) -> QuerySet[Annotator]:
    """Annotators without an account."""
    found = Annotator.objects.filter(user__isnull=True)
    if (role not in {"", "annotator"} and role in ROLES) or state == "off":
        return found.none()
    if text:
        found = found.filter(Q(pseudonym__icontains=text) | Q(pk__in=_by_platform(text).values("annotator")))
    if state in EnrolmentStatus.values:
        found = found.filter(pk__in=Enrolment.objects.filter(status=state).values("annotator"))
    return found


def _by_platform(text: str) -> QuerySet[Enrolment]:
    return Enrolment.objects.filter(crowd_participant=text, annotator__isnull=False)


def _setting_up() -> QuerySet[User]:
    """Accounts that were allowed to set up studies; admins need no permission for it."""
    return get_user_model().objects.filter(
        user_permissions__codename="add_study", user_permissions__content_type__app_label="annotation"
    )


def _persons(keys: Collection[tuple[str, int]]) -> list[Person]:
    """Who `keys` name, in their order: a few queries, however many they are."""
    accounts = [number for kind, number in keys if kind == "u"]
    lone = [number for kind, number in keys if kind == "a"]
    users = get_user_model().objects.in_bulk(accounts)
    seats = list(Annotator.objects.filter(Q(user__in=accounts) | Q(pk__in=lone, user__isnull=True)))
    found: dict[tuple[str, int], Person] = {}
    for pk, user in users.items():
        found["u", pk] = Person(who=f"u{pk}", user=user)
    by_seat: dict[int, Person] = {}
    for seat in seats:
        key = ("a", seat.pk) if seat.user_id is None else ("u", seat.user_id)
        by_seat[seat.pk] = found.setdefault(key, Person(who=f"{key[0]}{key[1]}"))
        by_seat[seat.pk].annotator = seat
    for pk in _setting_up().filter(pk__in=accounts).values_list("pk", flat=True):
        found["u", pk].sets_up = True
    led = Study.leads.through.objects.filter(user__in=accounts).select_related("study")
    for row in led.order_by("study__title"):
        found["u", row.user_id].leads.append(row.study)
    _add_parts(by_seat)
    return [found[key] for key in keys if key in found]


def _add_parts(by_seat: dict[int, Person]) -> None:
    enrolments = Enrolment.objects.filter(annotator__in=by_seat).select_related("study", "invitation")
    seen: defaultdict[tuple[int, int], list[datetime]] = defaultdict(list)
    answers = Response.objects.filter(annotator__in=by_seat)
    _latest(seen, answers, "unit__task__study", "submitted_at")
    _latest(seen, Skip.objects.filter(annotator__in=by_seat), "unit__task__study", "at")
    held = Slot.objects.filter(annotator__in=by_seat, state=SlotState.LEASED)
    _latest(seen, held, "study", "leased_at")
    counted = held.order_by().values_list("annotator", "study").annotate(number=Count("pk"))
    in_hand = {(annotator, study): number for annotator, study, number in counted}
    for enrolment in enrolments.order_by("-joined_at", "-pk"):
        key = (enrolment.annotator_id, enrolment.study_id)
        by_seat[enrolment.annotator_id].parts.append(
            Part(enrolment, in_hand.get(key, 0), max(seen[key], default=None))
        )


def _latest(
    seen: defaultdict[tuple[int, int], list[datetime]],
    rows: QuerySet[Response] | QuerySet[Skip] | QuerySet[Slot],
    study: str,
    moment: str,
) -> None:
    found: Iterable[Any] = rows.order_by().values_list("annotator", study).annotate(last=Max(moment))
    for annotator, of, last in found:
        if last is not None:
            seen[annotator, of].append(last)


__all__ = [
    "PER_PAGE",
    "ROLES",
    "STATES",
    "Part",
    "Person",
    "has_second_factor",
    "leadable_studies",
    "people",
    "person",
    "person_by_pseudonym",
]
