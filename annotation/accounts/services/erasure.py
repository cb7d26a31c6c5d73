"""Erase a person: their answers, which a withdrawal keeps, and everything that identifies them (DESIGN §11).
Earlier exports, releases and backups are not changed."""

from dataclasses import dataclass, replace

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.services import accounts
from annotation.models import Annotator, AuditEvent, Enrolment, Invitation, Response, Study
from annotation.participation.services import withdrawals


class ErasureRefused(ValueError):
    """The person cannot be erased. The message says why and what to do."""


@dataclass(frozen=True)
class Erased:
    """Counts of what was deleted, or would be. `led`: studies that lose a lead."""

    studies: int = 0
    answers: int = 0
    slots_reopened: int = 0
    skips: int = 0
    consents: int = 0
    profile_fields: int = 0
    account: bool = False
    led: int = 0


def preview(*, annotator: Annotator | None, user: User | None) -> Erased:
    """What `erase` would delete of an annotator and of their account. Changes nothing. Raises ErasureRefused
    like `erase`."""
    if user is not None and user.is_superuser:
        raise ErasureRefused(_("This is an admin. Remove the admin role first."))
    led = Study.objects.filter(leads=user).count() if user is not None else 0
    erased = Erased(account=user is not None, led=led)
    if annotator is None:
        return erased
    return replace(
        erased,
        studies=annotator.enrolments.count(),
        answers=annotator.responses.count(),
        slots_reopened=annotator.slots.count(),
        skips=annotator.skips.count(),
        consents=annotator.consents.count(),
        profile_fields=annotator.profile_answers.count(),
    )


def erase(*, annotator: Annotator | None, user: User | None, by: User) -> Erased:
    """Delete a person permanently: the annotator, the account, or both, with all that refers to them. Slots
    that they filled are open again. An audit event with counts stays. Raises ErasureRefused for an admin, and
    if they no longer exist."""
    with transaction.atomic():
        if annotator is None:
            annotator = Annotator.objects.filter(user=user, user__isnull=False).first()
        if annotator is not None:
            annotator = Annotator.objects.select_for_update(no_key=True).filter(pk=annotator.pk).first()
            if annotator is None:
                raise ErasureRefused(_("They no longer exist."))
            user = annotator.user
        if user is not None:
            user = User.objects.select_for_update().filter(pk=user.pk).first()
        if annotator is None and user is None:
            raise ErasureRefused(_("They no longer exist."))
        done = preview(annotator=annotator, user=user)
        if annotator is not None:
            # A fixed order of studies, so that two erasures at once cannot deadlock.
            enrolments = list(annotator.enrolments.select_related("study").order_by("study_id"))
            for enrolment in enrolments:
                withdrawals.withdraw(annotator=annotator, study=enrolment.study, by=by)
            _forget_labels(enrolments)
            Response.objects.filter(annotator=annotator).delete()
            annotator.delete()
        if user is not None:
            accounts.end_sessions_and_tokens(user=user)
            # Django's admin log names the accounts that were changed.
            kind = ContentType.objects.get_for_model(user)
            LogEntry.objects.filter(content_type=kind, object_id=str(user.pk)).delete()
            user.delete()
        AuditEvent.objects.create(
            what="person erased",
            by=by,
            details={
                "studies": done.studies,
                "responses": done.answers,
                "slots_reopened": done.slots_reopened,
                "skips_deleted": done.skips,
                "consents": done.consents,
                "profile_fields": done.profile_fields,
                "account": done.account,
            },
        )
        return done


def _forget_labels(enrolments: list[Enrolment]) -> None:
    """Empty the labels of invitations that nobody else came by, and their copies in the audit log."""
    came_by = [enrolment.invitation_id for enrolment in enrolments if enrolment.invitation_id is not None]
    for invitation in Invitation.objects.filter(pk__in=came_by).exclude(label=""):
        if invitation.enrolments.count() > 1:
            continue
        for event in AuditEvent.objects.filter(study=invitation.study_id, details__label=invitation.label):
            event.details = {**event.details, "label": ""}
            event.save(update_fields=["details"])
        Invitation.objects.filter(pk=invitation.pk).update(label="")
