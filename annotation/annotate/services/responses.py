"""Taking in what annotators say (DESIGN §3, §4, §5).

An answer is kept once, however often it is sent: its key is the lease it answers. An answer that comes
after its lease was returned takes a slot of the unit that is still open, or is kept as a surplus. A
change of mind is a new revision. Training, gold and attention items have no slots: everybody meets them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import transaction
from django.db.models import Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.annotate.services import answer_rules as rules
from annotation.annotate.services import saving
from annotation.annotate.services.answer_rules import Answer, AnswerRefused
from annotation.assignment import lease_keys
from annotation.assignment.services import enrolment_lock, slots
from annotation.core.prepared import Param, Prepared
from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    Option,
    Purpose,
    Response,
    Skip,
    SkipReason,
    Slot,
    SlotState,
    Study,
    StudyStatus,
    Unit,
)

Outcome = Literal["filled", "surplus", "repeat", "check", "revised"]

_ENROLMENT: Prepared[Any] = Prepared(
    Enrolment.objects.filter(pk=Param("pk"))
    .select_for_update(no_key=True)
    .values("annotator_id", "status", "position", "strata", *saving.COUNTERS)
)
_KNOWN = Response.objects.filter(client_key=Param("client_key")).values("pk")
_OPTIONS = Prepared(
    Option.objects.filter(unit=Param("unit"), unit__task__study=Param("study"))
    .select_related("unit__task", "unit__image")
    .annotate(known=Subquery(_KNOWN))
    .only(
        "role",
        "expected",
        "attribute",
        "unit__purpose",
        "unit__feedback",
        "unit__task__kind",
        "unit__task__version",
        "unit__image__width",
        "unit__image__height",
    )
    .order_by()
)


@dataclass(frozen=True)
class Submitted:
    """`outcome`: *filled* a slot; *surplus*: kept, but its slot had gone to somebody else; *repeat*:
    this very answer was here already; *check*: a training, gold or attention item; *revised* an earlier
    answer. `correct` and `feedback` are for training items only: nobody learns which items are gold."""

    response: Response
    outcome: Outcome
    correct: bool | None = None
    feedback: str = ""


class NotYours(AnswerRefused):
    """The unit was never given to this annotator under this key."""


def submit(
    *,
    enrolment: Enrolment,
    unit_id: int,
    client_key: UUID,
    answers: Sequence[Answer],
    started_at: datetime | None = None,
    active_ms: int | None = None,
    idle_ms: int | None = None,
    language: str = "",
    now: datetime | None = None,
) -> Submitted:
    """Keep one annotator's answer to one unit. `enrolment` is then as it is in the database, this answer
    counted.

    Raises
    ------
    NotYours
        if the unit was not given to this annotator under `client_key`.
    AnswerRefused
        if it cannot be an answer to the unit (services/answer_rules.py), or if the annotator has withdrawn.
        Nothing is written then.
    """
    now = now or timezone.now()
    _check_key(client_key, enrolment=enrolment, unit_id=unit_id)
    with enrolment_lock.transaction_of(enrolment):
        _lock(enrolment)
        unit, options, known = _asked(enrolment, unit_id=unit_id, client_key=client_key)
        if known is not None:
            return _repeated(known)
        judged = rules.checked(unit=unit, options=options, answers=answers)
        is_data = unit.purpose == Purpose.DATA
        slot = saving.place(enrolment=enrolment, unit=unit) if is_data else None
        response = saving.write(
            judged,
            unit=unit,
            enrolment=enrolment,
            slot_id=slot.pk if slot else None,
            client_key=client_key,
            started_at=started_at or (slot.leased_at if slot else None),
            submitted_at=now,
            active_ms=active_ms,
            idle_ms=idle_ms,
            language=language,
        )
        if is_data:
            return Submitted(response=response, outcome="filled" if slot else "surplus")
        right = rules.correct(unit=unit, options=options, answers=answers)
        return _checked(response, unit=unit, right=right)


def revise(
    *,
    enrolment: Enrolment,
    unit_id: int,
    client_key: UUID,
    answers: Sequence[Answer],
    started_at: datetime | None = None,
    active_ms: int | None = None,
    idle_ms: int | None = None,
    language: str = "",
    now: datetime | None = None,
) -> Submitted:
    """Keep a change of mind: a new revision of one's own answer, under the key of `correction_key`.

    The earlier revision stays, no longer current. Raises as `submit`, and AnswerRefused once the study is
    closed or if there is no answer of one's own to correct.
    """
    now = now or timezone.now()
    _check_key(client_key, enrolment=enrolment, unit_id=unit_id)
    with transaction.atomic():
        _lock(enrolment)
        unit, options, known = _asked(enrolment, unit_id=unit_id, client_key=client_key)
        if known is not None:
            return Submitted(response=known, outcome="repeat")
        earlier = current_answer(enrolment=enrolment, unit_id=unit_id)
        if earlier is None or correction_key(enrolment=enrolment, earlier=earlier) != client_key:
            raise AnswerRefused(_("This answer was changed elsewhere meanwhile. Please open it again."))
        if Study.objects.filter(pk=enrolment.study_id, status=StudyStatus.CLOSED).exists():
            raise AnswerRefused(_("The study is closed: its answers can no longer be changed."))
        judged = rules.checked(unit=unit, options=options, answers=answers)
        Response.objects.filter(pk=earlier.pk).update(current=False)
        response = saving.write(
            judged,
            unit=unit,
            enrolment=enrolment,
            slot_id=earlier.slot_id,
            client_key=client_key,
            revision=earlier.revision + 1,
            started_at=started_at,
            submitted_at=now,
            active_ms=active_ms,
            idle_ms=idle_ms,
            language=language,
        )
        return Submitted(response=response, outcome="revised")


def skip(
    *,
    enrolment: Enrolment,
    unit_id: int,
    client_key: UUID,
    reason: str,
    note: str = "",
    now: datetime | None = None,
) -> Skip:
    """Pass over a unit, with a reason. Its slot goes back to the queue for somebody else; the annotator
    is not asked again. Skipping twice is the same as once. Raises NotYours as `submit`, and AnswerRefused
    for an unknown reason or if the unit was answered meanwhile."""
    now = now or timezone.now()
    _check_key(client_key, enrolment=enrolment, unit_id=unit_id)
    if reason not in SkipReason.values:
        raise AnswerRefused(f"'{reason}' is not a reason. Choose one of: {', '.join(SkipReason.values)}.")
    with transaction.atomic():
        _lock(enrolment)
        mine = {"unit_id": unit_id, "annotator_id": enrolment.annotator_id}
        known = Skip.objects.filter(**mine).first()
        if known is not None:
            return known
        if Response.objects.filter(**mine).exists():
            raise AnswerRefused(_("You have answered this item already."))
        _asked(enrolment, unit_id=unit_id, client_key=client_key)
        held = Slot.objects.filter(**mine, state=SlotState.LEASED).first()
        made = Skip.objects.create(**mine, client_key=client_key, reason=reason, note=note[:2000], at=now)
        if held is not None:
            slots.return_slot(slot_id=held.pk)
        return made


def current_answer(*, enrolment: Enrolment, unit_id: int) -> Response | None:
    """The annotator's own current answer to a unit, unless it was training."""
    return (
        Response.objects.filter(
            unit=unit_id,
            unit__task__study=enrolment.study_id,
            annotator=enrolment.annotator_id,
            current=True,
            withdrawn_at__isnull=True,
        )
        .exclude(unit__purpose=Purpose.TRAINING)
        .first()
    )


def correction_key(*, enrolment: Enrolment, earlier: Response) -> UUID:
    """The key under which the next revision of `earlier` is sent; the same until there is one."""
    return lease_keys.fixed(
        annotator_id=enrolment.annotator_id,
        unit_id=earlier.unit_id,
        occasion=f"revision {earlier.revision + 1} of {earlier.pk}",
    )


def _check_key(client_key: UUID, *, enrolment: Enrolment, unit_id: int) -> None:
    if not lease_keys.was_issued(client_key, annotator_id=enrolment.annotator_id, unit_id=unit_id):
        raise NotYours(
            _("This item was not given to you. Please open the study again to get your next item.")
        )


def _lock(enrolment: Enrolment) -> None:
    """Make the enrolment what it is now, locked: an annotator's own requests queue here, so that a double
    click finds the first one's row."""
    if not enrolment_lock.is_held(enrolment):
        found = _ENROLMENT.first(pk=enrolment.pk)
        if found is None:  # erased, or merged with another meanwhile
            raise AnswerRefused(_("Your place in this study has changed. Please open the study again."))
        vars(enrolment).update(found)
    if enrolment.status == EnrolmentStatus.WITHDRAWN:
        raise AnswerRefused(_("You have withdrawn from this study. Nothing more is kept of you."))


def _asked(
    enrolment: Enrolment, *, unit_id: int, client_key: UUID
) -> tuple[Unit, Sequence[Option], Response | None]:
    """What is answered: the unit, its options, and the response that came under this key before."""
    options = _OPTIONS.all(unit=unit_id, study=enrolment.study_id, client_key=client_key)
    if not options:
        raise NotYours(_("This item belongs to another study. Please open that one again."))
    known = options[0].known
    # almost always a first time: the row itself is only read when there is one
    earlier = None if known is None else Response.objects.select_related("unit").get(pk=known)
    return options[0].unit, options, earlier


def _repeated(known: Response) -> Submitted:
    if known.unit.purpose == Purpose.TRAINING:
        said = {judgement.option_id: judgement.value for judgement in known.judgements.all()}
        options = list(known.unit.options.all())
        answers = [Answer(option_id=pk, value=value, position=1) for pk, value in said.items()]
        right = rules.correct(unit=known.unit, options=options, answers=answers)
        return Submitted(response=known, outcome="repeat", correct=right, feedback=known.unit.feedback)
    return Submitted(response=known, outcome="repeat")


def _checked(response: Response, *, unit: Unit, right: bool | None) -> Submitted:
    if unit.purpose == Purpose.TRAINING:
        return Submitted(response=response, outcome="check", correct=right, feedback=unit.feedback)
    return Submitted(response=response, outcome="check")


__all__ = [
    "Answer",
    "AnswerRefused",
    "NotYours",
    "Submitted",
    "correction_key",
    "current_answer",
    "revise",
    "skip",
    "submit",
]
