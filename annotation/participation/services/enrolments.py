"""What a lead does about somebody in a study: block, unblock, give their open work to others (DESIGN §5).

Each is recorded in the same transaction, without naming the annotator: the record outlives a withdrawal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.assignment.services import slots
from annotation.models import (
    AuditEvent,
    Consent,
    Enrolment,
    EnrolmentStatus,
    Purpose,
    Unit,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import User

# Whoever withdrew or was screened out has left: there is nobody to stop.
_GONE = frozenset({EnrolmentStatus.WITHDRAWN, EnrolmentStatus.SCREENED_OUT})


class EnrolmentRefused(ValueError):
    """Something that cannot be done about an annotator. The message says why."""


def block(*, enrolment: Enrolment, by: User) -> bool:
    """Give `enrolment` no more items; what they hold goes to others, what they answered stays.

    False if they are blocked already. Raises EnrolmentRefused for somebody who has left the study.
    """
    with transaction.atomic():
        held = _locked(enrolment)
        if held.status == EnrolmentStatus.BLOCKED:
            return False
        if held.status in _GONE:
            raise EnrolmentRefused(_("They have left the study already; there is nothing to block."))
        was = held.status
        _move(enrolment, held, to=EnrolmentStatus.BLOCKED)
        released = slots.release_leases(enrolment=held)
        _record("annotator blocked", held, by=by, was=was, answered=held.answered, released=released)
        return True


def unblock(*, enrolment: Enrolment, by: User) -> bool:
    """Let somebody who was blocked go on where they were; False if they are not blocked."""
    with transaction.atomic():
        held = _locked(enrolment)
        if held.status != EnrolmentStatus.BLOCKED:
            return False
        _move(enrolment, held, to=_standing(held))
        _record("annotator unblocked", held, by=by, now=held.status, answered=held.answered)
        return True


def release(*, enrolment: Enrolment, by: User) -> int:
    """Return to the queue what `enrolment` holds; how many items. An answer that still comes is kept."""
    with transaction.atomic():
        held = _locked(enrolment)
        released = slots.release_leases(enrolment=held)
        if released:
            _record("open work released", held, by=by, released=released)
        return released


def _locked(enrolment: Enrolment) -> Enrolment:
    """The row as it is now, held: leasing and submitting take the same lock first."""
    return Enrolment.objects.select_for_update(no_key=True).get(pk=enrolment.pk)


def _move(enrolment: Enrolment, held: Enrolment, *, to: EnrolmentStatus) -> None:
    held.status = enrolment.status = to
    held.save(update_fields=["status"])


def _standing(enrolment: Enrolment) -> EnrolmentStatus:
    """Where somebody stands who is not blocked: what they did says it, so nothing had to be remembered."""
    agreed = Consent.objects.filter(
        annotator=enrolment.annotator_id, text__study=enrolment.study_id, withdrawn_at__isnull=True
    )
    if not agreed.exists():
        return EnrolmentStatus.INVITED
    training = Unit.objects.filter(task__study=enrolment.study_id, purpose=Purpose.TRAINING)
    if not enrolment.answered and training.exists():
        return EnrolmentStatus.TRAINING
    return EnrolmentStatus.QUALIFIED


def _record(what: str, enrolment: Enrolment, *, by: User, **details: object) -> None:
    AuditEvent.objects.create(what=what, study_id=enrolment.study_id, by=by, details=details)


__all__ = ["EnrolmentRefused", "block", "release", "unblock"]
