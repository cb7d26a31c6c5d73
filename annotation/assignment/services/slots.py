"""Who judges what next: leasing, renewing and returning slots (DESIGN §4, docs/adr/0002-slots.md). Every
change of a slot is one conditional UPDATE whose row count is the answer, so two processes never hold the same
slot."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from annotation.assignment import lease_keys
from annotation.assignment.constants import ENDED_STATUSES
from annotation.assignment.queries import Candidate, open_slots
from annotation.assignment.services import enrolment_lock
from annotation.core import strata
from annotation.core.prepared import Param, Prepared, PreparedUpdate
from annotation.core.prepared_together import Changed, Together
from annotation.models import Annotator, Enrolment, Slot, SlotState, Study, StudyStatus

_ENROLMENT = Prepared(
    Enrolment.objects.filter(pk=Param("pk"))
    .select_for_update(no_key=True, of=("self",))
    .values_list("annotator", "position", "strata", "status", "study__status")
)
_LEASED = Prepared(
    Slot.objects.filter(study=Param("study"), annotator=Param("annotator"), state=SlotState.LEASED).order_by(
        "leased_at", "queue"
    )
)
_NO_LEASE: dict[str, Any] = dict.fromkeys(("lease_key", "leased_at", "lease_expires_at"))
# Skips a slot that somebody else is claiming at this moment.
_FREE = Slot.objects.filter(pk=Param("slot"), state=SlotState.OPEN).order_by()
_CLAIM = PreparedUpdate(
    Slot.objects.filter(pk__in=_FREE.select_for_update(skip_locked=True).values("pk")),
    state=SlotState.LEASED,
    annotator=Param("annotator"),
    lease_key=Param("lease_key"),
    leased_at=Param("leased_at"),
    lease_expires_at=Param("lease_expires_at"),
)
# The columns of Candidate, then those that a claim sets.
_CLAIMED = ("id", "unit_id", "queue", "state", "annotator_id", "lease_key", "leased_at", "lease_expires_at")
# Fills the slot that was chosen for an answer (annotate/services/saving.py).
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
    """The slots that `enrolment` should answer next, in this order. All that they hold already are renewed,
    and new ones added until there are `wanted`, or fewer if that is all that is left. None if the study is
    not open, or if the annotator has left it or is blocked. `sweep`: if nothing is left, first return expired
    leases of others. A transaction that has slots locked must not ask for this: the sweep locks the study,
    and whoever has the study locked may wait for the slots."""
    now = now or timezone.now()
    with _without_disk_sync(), enrolment_lock.transaction_of(enrolment):
        if not _may_lease(enrolment):
            return []
        leased = _renew(enrolment=enrolment, now=now)
        missing = wanted - len(leased)
        if missing <= 0:
            return leased
        new = _lease_open(enrolment=enrolment, leased=leased, wanted=missing, now=now)
        nothing = not leased and not new
        if nothing and sweep and release_expired(now=now, study_id=enrolment.study_id):
            new = _lease_open(enrolment=enrolment, leased=leased, wanted=missing, now=now)
        return leased + new


def release_leases(*, enrolment: Enrolment) -> int:
    """Return every slot leased to `enrolment` to the queue, e.g. when they stop for now."""
    return return_to_queue(_leased(enrolment))


def release_leases_of_user(*, user_id: int) -> int:
    """Return every slot leased to an account, in any study, to the queue, when it logs out."""
    return return_to_queue(Slot.objects.filter(annotator__user=user_id, state=SlotState.LEASED))


def release_expired(*, now: datetime, study_id: int | None = None) -> int:
    """Return every slot whose lease has expired to the queue; the number of slots returned."""
    expired = Slot.objects.filter(state=SlotState.LEASED, lease_expires_at__lt=now)
    if study_id is not None:
        expired = expired.filter(study=study_id)
    # A locked slot is just being answered or renewed; the next sweep looks at it again.
    return return_to_queue(expired, skip_locked=True)


def restart_queue(*, annotator: Annotator) -> None:
    """Send `annotator` back to the start of every queue, since their profile and so their strata changed."""
    Enrolment.objects.filter(annotator=annotator).update(position=0, strata=None)


def matching_strata(*, enrolment: Enrolment) -> list[str]:
    """The strata of the study's slots that the annotator's profile matches, stored with the enrolment until
    `restart_queue` clears it. Tasks are frozen while people answer, so only the profile can change it."""
    if enrolment.strata is not None:
        return list(enrolment.strata)
    slot_strata: set[str] = set()
    for of_slots, of_task in enrolment.study.tasks.values_list("slot_strata", "strata"):
        slot_strata.update(of_slots or of_task or [strata.ANY])
    profile = dict(enrolment.annotator.profile_answers.values_list("field", "value"))
    enrolment.strata = sorted(
        text
        for text in slot_strata
        if not strata.depends_on_group(text) and strata.parse(text).matches(profile)
    )
    Enrolment.objects.filter(pk=enrolment.pk).update(strata=enrolment.strata)
    return list(enrolment.strata)


def is_done(*, enrolment: Enrolment) -> bool:
    """Whether nothing is left for this annotator: they hold no item, and no open item is for them."""
    if _leased(enrolment).exists():
        return False
    texts = matching_strata(enrolment=enrolment)
    return not open_slots(enrolment=enrolment, texts=texts, after=enrolment.position, least=1)


def _leased(enrolment: Enrolment) -> QuerySet[Slot]:
    return Slot.objects.filter(
        study=enrolment.study_id, annotator=enrolment.annotator_id, state=SlotState.LEASED
    )


def _may_lease(enrolment: Enrolment) -> bool:
    """Whether `enrolment` may lease slots, read again and locked: two tabs of an annotator must not walk the
    queue side by side."""
    if enrolment_lock.is_locked(enrolment):
        return enrolment.study.status == StudyStatus.OPEN and enrolment.status not in ENDED_STATUSES
    row = _ENROLMENT.first(pk=enrolment.pk)
    if row is None:  # erased or merged with another meanwhile
        return False
    enrolment.annotator_id, enrolment.position, enrolment.strata, status, study_status = row
    return study_status == StudyStatus.OPEN and status not in ENDED_STATUSES


@contextmanager
def _without_disk_sync() -> Iterator[None]:
    """On SQLite, do not wait until a lease is on the disk (visage_app/database/sqlite). If the machine stops
    just then, the slot is open again, and the answer still fills it, since its key proves itself. The next
    answer writes everything before it to the disk. For PostgreSQL see services/enrolment_lock.py."""
    database: Any = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    database.waits_for_disk = False
    try:
        yield
    finally:
        database.waits_for_disk = True


def _renew(*, enrolment: Enrolment, now: datetime) -> list[Slot]:
    slots = _LEASED.all(study=enrolment.study_id, annotator=enrolment.annotator_id)
    # A lease that has most of its time left needs no renewal: not every request writes.
    expiring = [
        slot.pk
        for slot in slots
        if slot.lease_expires_at and slot.lease_expires_at - now < _lease_time() * 0.75
    ]
    if expiring:
        # Do not wait for a slot that is being filled or returned at this moment.
        leased = Slot.objects.filter(
            pk__in=expiring, annotator=enrolment.annotator_id, state=SlotState.LEASED
        )
        free = list(leased.select_for_update(no_key=True, skip_locked=True).values_list("pk", flat=True))
        leased.filter(pk__in=free).update(lease_expires_at=now + _lease_time())
    return slots


def _lease_open(*, enrolment: Enrolment, leased: Iterable[Slot], wanted: int, now: datetime) -> list[Slot]:
    texts = matching_strata(enrolment=enrolment)
    new: list[Slot] = []
    # One of their leases can expire at this moment; its unit must not be assigned to them a second time.
    units = {slot.unit_id for slot in leased}
    after, unbroken = enrolment.position, True
    while len(new) < wanted:
        candidates = open_slots(enrolment=enrolment, texts=texts, after=after, least=wanted)
        if not candidates:
            break
        for slot in candidates:
            after = slot.queue
            if slot.unit_id in units:
                pass  # they have this unit already
            elif len(new) == wanted:
                break
            elif claimed := _claim(slot, enrolment=enrolment, moves_on=unbroken, now=now):
                new.append(claimed)
                units.add(slot.unit_id)
            else:
                unbroken = False  # somebody else has it; should it come back, it must still lie ahead of us
    return new


def _claim(slot: Candidate, *, enrolment: Enrolment, moves_on: bool, now: datetime) -> Slot | None:
    """Lease the slot; None if somebody else has it by now. `moves_on` sets the annotator's position to it."""
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


def return_to_queue(slots: QuerySet[Slot], *, skip_locked: bool = False) -> int:
    """Return the leased ones of `slots` to the queue; how many."""
    returned = 0
    for study_id in list(slots.order_by().values_list("study", flat=True).distinct()):
        with transaction.atomic():
            # The lock serialises queue numbers; no_key does not block inserts of slots and enrolments, which
            # refer to the study.
            Study.objects.select_for_update(no_key=True).get(pk=study_id)
            last = Slot.objects.filter(study=study_id).aggregate(last=Max("queue"))["last"]
            leased = slots.filter(study=study_id).order_by("queue")
            for slot in leased.select_for_update(no_key=True, skip_locked=skip_locked, of=("self",)):
                changed = Slot.objects.filter(
                    pk=slot.pk,
                    state=SlotState.LEASED,
                    lease_key=slot.lease_key,
                    lease_expires_at=slot.lease_expires_at,
                ).update(state=SlotState.OPEN, annotator=None, queue=last + 1, **_NO_LEASE)
                last += changed
                returned += changed
    return returned


def _lease_time() -> timedelta:
    return timedelta(minutes=settings.LEASE_MINUTES)
