"""Invitations: links into a study, with a maximum number of uses and an end date (DESIGN §5). One conditional
UPDATE counts a use, so a link for twenty people admits exactly twenty."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.translation import gettext as _

from annotation.models import AuditEvent, Enrolment, EnrolmentStatus, Invitation, Study, StudyStatus
from annotation.participation.services import annotators, crowd

_CODE_LENGTH = 16  # 78 bits
MOST_USES = 1_000_000
# State of a link that cannot be followed -> why, and what people read.
_REFUSALS = {
    "taken back": ("revoked", "This invitation has been revoked."),
    "ended": ("expired", "This invitation has ended."),
    "full": ("full", "As many people as it was meant for have followed this invitation already."),
}


class InvitationRefused(ValueError):
    """An invitation cannot be created or followed; the message says why and what to do. `reason`, for a link
    that cannot be followed: unknown, revoked, expired, full, not_open or leads."""

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


def create(
    *,
    study: Study,
    by: User,
    label: str = "",
    max_uses: int | None = None,
    expires_at: datetime | None = None,
) -> Invitation:
    """Create a link into `study`. Raises InvitationRefused if `max_uses` is out of range, `expires_at` is
    past or the study is closed."""
    if max_uses is not None and not 1 <= max_uses <= MOST_USES:
        raise InvitationRefused(
            _("A link is for 1 to %(most)s people, not %(number)s.")
            % {"most": f"{MOST_USES:,}", "number": max_uses}
        )
    if expires_at is not None and expires_at <= timezone.now():
        raise InvitationRefused(_("The link would have ended already. Choose a later time, or none."))
    with transaction.atomic():
        status = Study.objects.values_list("status", flat=True).get(pk=study.pk)
        if status == StudyStatus.CLOSED:
            raise InvitationRefused(_("The study is closed: nobody can be invited."))
        invitation = Invitation.objects.create(
            study=study,
            code=get_random_string(_CODE_LENGTH, annotators.LETTERS),
            label=" ".join(label.split())[:120],
            max_uses=max_uses,
            expires_at=expires_at,
            created_by=by,
        )
        _record("invitation made", invitation, by=by, max_uses=max_uses)
        return invitation


def create_first(*, study: Study, by: User) -> None:
    """Create a link without limits into a study that has none, unless a crowd platform sends its people."""
    if not study.invitations.exists() and not crowd.accepts_newcomers(study=study):
        create(study=study, by=by)


def revoke(*, invitation: Invitation, by: User) -> bool:
    """Revoke a link. Returns False if it was revoked before. People who came by it stay in the study."""
    with transaction.atomic():
        revoked = Invitation.objects.filter(pk=invitation.pk, revoked_at__isnull=True).update(
            revoked_at=timezone.now()
        )
        invitation.refresh_from_db()
        if revoked:
            _record("invitation revoked", invitation, by=by, uses=invitation.uses)
        return bool(revoked)


def state(invitation: Invitation, *, now: datetime) -> str:
    """*open*, *full*, *ended* or *taken back*."""
    if invitation.revoked_at is not None:
        return "taken back"
    if invitation.expires_at is not None and invitation.expires_at <= now:
        return "ended"
    if invitation.max_uses is not None and invitation.uses >= invitation.max_uses:
        return "full"
    return "open"


def look_up(*, code: str) -> Invitation:
    """The invitation with this code, and its study. Counts nothing. Raises InvitationRefused if it cannot be
    followed now."""
    invitation = _find(code)
    _check(invitation, now=timezone.now())
    return invitation


def accept(*, code: str, user: User | None, now: datetime | None = None) -> tuple[Enrolment, bool]:
    """Enrol the person who follows a link, as *invited*; they still have to consent. Somebody without an
    account (`user` None) gets one. Returns the enrolment, and whether it is new and counted as a use:
    somebody who is enrolled enters again, even if the link has ended. Raises InvitationRefused, and writes
    nothing then."""
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
                return known, False
            if invitation.study.leads.filter(pk=user.pk).exists():
                raise InvitationRefused("You lead this study, so you cannot take part in it.", reason="leads")
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
        return enrolment, new


def _find(code: str) -> Invitation:
    invitation = Invitation.objects.filter(code=code).select_related("study").first()
    if invitation is None:
        raise InvitationRefused(
            "There is no such invitation. Please check that you have the whole link.", reason="unknown"
        )
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
    refusal = _REFUSALS.get(state(invitation, now=now))
    if refusal is None and invitation.study.status == StudyStatus.PAUSED:
        refusal = "not_open", "The study is paused. Please try again later."
    elif refusal is None and invitation.study.status != StudyStatus.OPEN:
        refusal = "not_open", "The study is not open."
    if refusal is not None:
        reason, message = refusal
        raise InvitationRefused(message, reason=reason)


def _record(what: str, invitation: Invitation, *, by: User, **details: object) -> None:
    AuditEvent.objects.create(
        what=what, study_id=invitation.study_id, by=by, details={"label": invitation.label, **details}
    )
