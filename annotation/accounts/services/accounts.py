"""Accounts: making them, roles, switching off, password reset links (DESIGN §11). Each change writes an audit
event; except for roles, it holds no id of an annotator's account."""

from django.contrib.auth.models import Permission, User
from django.contrib.auth.tokens import default_token_generator
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from annotation.accounts.services import second_factor
from annotation.assignment.constants import LEFT_STATUSES
from annotation.assignment.services import slots
from annotation.models import Annotator, ApiToken, AuditEvent, Enrolment, Study
from annotation.participation.services import enrolments

_PASSWORD_LENGTH = 32


class AccountRefused(ValueError):
    """The change is not possible. The message says why and what to do."""


def create(*, username: str, email: str, admin: bool, by: User) -> User:
    """Make the account of an admin, or of a lead who may set up studies. Nobody knows its password: they set
    one by a `password_link`. Raises AccountRefused if the user name is taken."""
    with transaction.atomic():
        _lock(by, by=by)
        if User.objects.filter(username__iexact=User.normalize_username(username)).exists():
            raise AccountRefused(_("There is an account with this user name already."))
        # With a password, as roles need; see _require_password.
        user = User.objects.create_user(username, email, get_random_string(_PASSWORD_LENGTH))
        _record("account made", by=by, account=user.pk)
        if admin:
            set_admin(user=user, on=True, by=by)
        else:
            set_may_create_studies(user=user, on=True, by=by)
        return user


def set_admin(*, user: User, on: bool, by: User) -> bool:
    """Give or remove the admin role; False if nothing changed. Raises AccountRefused for the last admin, and
    for an account without a password."""
    with transaction.atomic():
        fresh = _lock(user, by=by)
        if fresh.is_superuser == on:
            return False
        if on:
            _require_password(fresh)
        elif not User.objects.filter(is_superuser=True, is_active=True).exclude(pk=fresh.pk).exists():
            raise AccountRefused(_("This is the last admin. Make another account an admin first."))
        # Only admins are staff: `is_staff` opens Django's administration.
        fresh.is_superuser = fresh.is_staff = on
        fresh.save(update_fields=["is_superuser", "is_staff"])
        _record("admin made" if on else "admin unmade", by=by, account=fresh.pk)
        return True


def set_may_create_studies(*, user: User, on: bool, by: User) -> bool:
    """Give or remove the permission to set up studies; False if nothing changed. Raises AccountRefused for an
    account without a password."""
    with transaction.atomic():
        fresh = _lock(user, by=by)
        permission = Permission.objects.get(content_type__app_label="annotation", codename="add_study")
        if fresh.user_permissions.filter(pk=permission.pk).exists() == on:
            return False
        if on:
            _require_password(fresh)
            fresh.user_permissions.add(permission)
        else:
            fresh.user_permissions.remove(permission)
        what = "may set up studies" if on else "may set up studies no more"
        _record(what, by=by, account=fresh.pk)
        return True


def set_lead(*, user: User, study: Study, on: bool, by: User) -> bool:
    """Make `user` a lead of `study`, or remove them; False if nothing changed. Raises AccountRefused for
    somebody who takes part in it, and for an account without a password."""
    with transaction.atomic():
        fresh = _lock(user, by=by)
        if study.leads.filter(pk=fresh.pk).exists() == on:
            return False
        if on:
            _require_password(fresh)
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
    """Switch an account on or off; False if nothing changed. Switching off ends its sessions, revokes its API
    tokens and releases its leased items. Raises AccountRefused for one's own account."""
    with transaction.atomic():
        fresh = _lock(user, by=by)
        if fresh.is_active == on:
            return False
        if fresh.pk == by.pk:
            raise AccountRefused(_("This is your own account. Another admin can switch it off."))
        fresh.is_active = on
        fresh.save(update_fields=["is_active"])
        if not on:
            slots.release_leases_of_user(user_id=fresh.pk)
            end_sessions_and_tokens(user=fresh)
        _record("account switched on" if on else "account switched off", by=by, account=_loggable_id(fresh))
        return True


def password_link(*, user: User, by: User) -> tuple[str, str]:
    """The account's encoded id and a token, for the URL of a password reset link, which works once, for
    PASSWORD_RESET_TIMEOUT seconds. Raises AccountRefused if the account is switched off."""
    with transaction.atomic():
        fresh = _lock(user, by=by)
        if not fresh.is_active:
            raise AccountRefused(_("The account is switched off. Switch it on first."))
        _record("password link made", by=by, account=_loggable_id(fresh))
        return urlsafe_base64_encode(force_bytes(fresh.pk)), default_token_generator.make_token(fresh)


def remove_second_factor(*, user: User, by: User) -> bool:
    """Remove the second factor of somebody who lost their device; False if they had none. Raises
    AccountRefused for one's own account: removing that takes a code."""
    with transaction.atomic():
        fresh = _lock(user, by=by)
        if fresh.pk == by.pk:
            raise AccountRefused(
                _("This is your own account. Remove it on your page for two-factor authentication.")
            )
        return second_factor.remove(user=fresh, by=by)


def block_everywhere(*, annotator: Annotator, by: User) -> int:
    """Block `annotator` in every study that they have not left. Returns in how many it changed something."""
    with transaction.atomic():
        # A fixed order of studies, so that two admins at once cannot deadlock.
        current = annotator.enrolments.exclude(status__in=LEFT_STATUSES).order_by("study_id")
        return sum(enrolments.block(enrolment=enrolment, by=by) for enrolment in current)


def release_everywhere(*, annotator: Annotator, by: User) -> int:
    """Release the leased items of `annotator` in all studies. Returns how many."""
    with transaction.atomic():
        current = annotator.enrolments.order_by("study_id")
        return sum(enrolments.release(enrolment=enrolment, by=by) for enrolment in current)


def end_sessions_and_tokens(*, user: User) -> None:
    """Delete an account's sessions and revoke its API tokens."""
    for session in Session.objects.iterator():
        if session.get_decoded().get("_auth_user_id") == str(user.pk):
            session.delete()
    ApiToken.objects.filter(user=user, revoked_at__isnull=True).update(revoked_at=timezone.now())


def _lock(user: User, *, by: User) -> User:
    """Lock the account and all admins, and return the account as it is now. If two admins demote each other,
    the second is no longer an admin and is refused."""
    accounts = User.objects
    admins = accounts.select_for_update(no_key=True).filter(is_superuser=True, is_active=True)
    if by.pk not in [admin.pk for admin in admins.order_by("pk")]:
        raise AccountRefused(_("Only an admin can do this, and you are no longer one."))
    fresh: User | None = accounts.select_for_update(no_key=True).filter(pk=user.pk).first()
    if fresh is None:
        raise AccountRefused(_("The account no longer exists."))
    return fresh


def _require_password(user: User) -> None:
    # Without a password, a link logs in to the account.
    if not user.has_usable_password():
        raise AccountRefused(_("The account has no password. They must set one first."))


def _loggable_id(user: User) -> int | None:
    """The account's id for an audit event. None for an annotator's account."""
    return None if Annotator.objects.filter(user=user).exists() else user.pk


def _record(what: str, *, by: User, account: int | None, study: Study | None = None) -> None:
    details = {} if account is None else {"account": account}
    AuditEvent.objects.create(what=what, study=study, by=by, details=details)
