"""Who judges what next: leasing, renewing and returning slots (DESIGN §4, docs/adr/0002-slots.md).

Every change of a slot is one conditional UPDATE whose row count is the answer, so two processes can
never hold the same slot. An annotator's `position` in the queue only grows and a returned slot goes to
the end of the queue, so the cost of *next* does not grow with the study.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from annotation.assignment import lease_keys
from annotation.assignment.services import enrolment_lock, open_slots
from annotation.assignment.services.open_slots import Candidate
from annotation.core import strata
from annotation.core.prepared import Param, Prepared, PreparedUpdate
from annotation.core.prepared_together import Changed, Together
from annotation.models import Annotator, Enrolment, EnrolmentStatus, Slot, SlotState, Study, StudyStatus

# Who is given nothing, also if they were at work when their request came in.
_OUT = frozenset(
    {
        EnrolmentStatus.BLOCKED,
        EnrolmentStatus.FINISHED,
        EnrolmentStatus.SCREENED_OUT,
        EnrolmentStatus.WITHDRAWN,
    }
)

_STANDING = Prepared(
    Enrolment.objects.filter(pk=Param("pk"))
    .select_for_update(no_key=True, of=("self",))
    .values_list("annotator", "position", "strata", "status", "study__status")
)
_HELD = Prepared(
    Slot.objects.filter(study=Param("study"), annotator=Param("annotator"), state=SlotState.LEASED).order_by(
        "leased_at", "queue"
    )
)
_NO_LEASE: dict[str, Any] = dict.fromkeys(("lease_key", "leased_at", "lease_expires_at"))
# One that somebody else is claiming at this very moment is passed over.
_FREE = Slot.objects.filter(pk=Param("slot"), state=SlotState.OPEN).order_by()
_CLAIM = PreparedUpdate(
    Slot.objects.filter(pk__in=_FREE.select_for_update(skip_locked=True).values("pk")),
    state=SlotState.LEASED,
    annotator=Param("annotator"),
    lease_key=Param("lease_key"),
    leased_at=Param("leased_at"),
    lease_expires_at=Param("lease_expires_at"),
)
# Candidate's columns, then those that a claim sets
_CLAIMED = ("id", "unit_id", "queue", "state", "annotator_id", "lease_key", "leased_at", "lease_expires_at")
# of the slot that an answer was found to fill (annotate/services/saving.py)
FILL = PreparedUpdate(
    Slot.objects.filter(
        Q(state=SlotState.OPEN) | Q(state=SlotState.LEASED, annotator=Param("annotator")), pk=Param("slot")
    ),
    state=SlotState.FILLED,
    annotator=Param("annotator"),
    **_NO_LEASE,
)
_MOVE_ON = PreparedUpdate(
    Enrolment.objects.filter(Changed("claimed"), pk=Param("pk"), position__lt=Param("position")),
    position=Param("position"),
)
_CLAIM_AND_MOVE_ON = Together(claimed=_CLAIM, moved=_MOVE_ON)


def lease_next(*, enrolment: Enrolment, now: datetime | None = None) -> Slot | None:
    """The one slot that `enrolment` should answer now; None when nothing is left for them. See `lease`."""
    return next(iter(lease(enrolment=enrolment, wanted=1, now=now)), None)


def lease(
    *, enrolment: Enrolment, wanted: int, sweep: bool = True, now: datetime | None = None
) -> list[Slot]:
    """The slots that `enrolment` should answer, in this order, leased to them: all that they hold already,
    renewed, since a reload, a second tab or a crash costs nothing, and new ones until there are `wanted`.
    Fewer, or none, when that is all that is left for them.

    Nothing is given out of a study that is not open, nor to who has left it or was blocked meanwhile.

    `sweep`: where nothing is left, first take back what others have held for too long. Not for whoever has
    slots locked in the same transaction: it locks the study, and who has that locked may wait for the slots.
    """
    now = now or timezone.now()
    with _soon_on_disk(), enrolment_lock.transaction_of(enrolment):
        if not _may_lease(enrolment):
            return []
        held = _renew(enrolment=enrolment, now=now)
        missing = wanted - len(held)
        if missing <= 0:
            return held
        fresh = _lease_open(enrolment=enrolment, held=held, wanted=missing, now=now)
        nothing = not held and not fresh
        if nothing and sweep and release_expired(now=now, study_id=enrolment.study_id):
            fresh = _lease_open(enrolment=enrolment, held=held, wanted=missing, now=now)
        return held + fresh


def release_all(*, enrolment: Enrolment) -> int:
    """Return every slot that `enrolment` holds to the queue, e.g. when they stop for now."""
    held = Slot.objects.filter(
        study=enrolment.study_id, annotator=enrolment.annotator_id, state=SlotState.LEASED
    )
    return _return_to_queue(held)


def release_held(*, user_id: int) -> int:
    """Return every slot that an account holds in any study, when it logs out."""
    return _return_to_queue(Slot.objects.filter(annotator__user=user_id, state=SlotState.LEASED))


def release_expired(*, now: datetime, study_id: int | None = None) -> int:
    """Return every slot whose lease has run out; the number of slots returned."""
    expired = Slot.objects.filter(state=SlotState.LEASED, lease_expires_at__lt=now)
    if study_id is not None:
        expired = expired.filter(study=study_id)
    # What is being answered or renewed at this very moment has not run out; the next sweep looks again.
    return _return_to_queue(expired, skip_locked=True)


def return_slot(*, slot_id: int) -> bool:
    """Return one leased slot to the queue; whether it was leased."""
    return _return_to_queue(Slot.objects.filter(pk=slot_id, state=SlotState.LEASED)) == 1


def restart_queue(*, annotator: Annotator) -> None:
    """Let `annotator` walk every queue from its start: their profile, and so their strata, changed."""
    Enrolment.objects.filter(annotator=annotator).update(position=0, strata=None)


def matching_strata(*, enrolment: Enrolment) -> list[str]:
    """The strata of the study's slots that the annotator's profile matches.

    Worked out once and kept with the enrolment; `restart_queue` forgets it. Tasks are frozen while people
    answer, so only the profile can change it.
    """
    if enrolment.strata is not None:
        return list(enrolment.strata)
    there: set[str] = set()
    for of_slots, of_task in enrolment.study.tasks.values_list("slot_strata", "strata"):
        there.update(of_slots or of_task or [strata.ANY])
    profile = dict(enrolment.annotator.profile_answers.values_list("field", "value"))
    enrolment.strata = sorted(
        text for text in there if not strata.depends_on_group(text) and strata.parse(text).matches(profile)
    )
    Enrolment.objects.filter(pk=enrolment.pk).update(strata=enrolment.strata)
    return list(enrolment.strata)


def anything_for(*, enrolment: Enrolment) -> bool:
    """Whether an open slot is left that the annotator could be given."""
    texts = matching_strata(enrolment=enrolment)
    return bool(open_slots.first(enrolment=enrolment, texts=texts, after=enrolment.position, least=1))


def _may_lease(enrolment: Enrolment) -> bool:
    """Whether `enrolment` is given anything, as it is now, locked: one request of an annotator at a time,
    since two tabs must not walk the queue side by side."""
    if enrolment_lock.is_held(enrolment):
        return enrolment.study.status == StudyStatus.OPEN and enrolment.status not in _OUT
    found = _STANDING.first(pk=enrolment.pk)
    if found is None:  # erased or merged with another meanwhile
        return False
    enrolment.annotator_id, enrolment.position, enrolment.strata, standing, status = found
    return status == StudyStatus.OPEN and standing not in _OUT


@contextmanager
def _soon_on_disk() -> Iterator[None]:
    """On SQLite, a lease need not be on the disk before it is given out (visage_app/database/sqlite): if the
    machine stops just then, the slot is open again and the answer, whose key proves itself, fills it all the
    same. The next answer takes everything before it to the disk. PostgreSQL: services/enrolment_lock.py."""
    ours: Any = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    ours.waits_for_disk = False
    try:
        yield
    finally:
        ours.waits_for_disk = True


def _renew(*, enrolment: Enrolment, now: datetime) -> list[Slot]:
    slots = _HELD.all(study=enrolment.study_id, annotator=enrolment.annotator_id)
    # Not at every request: a lease that has most of its time left is long enough.
    short = [
        slot.pk
        for slot in slots
        if slot.lease_expires_at and slot.lease_expires_at - now < _lease_time() * 0.75
    ]
    if short:
        # A slot that is being filled or returned at this very moment is not waited for.
        held = Slot.objects.filter(pk__in=short, annotator=enrolment.annotator_id, state=SlotState.LEASED)
        free = list(held.select_for_update(no_key=True, skip_locked=True).values_list("pk", flat=True))
        held.filter(pk__in=free).update(lease_expires_at=now + _lease_time())
    return slots


def _lease_open(*, enrolment: Enrolment, held: Iterable[Slot], wanted: int, now: datetime) -> list[Slot]:
    texts = matching_strata(enrolment=enrolment)
    leased: list[Slot] = []
    # A lease in hand can run out at this very moment; its unit is not to be given out a second time.
    units = {slot.unit_id for slot in held}
    after, unbroken = enrolment.position, True
    while len(leased) < wanted:
        candidates = open_slots.first(enrolment=enrolment, texts=texts, after=after, least=wanted)
        if not candidates:
            break
        for slot in candidates:
            after = slot.queue
            if slot.unit_id in units:
                pass  # its unit is ours now: met
            elif len(leased) == wanted:
                break
            elif claimed := _claim(slot, enrolment=enrolment, moves_on=unbroken, now=now):
                leased.append(claimed)
                units.add(slot.unit_id)
            else:
                unbroken = False  # somebody else's: should it come back, we must pass it once more
    return leased


def _claim(slot: Candidate, *, enrolment: Enrolment, moves_on: bool, now: datetime) -> Slot | None:
    """The slot, leased; None if it is somebody else's by now. If `moves_on`, their position is then its."""
    leased = {
        "annotator": enrolment.annotator_id,
        "lease_key": lease_keys.issue(annotator_id=enrolment.annotator_id, unit_id=slot.unit_id),
        "leased_at": now,
        "lease_expires_at": now + _lease_time(),
    }
    if moves_on:
        done = _CLAIM_AND_MOVE_ON.run(slot=slot.pk, pk=enrolment.pk, position=slot.queue, **leased)
        if not done["claimed"]:
            return None
        enrolment.position = slot.queue
    elif not _CLAIM.run(slot=slot.pk, **leased):
        return None
    values = (*slot, SlotState.LEASED, *leased.values())
    return Slot.from_db(DEFAULT_DB_ALIAS, _CLAIMED, values)


def _return_to_queue(slots: QuerySet[Slot], *, skip_locked: bool = False) -> int:
    returned = 0
    for study_id in list(slots.order_by().values_list("study", flat=True).distinct()):
        with transaction.atomic():
            # The lock hands out queue numbers one after the other; no_key leaves inserts of slots and
            # enrolments, which refer to the study, alone.
            Study.objects.select_for_update(no_key=True).get(pk=study_id)
            last = Slot.objects.filter(study=study_id).aggregate(last=Max("queue"))["last"]
            leased = slots.filter(study=study_id).order_by("queue")
            for slot in leased.select_for_update(no_key=True, skip_locked=skip_locked, of=("self",)):
                gone = Slot.objects.filter(
                    pk=slot.pk,
                    state=SlotState.LEASED,
                    lease_key=slot.lease_key,
                    lease_expires_at=slot.lease_expires_at,
                ).update(state=SlotState.OPEN, annotator=None, queue=last + 1, **_NO_LEASE)
                last += gone
                returned += gone
    return returned


def _lease_time() -> timedelta:
    return timedelta(minutes=settings.LEASE_MINUTES)
