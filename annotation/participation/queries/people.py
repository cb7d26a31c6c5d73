"""The people in a study as its lead sees them: pseudonyms and counts, never an account (DESIGN §11)."""

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
    """One annotator in a study. `held`: leased items. `last_seen`: the last answer, skip or lease; None if
    there was none. `right` of `checked` gold items and attention checks were answered as expected."""

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
        """Percentage of checks answered as expected. None without a check."""
        return 100 * self.right / self.checked if self.checked else None


@dataclass(frozen=True)
class People(Page):
    """One page of a study's annotators. Those who withdrew are only counted."""

    rows: tuple[Person, ...]
    withdrawn: int
    by_status: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class InvitationRow:
    """An invitation and its `state`: *open*, *full*, *ended* or *taken back*."""

    invitation: Invitation
    state: str

    @property
    def is_open(self) -> bool:
        return self.state == "open"


def people(study: Study, *, page: str | int = 1) -> People:
    """A page of the annotators of `study`, newest first. A `page` out of range gives the nearest page."""
    statuses = Counter(dict(_enrolments(study).order_by().values_list("status").annotate(Count("pk"))))
    withdrawn = statuses.pop(EnrolmentStatus.WITHDRAWN, 0)
    paginator = Paginator(current_enrolments(study).order_by("-joined_at", "-pk"), PER_PAGE)
    paginator.count = sum(statuses.values())
    found = paginator.get_page(page)
    return People(
        rows=tuple(person_rows(study, found.object_list)),
        number=found.number,
        pages=paginator.num_pages,
        total=paginator.count,
        withdrawn=withdrawn,
        by_status=tuple(
            (EnrolmentStatus(status).label, number) for status, number in sorted(statuses.items())
        ),
    )


def person(study: Study, *, pk: int) -> Person | None:
    """One annotator of `study`, by enrolment id. None if there is none, or they withdrew."""
    return next(iter(person_rows(study, current_enrolments(study).filter(pk=pk))), None)


def invitation_rows(invitations: Iterable[Invitation], *, now: datetime | None = None) -> list[InvitationRow]:
    """The invitations with their states, in the order given."""
    now = now or timezone.now()
    return [InvitationRow(invitation=each, state=_state(each, now=now)) for each in invitations]


def current_enrolments(study: Study) -> QuerySet[Enrolment]:
    """The enrolments in `study`, without those who withdrew."""
    return (
        _enrolments(study).exclude(status=EnrolmentStatus.WITHDRAWN).select_related("annotator", "invitation")
    )


def _enrolments(study: Study) -> QuerySet[Enrolment]:
    return Enrolment.objects.filter(study=study)


def person_rows(study: Study, enrolments: Iterable[Enrolment]) -> list[Person]:
    """A row for each of `enrolments`. The number of queries does not depend on how many there are."""
    enrolments = list(enrolments)
    annotators = [enrolment.annotator_id for enrolment in enrolments]
    answers = Response.objects.filter(annotator__in=annotators, unit__task__study=study)
    skips = Skip.objects.filter(annotator__in=annotators, unit__task__study=study)
    held = Slot.objects.filter(annotator__in=annotators, study=study, state=SlotState.LEASED)
    surplus = Q(slot__isnull=True, unit__purpose=Purpose.DATA, current=True, withdrawn_at__isnull=True)
    surplus_counts, answered_at = _count_and_latest(answers, "submitted_at", only=surplus)
    skip_counts, skipped_at = _count_and_latest(skips, "at")
    held_counts, leased_at = _count_and_latest(held, "leased_at")
    checked = check_results(answers)
    rows = []
    for enrolment in enrolments:
        pk = enrolment.annotator_id
        times = (latest.get(pk) for latest in (answered_at, skipped_at, leased_at))
        rows.append(
            Person(
                enrolment=enrolment,
                skips=skip_counts.get(pk, 0),
                held=held_counts.get(pk, 0),
                surplus=surplus_counts.get(pk, 0),
                last_seen=max((time for time in times if time is not None), default=None),
                right=checked[pk].count(True),
                checked=len(checked[pk]),
            )
        )
    return rows


def _count_and_latest(
    rows: QuerySet[Response] | QuerySet[Skip] | QuerySet[Slot], field: str, *, only: Q | None = None
) -> tuple[dict[int, int], dict[int, datetime | None]]:
    """Annotator -> number of `rows` that match `only`, and annotator -> latest `field` of all `rows`."""
    number, last = Count("pk", filter=only), Max(field)
    grouped = rows.order_by().values_list("annotator").annotate(number=number, last=last)
    counts: dict[int, int] = {}
    latest: dict[int, datetime | None] = {}
    for annotator, count, time in grouped:
        counts[annotator], latest[annotator] = count, time
    return counts, latest


def check_results(answers: QuerySet[Response]) -> defaultdict[int, list[bool]]:
    """Annotator -> for each answered gold item or attention check, whether it was as expected."""
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
    results: defaultdict[int, list[bool]] = defaultdict(list)
    for (annotator, _response), as_expected in right.items():
        results[annotator].append(as_expected)
    return results


def _state(invitation: Invitation, *, now: datetime) -> str:
    if invitation.revoked_at is not None:
        return "taken back"
    if invitation.expires_at is not None and invitation.expires_at <= now:
        return "ended"
    if invitation.max_uses is not None and invitation.uses >= invitation.max_uses:
        return "full"
    return "open"
