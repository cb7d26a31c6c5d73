"""Stores answers, corrections and skips (DESIGN §3, §4, §5). An answer is stored once, however often it is
sent: its key is the key of its lease. A correction is a new revision."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db import transaction
from django.db.models import Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.annotate import queries
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
_EARLIER = Response.objects.filter(client_key=Param("client_key")).values("pk")
_OPTIONS = Prepared(
    Option.objects.filter(unit=Param("unit"), unit__task__study=Param("study"))
    .select_related("unit__task", "unit__image")
    .annotate(earlier=Subquery(_EARLIER))
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
    """`outcome`: *filled* a slot; *surplus*: stored, but its slot had gone to somebody else; *repeat*:
    this answer had been stored already; *check*: a training, gold or attention item; *revised* an earlier
    answer. `correct` and `feedback` are for training items only: nobody learns which items are gold."""

    response: Response
    outcome: Outcome
    correct: bool | None = None
    feedback: str = ""

    @property
    def public_outcome(self) -> str:
        """`outcome` as annotators may see it: it does not reveal which items are checks."""
        return "kept" if self.outcome in {"filled", "check", "revised"} else self.outcome


class NotAssigned(AnswerRefused):
    """The unit was never assigned to this annotator under this key."""


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
    """Store an annotator's answer to a unit, and count it in `enrolment`. Raises NotAssigned if the unit was
    not assigned to this annotator under `client_key`, and AnswerRefused if the answer breaks a rule
    (services/answer_rules.py) or if they have withdrawn; nothing is written then."""
    now = now or timezone.now()
    _check_key(client_key, enrolment=enrolment, unit_id=unit_id)
    with enrolment_lock.transaction_of(enrolment):
        _lock(enrolment)
        unit, options, earlier = _load_unit(enrolment, unit_id=unit_id, client_key=client_key)
        if earlier is not None:
            return _repeat(earlier)
        valid = rules.validate(unit=unit, options=options, answers=answers)
        is_data = unit.purpose == Purpose.DATA
        slot = saving.choose_slot(enrolment=enrolment, unit=unit) if is_data else None
        response = saving.write(
            valid,
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
        return _check_result(response, unit=unit, options=options, answers=answers)


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
) -> Submitted:
    """Store a new revision of the annotator's answer, under its `queries.correction_key`. The earlier one
    stays, no longer current. Raises as `submit`, and AnswerRefused if the study is closed or there is no
    answer to correct."""
    _check_key(client_key, enrolment=enrolment, unit_id=unit_id)
    with transaction.atomic():
        _lock(enrolment)
        unit, options, repeated = _load_unit(enrolment, unit_id=unit_id, client_key=client_key)
        if repeated is not None:
            return Submitted(response=repeated, outcome="repeat")
        earlier = queries.correctable_answers(enrolment=enrolment).filter(unit=unit_id).first()
        if earlier is None or queries.correction_key(enrolment=enrolment, earlier=earlier) != client_key:
            raise AnswerRefused(_("This answer has been changed in another window. Please open it again."))
        if Study.objects.filter(pk=enrolment.study_id, status=StudyStatus.CLOSED).exists():
            raise AnswerRefused(_("The study is closed: its answers can no longer be changed."))
        valid = rules.validate(unit=unit, options=options, answers=answers)
        Response.objects.filter(pk=earlier.pk).update(current=False)
        response = saving.write(
            valid,
            unit=unit,
            enrolment=enrolment,
            slot_id=earlier.slot_id,
            client_key=client_key,
            revision=earlier.revision + 1,
            started_at=started_at,
            submitted_at=timezone.now(),
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
) -> Skip:
    """Skip a unit, with a reason. Its slot goes back to the queue for somebody else; the annotator does not
    get the unit again. Skipping twice is the same as once. Raises NotAssigned as `submit`, and AnswerRefused
    for an unknown reason or if the unit has been answered."""
    _check_key(client_key, enrolment=enrolment, unit_id=unit_id)
    if reason not in SkipReason.values:
        raise AnswerRefused(f"'{reason}' is not a reason. Choose one of: {', '.join(SkipReason.values)}.")
    with transaction.atomic():
        _lock(enrolment)
        mine = {"unit_id": unit_id, "annotator_id": enrolment.annotator_id}
        earlier = Skip.objects.filter(**mine).first()
        if earlier is not None:
            return earlier
        if Response.objects.filter(**mine).exists():
            raise AnswerRefused(_("You have answered this item already."))
        _load_unit(enrolment, unit_id=unit_id, client_key=client_key)
        skipped = Skip.objects.create(
            **mine, client_key=client_key, reason=reason, note=note, at=timezone.now()
        )
        slots.return_to_queue(Slot.objects.filter(**mine, state=SlotState.LEASED))
        return skipped


def _check_key(client_key: UUID, *, enrolment: Enrolment, unit_id: int) -> None:
    if not lease_keys.was_issued(client_key, annotator_id=enrolment.annotator_id, unit_id=unit_id):
        raise NotAssigned(
            _("This item was not assigned to you. Please open the study again to get your next item.")
        )


def _lock(enrolment: Enrolment) -> None:
    """Lock the enrolment and read it again. An annotator's requests queue here, so a double click finds the
    row of the first one."""
    if not enrolment_lock.is_locked(enrolment):
        row = _ENROLMENT.first(pk=enrolment.pk)
        if row is None:  # erased, or merged with another meanwhile
            raise AnswerRefused(_("Your place in this study has changed. Please open the study again."))
        vars(enrolment).update(row)
    if enrolment.status == EnrolmentStatus.WITHDRAWN:
        raise AnswerRefused(_("You have withdrawn from this study. No more answers are saved."))


def _load_unit(
    enrolment: Enrolment, *, unit_id: int, client_key: UUID
) -> tuple[Unit, Sequence[Option], Response | None]:
    """The unit, its options, and the earlier response under this key, if any."""
    options = _OPTIONS.all(unit=unit_id, study=enrolment.study_id, client_key=client_key)
    if not options:
        raise NotAssigned(_("This item belongs to another study. Please open that one again."))
    earlier_id = options[0].earlier
    # Almost always None, so the row itself has a query of its own.
    earlier = None if earlier_id is None else Response.objects.select_related("unit").get(pk=earlier_id)
    return options[0].unit, options, earlier


def _repeat(earlier: Response) -> Submitted:
    if earlier.unit.purpose != Purpose.TRAINING:
        return Submitted(response=earlier, outcome="repeat")
    options = list(earlier.unit.options.all())
    answers = [
        Answer(option_id=judgement.option_id, value=judgement.value, position=1)
        for judgement in earlier.judgements.all()
    ]
    result = _check_result(earlier, unit=earlier.unit, options=options, answers=answers)
    return replace(result, outcome="repeat")


def _check_result(
    response: Response, *, unit: Unit, options: Sequence[Option], answers: Sequence[Answer]
) -> Submitted:
    if unit.purpose != Purpose.TRAINING:
        return Submitted(response=response, outcome="check")
    correct = rules.is_correct(options=options, answers=answers)
    return Submitted(response=response, outcome="check", correct=correct, feedback=unit.feedback)
