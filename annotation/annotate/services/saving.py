"""Writing an answer down: the response, its judgements and boxes, the slot it fills, the counters.

Called by annotate/services/responses.py, inside its transaction and with the enrolment locked.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS

from annotation.annotate.services.answer_rules import Corners, Judged
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
from annotation.participation.sessions import SESSION


class Place(NamedTuple):
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
    judged: Sequence[Judged],
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
    """Keep one answer that passed the rules, and count it in `enrolment`. It fills the slot that `place`
    chose, unless it is a revision."""
    response = Response(
        unit=unit,
        slot_id=slot_id,
        annotator_id=enrolment.annotator_id,
        client_key=client_key,
        task_version=unit.task.version,
        revision=revision,
        # A browser's clock can be wrong: an answer never starts after it ends.
        started_at=min(started_at, submitted_at) if started_at else None,
        submitted_at=submitted_at,
        active_ms=None if active_ms is None else max(0, active_ms),
        idle_ms=None if idle_ms is None else max(0, idle_ms),
        language=language,
    )
    fills = slot_id is not None and revision == 1
    parts = _parts(len(judged), fills=fills, counts=revision == 1)
    counters = _counters(enrolment, unit=unit, active_ms=active_ms, now=submitted_at)
    done = parts.run(
        slot=slot_id,
        annotator=enrolment.annotator_id,
        **_RESPONSE.values(vars(response)),
        **_judgements(len(judged)).values(*(vars(one.answer) for one in judged)),
        pk=enrolment.pk,
        **counters,
    )
    if fills and not done["filled"]:  # it is locked: nobody can have taken it
        raise RuntimeError(f"Slot {slot_id} was chosen for an answer and could not be filled.")
    if revision == 1:
        vars(enrolment).update(counters)
    [response.pk] = done["response"]
    response._state.adding, response._state.db = False, DEFAULT_DB_ALIAS
    drawn = [
        Box(judgement_id=pk, **_corners(box), **_size(unit))
        for pk, one in zip(done["judgements"], judged, strict=True)
        for box in one.boxes
    ]
    if drawn:
        Box.objects.bulk_create(drawn)
    return response


@cache
def _parts(judgements: int, *, fills: bool, counts: bool) -> Together:
    """What an answer of so many judgements changes."""
    parts: dict[str, Any] = {"response": _RESPONSE, "judgements": _judgements(judgements)}
    if fills:
        parts["filled"] = slots.FILL
    if counts:
        parts["counted"] = _COUNT
    return Together(**parts)


@cache
def _judgements(number: int) -> PreparedInsert:
    return PreparedInsert(Judgement, rows=number, response_id=InsertedId("response"))


def _corners(box: Corners) -> dict[str, float]:
    return dict(zip(("x0", "y0", "x1", "y1"), box, strict=True))


def _size(unit: Unit) -> dict[str, int]:
    assert unit.image is not None  # boxes were refused otherwise
    return {"image_width": unit.image.width, "image_height": unit.image.height}


def place(*, enrolment: Enrolment, unit: Unit) -> Place | None:
    """The slot that an answer fills, locked: the one the annotator holds, else an open one of the same unit
    that the annotator may take; None if there is none left."""
    # All slots of the unit, in one fixed order, before any is chosen: two late answers to one unit that
    # each hold a slot which the other wants would wait for each other for ever.
    of_unit = [Place(*row) for row in _SLOTS_OF_UNIT.all(unit=unit.pk)]
    me = enrolment.annotator_id
    mine = next((slot for slot in of_unit if slot.annotator_id == me), None)
    if mine is not None:
        # Theirs under whatever key: the lease may have run out and been given to them anew meanwhile.
        leased = mine.state == SlotState.LEASED
        return mine if leased else None
    texts = slots.matching_strata(enrolment=enrolment)
    free = (slot for slot in of_unit if slot.state == SlotState.OPEN and slot.stratum in texts)
    return min(free, key=lambda slot: slot.number, default=None)


def _counters(enrolment: Enrolment, *, unit: Unit, active_ms: int | None, now: datetime) -> dict[str, Any]:
    """The counters that pages read instead of counting, after one more answer. Nobody else changes them
    meanwhile: the enrolment is locked."""
    is_data = unit.purpose == Purpose.DATA
    began, units, active = enrolment.session_started_at, enrolment.session_units, enrolment.session_active_ms
    if began is None or now - began > SESSION:
        began, units, active = now, 0, 0
    counts = is_data or enrolment.status != EnrolmentStatus.TRAINING
    return {
        "session_started_at": began,
        "session_units": units + 1,
        "session_active_ms": active + max(0, active_ms or 0),
        "answered": enrolment.answered + (1 if counts and is_data else 0),
        "golds": enrolment.golds + (1 if counts and not is_data else 0),
    }
