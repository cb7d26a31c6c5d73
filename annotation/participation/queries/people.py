"""What a lead sees of the people in a study: pseudonyms and numbers, never an account (DESIGN §11)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Paginator
from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from annotation.core.paging import Page
from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    Invitation,
    Judgement,
    Purpose,
    Response,
    Skip,
    Slot,
    SlotState,
    Study,
)

PER_PAGE = 100
_CHECKS = (Purpose.GOLD, Purpose.ATTENTION)


@dataclass(frozen=True)
class Person:
    """One annotator in a study. `last_seen` is the last answer, skip or item given out; None if there was
    none. `right` of `checked` gold items and attention checks were answered as expected."""

    enrolment: Enrolment
    skips: int
    held: int
    surplus: int
    last_seen: datetime | None
    right: int
    checked: int

    @property
    def blocked(self) -> bool:
        return self.enrolment.status == EnrolmentStatus.BLOCKED

    @property
    def may_be_blocked(self) -> bool:
        return not self.blocked and self.enrolment.status != EnrolmentStatus.SCREENED_OUT

    @property
    def accuracy(self) -> float | None:
        """Per cent of checks that were answered as expected; None without a check."""
        return 100 * self.right / self.checked if self.checked else None


@dataclass(frozen=True)
class People(Page):
    """One page of a study's annotators; who withdrew is only counted."""

    rows: tuple[Person, ...]
    withdrawn: int
    by_status: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Link:
    """An invitation as its list shows it; `state` is *open*, *full*, *ended* or *taken back*."""

    invitation: Invitation
    state: str

    @property
    def is_open(self) -> bool:
        return self.state == "open"


def people(study: Study, *, page: str | int = 1) -> People:
    """A page of the annotators of `study`, who joined last first; a `page` that there is not is the
    nearest one there is."""
    statuses = Counter(dict(_of(study).order_by().values_list("status").annotate(Count("pk"))))
    withdrawn = statuses.pop(EnrolmentStatus.WITHDRAWN, 0)
    paginator = Paginator(enrolled(study).order_by("-joined_at", "-pk"), PER_PAGE)
    paginator.count = sum(statuses.values())
    part = paginator.get_page(page)
    return People(
        rows=tuple(persons(study, list(part.object_list))),
        number=part.number,
        pages=paginator.num_pages,
        total=paginator.count,
        withdrawn=withdrawn,
        by_status=tuple(
            (EnrolmentStatus(status).label, number) for status, number in sorted(statuses.items())
        ),
    )


def person(study: Study, *, pk: int) -> Person | None:
    """One annotator of `study`; None if there is none with this number, or they withdrew."""
    return next(iter(persons(study, enrolled(study).filter(pk=pk))), None)


def links(study: Study, *, now: datetime | None = None) -> list[Link]:
    """The invitations into `study`, newest first."""
    return linked(study.invitations.all(), now=now)


def linked(found: Iterable[Invitation], *, now: datetime | None = None) -> list[Link]:
    """The invitations in `found`, with what can be done with each."""
    now = now or timezone.now()
    return [Link(invitation=each, state=_state(each, now=now)) for each in found]


def enrolled(study: Study) -> QuerySet[Enrolment]:
    """Who is in `study`, without those who withdrew."""
    return _of(study).exclude(status=EnrolmentStatus.WITHDRAWN).select_related("annotator", "invitation")


def _of(study: Study) -> QuerySet[Enrolment]:
    return Enrolment.objects.filter(study=study)


def persons(study: Study, enrolments: Iterable[Enrolment]) -> list[Person]:
    """Rows for `enrolments`: a few grouped queries, however many they are."""
    enrolments = list(enrolments)
    who = [enrolment.annotator_id for enrolment in enrolments]
    answers = Response.objects.filter(annotator__in=who, unit__task__study=study)
    skips = Skip.objects.filter(annotator__in=who, unit__task__study=study)
    held = Slot.objects.filter(annotator__in=who, study=study, state=SlotState.LEASED)
    surplus = Q(slot__isnull=True, unit__purpose=Purpose.DATA, current=True, withdrawn_at__isnull=True)
    surplus_of, answered_at = _counted(answers, "submitted_at", only=surplus)
    skips_of, skipped_at = _counted(skips, "at")
    held_by, leased_at = _counted(held, "leased_at")
    checked = checks(answers)
    rows = []
    for enrolment in enrolments:
        pk = enrolment.annotator_id
        moments = (seen.get(pk) for seen in (answered_at, skipped_at, leased_at))
        rows.append(
            Person(
                enrolment=enrolment,
                skips=skips_of.get(pk, 0),
                held=held_by.get(pk, 0),
                surplus=surplus_of.get(pk, 0),
                last_seen=max((moment for moment in moments if moment is not None), default=None),
                right=checked[pk].count(True),
                checked=len(checked[pk]),
            )
        )
    return rows


def _counted(
    rows: QuerySet[Response] | QuerySet[Skip] | QuerySet[Slot], moment: str, *, only: Q | None = None
) -> tuple[dict[int, int], dict[int, datetime | None]]:
    """Annotator -> number of `rows` (`only` those that count), and -> the latest `moment` of any."""
    number, last = Count("pk", filter=only), Max(moment)
    found = rows.order_by().values_list("annotator").annotate(number=number, last=last)
    numbers: dict[int, int] = {}
    latest: dict[int, datetime | None] = {}
    for annotator, how_many, when in found:
        numbers[annotator], latest[annotator] = how_many, when
    return numbers, latest


def checks(answers: QuerySet[Response]) -> defaultdict[int, list[bool]]:
    """Annotator -> for each gold item and attention check answered, whether it was as expected."""
    judged = (
        Judgement.objects.filter(
            response__in=answers.filter(unit__purpose__in=_CHECKS, current=True, withdrawn_at__isnull=True),
            option__expected__isnull=False,
        )
        .order_by()
        .values_list("response", "response__annotator", "value", "option__expected")
    )
    right: dict[tuple[int, int], bool] = {}
    for response, annotator, value, expected in judged:
        right[annotator, response] = right.get((annotator, response), True) and value in (expected or [])
    found: defaultdict[int, list[bool]] = defaultdict(list)
    for (annotator, _response), as_expected in right.items():
        found[annotator].append(as_expected)
    return found


def _state(invitation: Invitation, *, now: datetime) -> str:
    if invitation.revoked_at is not None:
        return "taken back"
    if invitation.expires_at is not None and invitation.expires_at <= now:
        return "ended"
    if invitation.max_uses is not None and invitation.uses >= invitation.max_uses:
        return "full"
    return "open"
