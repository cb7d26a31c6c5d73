"""A lead's actions on an enrolment: block, unblock, release leased items (DESIGN §5). Each writes an audit
event that does not name the annotator, because it is kept after a withdrawal."""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.assignment.constants import LEFT_STATUSES
from annotation.assignment.services import slots
from annotation.models import AuditEvent, Consent, Enrolment, EnrolmentStatus, Purpose, Unit


class EnrolmentRefused(ValueError):
    """The action is not possible. The message says why."""


def block(*, enrolment: Enrolment, by: User) -> bool:
    """Stop giving items to `enrolment`. Their leased items go to others; their answers stay. Returns False if
    they are blocked already. Raises EnrolmentRefused if they have left the study."""
    with transaction.atomic():
        locked = _lock(enrolment)
        if locked.status == EnrolmentStatus.BLOCKED:
            return False
        if locked.status in LEFT_STATUSES:
            raise EnrolmentRefused(_("They have left the study already and cannot be blocked."))
        was = locked.status
        _set_status(enrolment, locked, status=EnrolmentStatus.BLOCKED)
        released = slots.release_leases(enrolment=locked)
        _record("annotator blocked", locked, by=by, was=was, answered=locked.answered, released=released)
        return True


def unblock(*, enrolment: Enrolment, by: User) -> bool:
    """Let a blocked annotator continue where they were. Returns False if they are not blocked."""
    with transaction.atomic():
        locked = _lock(enrolment)
        if locked.status != EnrolmentStatus.BLOCKED:
            return False
        _set_status(enrolment, locked, status=_status_without_block(locked))
        _record("annotator unblocked", locked, by=by, now=locked.status, answered=locked.answered)
        return True


def release(*, enrolment: Enrolment, by: User) -> int:
    """Return the leased items of `enrolment` to the queue; how many. Answers that still arrive are saved."""
    with transaction.atomic():
        locked = _lock(enrolment)
        released = slots.release_leases(enrolment=locked)
        if released:
            _record("open work released", locked, by=by, released=released)
        return released


def _lock(enrolment: Enrolment) -> Enrolment:
    """Lock the row and read it again. Leasing and submitting take the same lock first."""
    return Enrolment.objects.select_for_update(no_key=True).get(pk=enrolment.pk)


def _set_status(enrolment: Enrolment, locked: Enrolment, *, status: EnrolmentStatus) -> None:
    locked.status = enrolment.status = status
    locked.save(update_fields=["status"])


def _status_without_block(enrolment: Enrolment) -> EnrolmentStatus:
    """The status of an enrolment that is not blocked, derived from consent and answers."""
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
