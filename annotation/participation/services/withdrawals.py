"""Leaving a study: only stopping, or taking one's answers out of the data as well (DESIGN §5, §11).

A withdrawn answer is in no score and no export from the moment of its withdrawal, and its place in the
study is open again. The record that stays says how much was withdrawn and not by whom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from django.db import transaction
from django.db.models import F, Max, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from annotation import events, export_files
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

if TYPE_CHECKING:
    from django.contrib.auth.models import User

AskedBy = Literal["the annotator", "the team"]
_BATCH = 500
# Whoever is one of these is in a study no longer.
_GONE = (EnrolmentStatus.WITHDRAWN, EnrolmentStatus.SCREENED_OUT)


class NotEnrolled(ValueError):
    """Somebody who is not in the study: there is nothing to withdraw."""


@dataclass(frozen=True)
class Withdrawn:
    """What was withdrawn. `repeat`: it had been before, and nothing was done now."""

    responses: int = 0
    slots_reopened: int = 0
    leases_returned: int = 0
    skips_deleted: int = 0
    profile_deleted: bool = False
    repeat: bool = False


def withdraw(
    *, annotator: Annotator, study: Study, by: User | None, asked_by: AskedBy = "the annotator"
) -> Withdrawn:
    """Take everything that `annotator` said in `study` out of the data, for good.

    Their answers are marked withdrawn and lose their slots, which are open again and stand at the end of
    the queue; what they hold goes to others. What they wrote in their own words is erased, so are their
    skips, and their profile if they are in no other study. Their consent ends. A platform's id of them
    is replaced by a mark from which it cannot be read. One AuditEvent with counts stays: `by` is who does
    it for them, and is left out where they do it themselves; `asked_by` says which of the two it was
    where nobody is logged in.

    Doing it twice is doing it once, also at the same moment. Raises NotEnrolled.
    """
    now = timezone.now()
    with transaction.atomic():
        # The same order everywhere: annotator (as the profile does), enrolment (as answers do), study.
        Annotator.objects.select_for_update(no_key=True).get(pk=annotator.pk)
        enrolment = _locked(annotator=annotator, study=study)
        said = Response.objects.filter(
            annotator=annotator, unit__task__study=study, withdrawn_at__isnull=True
        )
        if enrolment.status == EnrolmentStatus.WITHDRAWN and not said.exists():
            return Withdrawn(repeat=True)
        profile_deleted = _forget_profile(annotator, study)
        leases = slots.release_all(enrolment=enrolment)
        Judgement.objects.filter(response__in=said).exclude(justification="").update(justification="")
        responses = said.update(withdrawn_at=now, current=False, slot=None)
        filled = Slot.objects.filter(study=study, annotator=annotator, state=SlotState.FILLED)
        reopened = reopen(filled=filled, study=study)
        if responses:
            export_files.discard_files(study=study)
        skips, _rows = Skip.objects.filter(annotator=annotator, unit__task__study=study).delete()
        Consent.objects.filter(annotator=annotator, text__study=study, withdrawn_at__isnull=True).update(
            withdrawn_at=Greatest(now, F("given_at"))
        )
        _leave_nothing(enrolment)
        done = Withdrawn(
            responses=responses,
            slots_reopened=reopened,
            leases_returned=leases,
            skips_deleted=skips,
            profile_deleted=profile_deleted,
        )
        events.announce(
            study_id=study.pk,
            event="annotator.withdrew",
            data={"responses": responses, "slots_reopened": reopened},
        )
        for_them = by is not None and by.pk != annotator.user_id
        AuditEvent.objects.create(
            what="withdrawal",
            study=study,
            by=by if for_them else None,
            details={
                "asked_by": "the team" if for_them else asked_by,
                "responses": responses,
                "slots_reopened": reopened,
                "leases_returned": leases,
                "skips_deleted": skips,
                "profile_deleted": profile_deleted,
            },
        )
        return done


def stop(*, annotator: Annotator, study: Study) -> bool:
    """End somebody's part in a study and keep what they answered; False if it had ended before.

    What they hold goes to others. Somebody who is blocked stays blocked. Raises NotEnrolled.
    """
    with transaction.atomic():
        enrolment = _locked(annotator=annotator, study=study)
        slots.release_all(enrolment=enrolment)
        ended = (EnrolmentStatus.FINISHED, EnrolmentStatus.BLOCKED, *_GONE)
        if enrolment.status in ended:
            return False
        enrolment.status = EnrolmentStatus.FINISHED
        enrolment.save(update_fields=["status"])
        return True


def come_back(*, annotator: Annotator, study: Study) -> bool:
    """Let somebody who had stopped take part again; False if they had not stopped. Raises NotEnrolled."""
    with transaction.atomic():
        enrolment = _locked(annotator=annotator, study=study)
        if enrolment.status != EnrolmentStatus.FINISHED:
            return False
        # Training that they have done is not asked again (annotate/services/items.py).
        enrolment.status = EnrolmentStatus.INVITED
        enrolment.save(update_fields=["status"])
        annotators.enrol(annotator=annotator, study=study)
        return True


def _locked(*, annotator: Annotator, study: Study) -> Enrolment:
    enrolment = (
        Enrolment.objects.select_for_update(no_key=True).filter(annotator=annotator, study=study).first()
    )
    if enrolment is None:
        raise NotEnrolled(f"the annotator {annotator.pseudonym} is not in the study '{study.name}'.")
    return enrolment


def _forget_profile(annotator: Annotator, study: Study) -> bool:
    """Delete the profile of somebody who is in no other study; whether there was one."""
    if annotator.enrolments.exclude(study=study).exclude(status__in=_GONE).exists():
        return False
    deleted, _rows = annotator.profile_answers.all().delete()
    return deleted > 0


def reopen(*, filled: QuerySet[Slot], study: Study) -> int:
    """Open slots of `study` that an annotator had filled and that no answer fills any more; in a study that
    goes on, at the end of its queue, so that everybody comes past them once more. Returns how many."""
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    freed = list(filled.filter(study=study).order_by("queue"))
    if study.status != StudyStatus.CLOSED:
        last = Slot.objects.filter(study=study).aggregate(last=Max("queue"))["last"] or 0
        for place, slot in enumerate(freed, last + 1):
            slot.queue = place
    for slot in freed:
        slot.state, slot.annotator = SlotState.OPEN, None
    Slot.objects.bulk_update(freed, ["state", "annotator", "queue"], batch_size=_BATCH)
    return len(freed)


def _leave_nothing(enrolment: Enrolment) -> None:
    """The enrolment of somebody who withdrew: that there was one, and nothing about the person."""
    if enrolment.crowd_participant and enrolment.status != EnrolmentStatus.WITHDRAWN:
        enrolment.crowd_participant = crowd.withdrawn_mark(
            study=enrolment.study, participant=enrolment.crowd_participant
        )
    enrolment.status = EnrolmentStatus.WITHDRAWN
    enrolment.crowd_session = ""
    enrolment.strata = None
    enrolment.answered = enrolment.golds = 0
    enrolment.session_started_at = None
    enrolment.session_units = enrolment.session_active_ms = 0
    enrolment.save()
