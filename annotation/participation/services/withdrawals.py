"""Leaving a study: stop, or withdraw one's answers as well (DESIGN §5, §11). The audit event that stays says
how much was withdrawn, but not by whom."""

from dataclasses import dataclass
from typing import Any, Literal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Max, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from annotation import events, export_files
from annotation.assignment.constants import ENDED_STATUSES, LEFT_STATUSES
from annotation.assignment.services import slots
from annotation.models import (
    Annotator,
    AuditEvent,
    Consent,
    Enrolment,
    EnrolmentStatus,
    Judgement,
    Response,
    Skip,
    Slot,
    SlotState,
    Study,
    StudyStatus,
)
from annotation.participation.services import annotators, crowd

AskedBy = Literal["the annotator", "the team"]
_BATCH = 500


class NotEnrolled(ValueError):
    """The annotator is not in the study."""


@dataclass(frozen=True)
class Withdrawn:
    """What was withdrawn. `repeat`: it was withdrawn before, and nothing was done now."""

    responses: int = 0
    slots_reopened: int = 0
    leases_returned: int = 0
    skips_deleted: int = 0
    profile_deleted: bool = False
    repeat: bool = False


def withdraw(
    *, annotator: Annotator, study: Study, by: User | None, asked_by: AskedBy = "the annotator"
) -> Withdrawn:
    """Take everything that `annotator` answered in `study` out of the data, for good. Their answers are
    marked as withdrawn and lose their slots, which are open again. Texts in their own words and skips are
    deleted, and the profile if they are in no other study. `by` is the account that does this for them, else
    None; `asked_by` says whose request it was then. Idempotent, also when called twice at the same moment.
    Raises NotEnrolled."""
    now = timezone.now()
    with transaction.atomic():
        # Locks are taken in the same order everywhere: annotator, enrolment, study.
        Annotator.objects.select_for_update(no_key=True).get(pk=annotator.pk)
        enrolment = _lock(annotator=annotator, study=study)
        answers = Response.objects.filter(
            annotator=annotator, unit__task__study=study, withdrawn_at__isnull=True
        )
        if enrolment.status == EnrolmentStatus.WITHDRAWN and not answers.exists():
            return Withdrawn(repeat=True)
        profile_deleted = _delete_profile(annotator, study)
        leases = slots.release_leases(enrolment=enrolment)
        Judgement.objects.filter(response__in=answers).exclude(justification="").update(justification="")
        responses = answers.update(withdrawn_at=now, current=False, slot=None)
        filled = Slot.objects.filter(study=study, annotator=annotator, state=SlotState.FILLED)
        reopened = reopen(filled=filled, study=study)
        if responses:
            export_files.discard_files(study=study)
        skips, _rows = Skip.objects.filter(annotator=annotator, unit__task__study=study).delete()
        Consent.objects.filter(annotator=annotator, text__study=study, withdrawn_at__isnull=True).update(
            withdrawn_at=Greatest(now, F("given_at"))
        )
        _anonymise(enrolment)
        counts: dict[str, Any] = {
            "responses": responses,
            "slots_reopened": reopened,
            "leases_returned": leases,
            "skips_deleted": skips,
            "profile_deleted": profile_deleted,
        }
        data = {"responses": responses, "slots_reopened": reopened}
        events.announce(study_id=study.pk, event="annotator.withdrew", data=data)
        on_behalf = by is not None and by.pk != annotator.user_id
        AuditEvent.objects.create(
            what="withdrawal",
            study=study,
            by=by if on_behalf else None,
            details={"asked_by": "the team" if on_behalf else asked_by, **counts},
        )
        return Withdrawn(**counts)


def stop(*, annotator: Annotator, study: Study) -> bool:
    """End somebody's participation and keep their answers; leased items go to others. Returns False if it had
    ended before. Raises NotEnrolled."""
    with transaction.atomic():
        enrolment = _lock(annotator=annotator, study=study)
        slots.release_leases(enrolment=enrolment)
        if enrolment.status in ENDED_STATUSES:
            return False
        enrolment.status = EnrolmentStatus.FINISHED
        enrolment.save(update_fields=["status"])
        return True


def come_back(*, annotator: Annotator, study: Study) -> bool:
    """Let somebody who had stopped take part again; False if they had not stopped. Raises NotEnrolled."""
    with transaction.atomic():
        enrolment = _lock(annotator=annotator, study=study)
        if enrolment.status != EnrolmentStatus.FINISHED:
            return False
        # Training items that they have answered do not come again (annotate/services/items.py).
        enrolment.status = EnrolmentStatus.INVITED
        enrolment.save(update_fields=["status"])
        annotators.enrol(annotator=annotator, study=study)
        return True


def _lock(*, annotator: Annotator, study: Study) -> Enrolment:
    enrolment = (
        Enrolment.objects.select_for_update(no_key=True).filter(annotator=annotator, study=study).first()
    )
    if enrolment is None:
        raise NotEnrolled(f"the annotator {annotator.pseudonym} is not in the study '{study.name}'.")
    return enrolment


def _delete_profile(annotator: Annotator, study: Study) -> bool:
    """Delete the profile if the annotator is in no other study. Returns whether anything was deleted."""
    if annotator.enrolments.exclude(study=study).exclude(status__in=LEFT_STATUSES).exists():
        return False
    deleted, _rows = annotator.profile_answers.all().delete()
    return deleted > 0


def reopen(*, filled: QuerySet[Slot], study: Study) -> int:
    """Reopen those of the slots `filled` that are in `study`, after their answers are gone. Returns how many.
    Unless the study is closed, they move to the end of its queue, so that everybody meets them once more."""
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    reopened = list(filled.filter(study=study).order_by("queue"))
    if study.status != StudyStatus.CLOSED:
        last = Slot.objects.filter(study=study).aggregate(last=Max("queue"))["last"] or 0
        for position, slot in enumerate(reopened, last + 1):
            slot.queue = position
    for slot in reopened:
        slot.state, slot.annotator = SlotState.OPEN, None
    Slot.objects.bulk_update(reopened, ["state", "annotator", "queue"], batch_size=_BATCH)
    return len(reopened)


def _anonymise(enrolment: Enrolment) -> None:
    """Keep the enrolment of somebody who withdrew, with nothing about the person in it."""
    if enrolment.crowd_participant and enrolment.status != EnrolmentStatus.WITHDRAWN:
        enrolment.crowd_participant = crowd.withdrawn_id(
            study=enrolment.study, participant=enrolment.crowd_participant
        )
    enrolment.status = EnrolmentStatus.WITHDRAWN
    enrolment.crowd_session = ""
    enrolment.strata = None
    enrolment.answered = enrolment.golds = 0
    enrolment.session_started_at = None
    enrolment.session_units = enrolment.session_active_ms = 0
    enrolment.save()
