"""What an annotator is given next: training first, then data with checks mixed in (DESIGN §4, §5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotation.assignment import lease_keys
from annotation.assignment.services import enrolment_lock, slots
from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    Judgement,
    Purpose,
    Response,
    Skip,
    Study,
    StudyStatus,
    Unit,
)
from annotation.participation.constants import SESSION_LENGTH

State = Literal["items", "done", "paused", "closed", "blocked", "screened_out", "withdrawn", "cap"]


@dataclass(frozen=True)
class Item:
    """One unit in somebody's hands. Its purpose is for the server; a page shows training as training and
    hides what is gold."""

    unit_id: int
    client_key: UUID
    purpose: str


@dataclass(frozen=True)
class Work:
    """`items` are in the order in which they should be answered; empty unless `state` is *items*. `held`:
    the keys of everything in their hands, which may be more than was asked for."""

    state: State
    items: list[Item] = field(default_factory=list)
    held: list[UUID] = field(default_factory=list)


def next_items(
    *, enrolment: Enrolment, wanted: int = 1, sweep: bool = True, now: datetime | None = None
) -> Work:
    """Up to `wanted` items for `enrolment`, the same ones again until they are answered or skipped.

    Consent is the caller's to check. Somebody in training whose training items are all answered is
    qualified or screened out here, by the study's `training_pass`. `sweep`: as for `slots.lease`; without it,
    *done* is not sure.
    """
    now = now or timezone.now()
    study = enrolment.study
    stopped = _stopped(enrolment, study)
    if stopped is not None:
        return Work(state=stopped)
    if enrolment.status == EnrolmentStatus.TRAINING:
        training = _checks(enrolment, [Purpose.TRAINING])
        if training:
            return _given(training, wanted=wanted)
        if not _qualify(enrolment):
            return Work(state="screened_out")
    if study.session_cap is None:
        return _given(_in_hand(enrolment, study, wanted=wanted, sweep=sweep, now=now), wanted=wanted)
    with enrolment_lock.transaction_of(enrolment):
        # An answer may be on its way in: how much room the cap leaves is only sure once it is counted.
        begun, used = (
            Enrolment.objects.select_for_update(no_key=True)
            .values_list("session_started_at", "session_units")
            .get(pk=enrolment.pk)
        )
        room = study.session_cap - (used if begun is not None and now - begun <= SESSION_LENGTH else 0)
        if room <= 0:
            return Work(state="cap")
        # what they hold beyond it is not for this session
        held = _in_hand(enrolment, study, wanted=min(wanted, room), sweep=sweep, now=now)[:room]
        return _given(held, wanted=wanted)


def _given(held: list[Item], *, wanted: int) -> Work:
    if not held:
        return Work(state="done")
    return Work(state="items", items=held[:wanted], held=[item.client_key for item in held])


def _in_hand(enrolment: Enrolment, study: Study, *, wanted: int, sweep: bool, now: datetime) -> list[Item]:
    due = _checks(enrolment, [Purpose.GOLD, Purpose.ATTENTION])[:1] if _check_is_due(enrolment, study) else []
    leased = slots.lease(enrolment=enrolment, wanted=max(1, wanted - len(due)), sweep=sweep, now=now)
    data = [
        Item(unit_id=slot.unit_id, client_key=slot.lease_key, purpose=Purpose.DATA)
        for slot in leased
        if slot.lease_key is not None
    ]
    return due + data


def _stopped(enrolment: Enrolment, study: Study) -> State | None:
    by_enrolment: dict[str, State] = {
        EnrolmentStatus.BLOCKED: "blocked",
        EnrolmentStatus.FINISHED: "done",  # they stopped of their own accord (services/withdrawals.py)
        EnrolmentStatus.SCREENED_OUT: "screened_out",
        EnrolmentStatus.WITHDRAWN: "withdrawn",
    }
    by_study: dict[str, State] = {
        StudyStatus.DRAFT: "paused",
        StudyStatus.PAUSED: "paused",
        StudyStatus.CLOSED: "closed",
    }
    return by_enrolment.get(enrolment.status) or by_study.get(study.status)


def _check_is_due(enrolment: Enrolment, study: Study) -> bool:
    return bool(study.gold_rate) and enrolment.answered * study.gold_rate >= enrolment.golds + 1


def _checks(enrolment: Enrolment, purposes: list[str]) -> list[Item]:
    """The checks that the annotator has not met yet. Everybody meets gold items in an order of their own,
    so that nobody can tell others which they are."""
    found = list(_unmet_units(enrolment).filter(purpose__in=purposes).order_by("task", "position"))
    items = [
        Item(
            unit_id=unit.pk,
            client_key=lease_keys.fixed(
                annotator_id=enrolment.annotator_id, unit_id=unit.pk, occasion=unit.purpose
            ),
            purpose=unit.purpose,
        )
        for unit in found
    ]
    if Purpose.TRAINING in purposes:
        return items
    return sorted(items, key=lambda item: item.client_key.int)


def _unmet_units(enrolment: Enrolment) -> QuerySet[Unit]:
    mine = {"unit": OuterRef("pk"), "annotator": enrolment.annotator_id}
    return Unit.objects.filter(
        ~Exists(Response.objects.filter(**mine)),
        ~Exists(Skip.objects.filter(**mine)),
        task__study=enrolment.study_id,
    ).exclude(purpose=Purpose.DATA)


def training_share(*, enrolment: Enrolment) -> float | None:
    """The share of training items that were answered as expected; None if there was none to answer."""
    judgements = Judgement.objects.filter(
        response__annotator=enrolment.annotator_id,
        response__unit__task__study=enrolment.study_id,
        response__unit__purpose=Purpose.TRAINING,
        response__withdrawn_at__isnull=True,
        option__expected__isnull=False,
    ).values_list("response_id", "value", "option__expected")
    right: dict[int, bool] = {}
    for response, value, expected in judgements:
        right[response] = right.get(response, True) and value in (expected or [])
    return sum(right.values()) / len(right) if right else None


def _qualify(enrolment: Enrolment) -> bool:
    """Decide about somebody who has finished training; whether they may go on."""
    share, needed = training_share(enrolment=enrolment), enrolment.study.training_pass
    passed = share is None or needed is None or share >= needed
    status = EnrolmentStatus.QUALIFIED if passed else EnrolmentStatus.SCREENED_OUT
    Enrolment.objects.filter(pk=enrolment.pk, status=EnrolmentStatus.TRAINING).update(status=status)
    enrolment.status = status
    return passed
