"""Invitations: links into a study, with a maximum number of uses and an end date (DESIGN §5).

One conditional UPDATE counts a use, in the transaction that enrols the person. So a link for twenty people
admits exactly twenty, even if more follow it in the same second.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import (
    AuditEvent,
    Enrolment,
    EnrolmentStatus,
    Invitation,
    Study,
    StudyStatus,
)
from annotation.participation.services import annotators

if TYPE_CHECKING:
    from django.contrib.auth.models import User

# Without 0, 1, i, l and o, which look alike: 78 bits.
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
_CODE_LENGTH = 16
MOST_USES = 1_000_000


class InvitationRefused(ValueError):
    """An invitation cannot be created or followed. The message says why and what to do."""


class Unknown(InvitationRefused):
    """No invitation has this code."""


class Revoked(InvitationRefused):
    """The study's lead has revoked the link."""


class Expired(InvitationRefused):
    """The link's end date has passed."""


class Full(InvitationRefused):
    """The link has reached its maximum number of uses."""


class NotOpen(InvitationRefused):
    """The study is a draft, paused or closed."""


class LeadsIt(InvitationRefused):
    """A lead cannot take part in their own study."""


@dataclass(frozen=True)
class Accepted:
    """`enrolment` with its study and annotator. `new`: this visit enrolled them and counted as a use."""

    enrolment: Enrolment
    new: bool


def create(
    *,
    study: Study,
    by: User,
    label: str = "",
    max_uses: int | None = None,
    expires_at: datetime | None = None,
    now: datetime | None = None,
) -> Invitation:
    """Create a link into `study`. None means no limit (`max_uses`) or no end (`expires_at`).

    Raises InvitationRefused if `max_uses` is out of range, `expires_at` is past or the study is closed.
    """
    now = now or timezone.now()
    if max_uses is not None and not 1 <= max_uses <= MOST_USES:
        raise InvitationRefused(
            _("A link is for 1 to %(most)s people, not %(number)s.")
            % {"most": f"{MOST_USES:,}", "number": max_uses}
        )
    if expires_at is not None and expires_at <= now:
        raise InvitationRefused(_("The link would have ended already. Choose a later time, or none."))
    with transaction.atomic():
        status = Study.objects.values_list("status", flat=True).get(pk=study.pk)
        if status == StudyStatus.CLOSED:
            raise InvitationRefused(_("The study is closed: nobody can be invited."))
        invitation = Invitation.objects.create(
            study=study,
            code="".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH)),
            label=" ".join(label.split())[:120],
            max_uses=max_uses,
            expires_at=expires_at,
            created_by=by,
        )
        _record("invitation made", invitation, by=by, max_uses=max_uses)
        return invitation


def revoke(*, invitation: Invitation, by: User, now: datetime | None = None) -> bool:
    """Revoke a link. Returns False if it was revoked before. People who came by it stay in the study."""
    with transaction.atomic():
        revoked = Invitation.objects.filter(pk=invitation.pk, revoked_at__isnull=True).update(
            revoked_at=now or timezone.now()
        )
        invitation.refresh_from_db()
        if revoked:
            _record("invitation revoked", invitation, by=by, uses=invitation.uses)
        return bool(revoked)


def look_up(*, code: str, now: datetime | None = None) -> Invitation:
    """The invitation with this code, and its study, if it can be followed now. Counts nothing.

    Raises Unknown, Revoked, Expired, Full or NotOpen.
    """
    invitation = _find(code)
    _check(invitation, now=now or timezone.now())
    return invitation


def accept(*, code: str, user: User | None, now: datetime | None = None) -> Accepted:
    """Enrol the person who follows a link, as *invited*; they still have to consent.

    `user` is None for somebody without an account: they get a new one, without a password and with their
    pseudonym as its name. Somebody who is enrolled already enters again without being counted, even if the
    link has ended since.

    Raises Unknown, Revoked, Expired, Full, NotOpen or LeadsIt, and writes nothing then.
    """
    now = now or timezone.now()
    with transaction.atomic():
        invitation = _find(code)
        if user is not None:
            known = (
                Enrolment.objects.filter(annotator__user=user, study=invitation.study_id)
                .select_related("annotator", "study")
                .first()
            )
            if known is not None:
                return Accepted(enrolment=known, new=False)
            if invitation.study.leads.filter(pk=user.pk).exists():
                raise LeadsIt("You lead this study, so you cannot take part in it.")
        _check(invitation, now=now)
        annotator = annotators.newcomer() if user is None else annotators.annotator_for(user=user)
        # The enrolment comes first: its unique constraint lets only one of two simultaneous clicks count.
        enrolment, new = Enrolment.objects.get_or_create(
            annotator=annotator,
            study=invitation.study,
            defaults={"status": EnrolmentStatus.INVITED, "invitation": invitation},
        )
        if new:
            _count_use(invitation, now=now)
        return Accepted(enrolment=enrolment, new=new)


def _find(code: str) -> Invitation:
    invitation = Invitation.objects.filter(code=code).select_related("study").first()
    if invitation is None:
        raise Unknown("There is no such invitation. Please check that you have the whole link.")
    return invitation


def _count_use(invitation: Invitation, *, now: datetime) -> None:
    """Count one use, if the link can still be followed: it may have changed since the check."""
    counted = Invitation.objects.filter(
        Q(max_uses__isnull=True) | Q(uses__lt=F("max_uses")),
        Q(expires_at__isnull=True) | Q(expires_at__gt=now),
        pk=invitation.pk,
        revoked_at__isnull=True,
    ).update(uses=F("uses") + 1)
    if not counted:
        invitation.refresh_from_db()
        _check(invitation, now=now)


def _check(invitation: Invitation, *, now: datetime) -> None:
    if invitation.revoked_at is not None:
        raise Revoked("This invitation has been revoked.")
    if invitation.expires_at is not None and invitation.expires_at <= now:
        raise Expired("This invitation has ended.")
    if invitation.max_uses is not None and invitation.uses >= invitation.max_uses:
        raise Full("As many people as it was meant for have followed this invitation already.")
    if invitation.study.status != StudyStatus.OPEN:
        raise NotOpen(
            "The study is paused. Please try again later."
            if invitation.study.status == StudyStatus.PAUSED
            else "The study is not open."
        )


def _record(what: str, invitation: Invitation, *, by: User, **details: object) -> None:
    AuditEvent.objects.create(
        what=what, study_id=invitation.study_id, by=by, details={"label": invitation.label, **details}
    )
