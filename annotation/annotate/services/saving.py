"""Saves an answer: the response, its judgements and boxes, the slot it fills, the counters. The caller has
opened a transaction and locked the enrolment."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS

from annotation.annotate.services.answer_rules import Answer
from annotation.assignment.constants import SESSION_LENGTH
from annotation.assignment.services import slots
from annotation.core.prepared import Param, Prepared, PreparedInsert, PreparedUpdate
from annotation.core.prepared_together import InsertedId, Together
from annotation.models import (
    Box,
    Enrolment,
    EnrolmentStatus,
    Judgement,
    Purpose,
    Response,
    Slot,
    SlotState,
    Unit,
)


class LockedSlot(NamedTuple):
    """A slot as it was when it was locked; `number` is its index in the unit."""

    pk: int
    number: int
    state: str
    stratum: str
    annotator_id: int | None
    leased_at: datetime | None


_SLOTS_OF_UNIT = Prepared(
    Slot.objects.filter(unit=Param("unit"))
    .select_for_update(no_key=True)
    .order_by("pk")
    .values_list("pk", "index", "state", "stratum", "annotator", "leased_at")
)
_RESPONSE = PreparedInsert(Response)
COUNTERS = ("session_started_at", "session_units", "session_active_ms", "answered", "golds")
_COUNT = PreparedUpdate(
    Enrolment.objects.filter(pk=Param("pk")), **{counter: Param(counter) for counter in COUNTERS}
)


def write(
    answers: Sequence[Answer],
    *,
    unit: Unit,
    enrolment: Enrolment,
    slot_id: int | None,
    client_key: UUID,
    started_at: datetime | None,
    submitted_at: datetime,
    active_ms: int | None,
    idle_ms: int | None,
    language: str,
    revision: int = 1,
) -> Response:
    """Write one answer and count it in `enrolment`. It fills the slot from `choose_slot`, unless it is a
    revision."""
    response = Response(
        unit=unit,
        slot_id=slot_id,
        annotator_id=enrolment.annotator_id,
        client_key=client_key,
        task_version=unit.task.version,
        revision=revision,
        # A browser's clock can be wrong: an answer must not start after it ends.
        started_at=min(started_at, submitted_at) if started_at else None,
        submitted_at=submitted_at,
        active_ms=None if active_ms is None else max(0, active_ms),
        idle_ms=None if idle_ms is None else max(0, idle_ms),
        language=language,
    )
    fills = slot_id is not None and revision == 1
    statements = _statements(len(answers), fills=fills, counts=revision == 1)
    counters = _counters(enrolment, unit=unit, active_ms=active_ms, now=submitted_at)
    results = statements.run(
        slot=slot_id,
        annotator=enrolment.annotator_id,
        **_RESPONSE.values(vars(response)),
        **_judgements(len(answers)).values(*(vars(answer) for answer in answers)),
        pk=enrolment.pk,
        **counters,
    )
    if fills and not results["filled"]:  # it is locked, so nobody can have taken it
        raise RuntimeError(f"Slot {slot_id} was chosen for an answer and could not be filled.")
    if revision == 1:
        vars(enrolment).update(counters)
    [response.pk] = results["response"]
    response._state.adding, response._state.db = False, DEFAULT_DB_ALIAS
    boxes = [
        Box(judgement_id=pk, x0=x0, y0=y0, x1=x1, y1=y1)
        for pk, answer in zip(results["judgements"], answers, strict=True)
        for x0, y0, x1, y1 in answer.boxes
    ]
    for box in boxes:
        assert unit.image is not None  # the rules refuse boxes otherwise
        box.image_width, box.image_height = unit.image.width, unit.image.height
    if boxes:
        Box.objects.bulk_create(boxes)
    return response


@cache
def _statements(judgements: int, *, fills: bool, counts: bool) -> Together:
    """The statements that write an answer of so many judgements."""
    statements: dict[str, Any] = {"response": _RESPONSE, "judgements": _judgements(judgements)}
    if fills:
        statements["filled"] = slots.FILL
    if counts:
        statements["counted"] = _COUNT
    return Together(**statements)


@cache
def _judgements(number: int) -> PreparedInsert:
    return PreparedInsert(Judgement, rows=number, response_id=InsertedId("response"))


def choose_slot(*, enrolment: Enrolment, unit: Unit) -> LockedSlot | None:
    """The slot that an answer fills, locked: the annotator's leased one, else an open one of the same unit
    that the annotator may take; None if there is none left."""
    # Lock all slots of the unit in one fixed order first. Otherwise two late answers to one unit could each
    # lock a slot that the other wants: a deadlock.
    of_unit = [LockedSlot(*row) for row in _SLOTS_OF_UNIT.all(unit=unit.pk)]
    me = enrolment.annotator_id
    mine = next((slot for slot in of_unit if slot.annotator_id == me), None)
    if mine is not None:
        # Whatever its key: the lease may have expired and the slot been leased to them again.
        return mine if mine.state == SlotState.LEASED else None
    texts = slots.matching_strata(enrolment=enrolment)
    free = (slot for slot in of_unit if slot.state == SlotState.OPEN and slot.stratum in texts)
    return min(free, key=lambda slot: slot.number, default=None)


def _counters(enrolment: Enrolment, *, unit: Unit, active_ms: int | None, now: datetime) -> dict[str, Any]:
    """The enrolment's counters, which pages read, after one more answer. The enrolment is locked."""
    is_data = unit.purpose == Purpose.DATA
    began, units, active = enrolment.session_started_at, enrolment.session_units, enrolment.session_active_ms
    if began is None or now - began > SESSION_LENGTH:
        began, units, active = now, 0, 0
    is_check = not is_data and enrolment.status != EnrolmentStatus.TRAINING
    return {
        "session_started_at": began,
        "session_units": units + 1,
        "session_active_ms": active + max(0, active_ms or 0),
        "answered": enrolment.answered + is_data,
        "golds": enrolment.golds + is_check,
    }
