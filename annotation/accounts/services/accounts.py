"""Accounts and what they may do: roles, switching off, a way to a new password (DESIGN §11).

Each change is recorded in its own transaction. The record names an account by its number where a role is
given or taken, and not at all where the account is an annotator's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.contrib.auth.tokens import default_token_generator
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from annotation.accounts.services import second_factor
from annotation.assignment.services import slots
from annotation.models import Annotator, ApiToken, AuditEvent, Enrolment, EnrolmentStatus, Study
from annotation.participation.services import enrolments

if TYPE_CHECKING:
    from django.contrib.auth.models import User

_GONE = (EnrolmentStatus.WITHDRAWN, EnrolmentStatus.SCREENED_OUT)


class AccountRefused(ValueError):
    """Something that cannot be done about an account. The message says why and what to do."""


def set_admin(*, user: User, on: bool, by: User) -> bool:
    """Make `user` an admin, or an ordinary account again; False if that is how it stands.

    Raises AccountRefused for the last admin, and for an account without a password.
    """
    with transaction.atomic():
        fresh = _locked(user, by=by)
        if fresh.is_superuser == on:
            return False
        if on:
            _needs_password(fresh)
        else:
            _not_the_last(fresh)
        # `is_staff` opens Django's administration, and is given with nothing else.
        fresh.is_superuser = fresh.is_staff = on
        fresh.save(update_fields=["is_superuser", "is_staff"])
        _record("admin made" if on else "admin unmade", by=by, account=fresh.pk)
        return True


def set_may_set_up(*, user: User, on: bool, by: User) -> bool:
    """Let `user` set up studies of their own, or no longer; False if that is how it stands.

    Raises AccountRefused for an account without a password.
    """
    with transaction.atomic():
        fresh = _locked(user, by=by)
        permission = Permission.objects.get(content_type__app_label="annotation", codename="add_study")
        if fresh.user_permissions.filter(pk=permission.pk).exists() == on:
            return False
        if on:
            _needs_password(fresh)
            fresh.user_permissions.add(permission)
        else:
            fresh.user_permissions.remove(permission)
        what = "may set up studies" if on else "may set up studies no more"
        _record(what, by=by, account=fresh.pk)
        return True


def set_lead(*, user: User, study: Study, on: bool, by: User) -> bool:
    """Let `user` lead `study`, or no longer; False if that is how it stands.

    Raises AccountRefused for somebody who takes part in it, and for an account without a password.
    """
    with transaction.atomic():
        fresh = _locked(user, by=by)
        if study.leads.filter(pk=fresh.pk).exists() == on:
            return False
        if on:
            _needs_password(fresh)
            if Enrolment.objects.filter(annotator__user=fresh, study=study).exists():
                raise AccountRefused(
                    _("They take part in “%(study)s”, so they cannot lead it.") % {"study": study.title}
                )
            study.leads.add(fresh)
        else:
            study.leads.remove(fresh)
        _record("lead made" if on else "lead unmade", by=by, study=study, account=fresh.pk)
        return True


def set_active(*, user: User, on: bool, by: User) -> bool:
    """Switch an account on or off; False if that is how it stands. Off, it is logged out everywhere, its
    API tokens end, and what its annotator holds goes to others; what they answered stays.

    Raises AccountRefused for one's own account and for the last admin.
    """
    with transaction.atomic():
        fresh = _locked(user, by=by)
        if fresh.is_active == on:
            return False
        if not on:
            if fresh.pk == by.pk:
                raise AccountRefused(_("This is your own account. Another admin can switch it off."))
            _not_the_last(fresh)
        fresh.is_active = on
        fresh.save(update_fields=["is_active"])
        if not on:
            slots.release_leases_of_user(user_id=fresh.pk)
            shut_out(user=fresh)
        _record("account switched on" if on else "account switched off", by=by, account=_number(fresh))
        return True


def password_link(*, user: User, by: User) -> tuple[str, str]:
    """What a link to set a new password is made of: the account's number and a token, both for the URL.

    The link works once, for PASSWORD_RESET_TIMEOUT seconds, and no more after the next login or change of
    password. The old password works until then. Raises AccountRefused if the account is switched off.
    """
    with transaction.atomic():
        fresh = _locked(user, by=by)
        if not fresh.is_active:
            raise AccountRefused(_("The account is switched off. Switch it on first."))
        _record("password link made", by=by, account=_number(fresh))
        return urlsafe_base64_encode(force_bytes(fresh.pk)), default_token_generator.make_token(fresh)


def remove_second_factor(*, user: User, by: User) -> bool:
    """Ask somebody who lost their device for the password alone; False if that is how it stands.

    Raises AccountRefused for one's own account, where a code is asked for first.
    """
    with transaction.atomic():
        fresh = _locked(user, by=by)
        if fresh.pk == by.pk:
            raise AccountRefused(_("This is your own account. Remove it on your page of the second step."))
        return second_factor.remove(user=fresh, by=by)


def block_everywhere(*, annotator: Annotator, by: User) -> int:
    """Block `annotator` in every study that they have not left; in how many they were not blocked before."""
    with transaction.atomic():
        # Studies in one order: two admins who block two people must not wait for each other.
        here = annotator.enrolments.exclude(status__in=_GONE).order_by("study_id")
        return sum(enrolments.block(enrolment=enrolment, by=by) for enrolment in here)


def release_everywhere(*, annotator: Annotator, by: User) -> int:
    """Return to the queues all that `annotator` holds in any study; how many items."""
    with transaction.atomic():
        here = annotator.enrolments.order_by("study_id")
        return sum(enrolments.release(enrolment=enrolment, by=by) for enrolment in here)


def shut_out(*, user: User) -> None:
    """End an account's sessions and API tokens."""
    for session in Session.objects.iterator():
        if session.get_decoded().get("_auth_user_id") == str(user.pk):
            session.delete()
    ApiToken.objects.filter(user=user, revoked_at__isnull=True).update(revoked_at=timezone.now())


def _locked(user: User, *, by: User) -> User:
    """The account as it is now, held, with all admins: of two who demote each other, one comes second and
    is no admin any more."""
    accounts = get_user_model().objects
    admins = accounts.select_for_update(no_key=True).filter(is_superuser=True, is_active=True)
    if by.pk not in [admin.pk for admin in admins.order_by("pk")]:
        raise AccountRefused(_("Only an admin can do this, and you are none any more."))
    fresh: User | None = accounts.select_for_update(no_key=True).filter(pk=user.pk).first()
    if fresh is None:
        raise AccountRefused(_("The account is gone."))
    return fresh


def _not_the_last(user: User) -> None:
    others = get_user_model().objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if user.is_superuser and user.is_active and not others.exists():
        raise AccountRefused(_("This is the last admin. Make another account an admin first."))


def _needs_password(user: User) -> None:
    # A platform's or an invitation's link logs in whoever has no password.
    if not user.has_usable_password():
        raise AccountRefused(_("The account has no password. Let them set one first."))


def _number(user: User) -> int | None:
    return None if Annotator.objects.filter(user=user).exists() else user.pk


def _record(what: str, *, by: User, account: int | None, study: Study | None = None) -> None:
    details = {} if account is None else {"account": account}
    AuditEvent.objects.create(what=what, study=study, by=by, details=details)


__all__ = [
    "AccountRefused",
    "block_everywhere",
    "password_link",
    "release_everywhere",
    "remove_second_factor",
    "set_active",
    "set_admin",
    "set_lead",
    "set_may_set_up",
    "shut_out",
]
