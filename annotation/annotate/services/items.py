"""Selects an annotator's next items: training first, then data with checks mixed in (DESIGN §4, §5)."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.utils import timezone

from annotation.assignment import lease_keys
from annotation.assignment.constants import SESSION_LENGTH
from annotation.assignment.services import enrolment_lock, slots
from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    Purpose,
    Response,
    Skip,
    Study,
    StudyStatus,
    Unit,
)
from annotation.participation.queries.people import check_results

State = Literal["items", "done", "paused", "closed", "blocked", "screened_out", "withdrawn", "cap"]


_STOP_REASONS: dict[str, State] = {
    EnrolmentStatus.BLOCKED: "blocked",
    EnrolmentStatus.FINISHED: "done",  # they stopped themselves (services/withdrawals.py)
    EnrolmentStatus.SCREENED_OUT: "screened_out",
    EnrolmentStatus.WITHDRAWN: "withdrawn",
    StudyStatus.DRAFT: "paused",
    StudyStatus.PAUSED: "paused",
    StudyStatus.CLOSED: "closed",
}


@dataclass(frozen=True)
class Item:
    """A unit assigned to an annotator. `purpose` stays on the server: pages show training items as such, and
    never which items are gold."""

    unit_id: int
    client_key: UUID
    purpose: str


@dataclass(frozen=True)
class NextItems:
    """`items` are in the order in which to answer them; empty unless `state` is *items*. `assigned_keys`: the
    keys of all items assigned to the annotator, which may be more than they asked for."""

    state: State
    items: list[Item] = field(default_factory=list)
    assigned_keys: list[UUID] = field(default_factory=list)


def next_items(
    *, enrolment: Enrolment, wanted: int = 1, sweep: bool = True, now: datetime | None = None
) -> NextItems:
    """Up to `wanted` items for `enrolment`, the same ones again until they are answered or skipped. The
    caller checks consent. Who has answered all training items is qualified or screened out here. `sweep`: as
    for `slots.lease`; without it, *done* is not certain."""
    now = now or timezone.now()
    study = enrolment.study
    stop_reason = _STOP_REASONS.get(enrolment.status) or _STOP_REASONS.get(study.status)
    if stop_reason is not None:
        return NextItems(state=stop_reason)
    if enrolment.status == EnrolmentStatus.TRAINING:
        training = _checks(enrolment, [Purpose.TRAINING])
        if training:
            return _first(training, wanted=wanted)
        if not _qualify(enrolment):
            return NextItems(state="screened_out")
    if study.session_cap is None:
        return _first(_assigned(enrolment, study, wanted=wanted, sweep=sweep, now=now), wanted=wanted)
    with enrolment_lock.transaction_of(enrolment):
        # Lock first: another request may be saving an answer, which uses up room under the cap.
        begun, used = (
            Enrolment.objects.select_for_update(no_key=True)
            .values_list("session_started_at", "session_units")
            .get(pk=enrolment.pk)
        )
        room = study.session_cap - (used if begun is not None and now - begun <= SESSION_LENGTH else 0)
        if room <= 0:
            return NextItems(state="cap")
        # Items beyond the cap are not for this session.
        assigned = _assigned(enrolment, study, wanted=min(wanted, room), sweep=sweep, now=now)[:room]
        return _first(assigned, wanted=wanted)


def _first(assigned: list[Item], *, wanted: int) -> NextItems:
    if not assigned:
        return NextItems(state="done")
    keys = [item.client_key for item in assigned]
    return NextItems(state="items", items=assigned[:wanted], assigned_keys=keys)


def _assigned(enrolment: Enrolment, study: Study, *, wanted: int, sweep: bool, now: datetime) -> list[Item]:
    is_due = enrolment.answered * study.gold_rate >= enrolment.golds + 1
    due = _checks(enrolment, [Purpose.GOLD, Purpose.ATTENTION])[:1] if is_due else []
    leased = slots.lease(enrolment=enrolment, wanted=max(1, wanted - len(due)), sweep=sweep, now=now)
    data = [
        Item(unit_id=slot.unit_id, client_key=slot.lease_key, purpose=Purpose.DATA)
        for slot in leased
        if slot.lease_key is not None
    ]
    return due + data


def _checks(enrolment: Enrolment, purposes: list[str]) -> list[Item]:
    """The checks that the annotator has not answered yet, gold items in a different order for everybody."""
    mine = {"unit": OuterRef("pk"), "annotator": enrolment.annotator_id}
    units = Unit.objects.filter(
        ~Exists(Response.objects.filter(**mine)),
        ~Exists(Skip.objects.filter(**mine)),
        task__study=enrolment.study_id,
        purpose__in=purposes,
    ).exclude(purpose=Purpose.DATA)  # lets SQLite use the partial index of the few checks
    items = [
        Item(
            unit_id=unit.pk,
            client_key=lease_keys.fixed(
                annotator_id=enrolment.annotator_id, unit_id=unit.pk, occasion=unit.purpose
            ),
            purpose=unit.purpose,
        )
        for unit in units.order_by("task", "position")
    ]
    if Purpose.TRAINING in purposes:
        return items
    return sorted(items, key=lambda item: item.client_key.int)


def _qualify(enrolment: Enrolment) -> bool:
    """Qualify or screen out an annotator who has finished training; whether they passed."""
    answers = Response.objects.filter(annotator=enrolment.annotator_id, unit__task__study=enrolment.study_id)
    right = check_results(answers, purposes=[Purpose.TRAINING])[enrolment.annotator_id]
    needed = enrolment.study.training_pass
    passed = not right or needed is None or sum(right) / len(right) >= needed
    status = EnrolmentStatus.QUALIFIED if passed else EnrolmentStatus.SCREENED_OUT
    Enrolment.objects.filter(pk=enrolment.pk, status=EnrolmentStatus.TRAINING).update(status=status)
    enrolment.status = status
    return passed
