"""API tokens: create, authenticate, revoke (docs/api.md).

The secret is shown once, when the token is created. Only its SHA-256 is stored: 256 random bits need no slow
hash, and the stored digest cannot be used as a token.
"""

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation import policies
from annotation.core.prepared import Param, Prepared
from annotation.models import ApiToken, AuditEvent, Scope

DAYS = 90
MAX_DAYS = 365
MAX_TOKENS = 50
"""Maximum number of valid tokens of one account."""
_USE_INTERVAL = timedelta(minutes=1)
# Prepared, since every request of a program runs it.
_VALID = Prepared(
    ApiToken.objects.select_related("user").filter(
        digest=Param("digest"), revoked_at__isnull=True, expires_at__gt=Param("now"), user__is_active=True
    )
)


class TokenRefused(ValueError):
    """The token cannot be created. The message says why and what to do; `field` names the field."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class NewToken:
    """A new token and its secret, which is not stored."""

    token: ApiToken
    secret: str = field(repr=False)


def create(
    *,
    user: User,
    name: str,
    scopes: Collection[str],
    by: User | None,
    days: int = DAYS,
) -> NewToken:
    """Create a token with which a program acts as `user` for `days` days and with `scopes`. `by` is None for
    a command.

    Raises TokenRefused for an empty or too long name, scopes that are unknown or not available to the
    account, more than MAX_DAYS, and more than MAX_TOKENS valid tokens.
    """
    now = timezone.now()
    name = " ".join(name.split())
    if not 1 <= len(name) <= 80:
        raise TokenRefused(_("Give the token a name of at most 80 characters."), field="name")
    if not 1 <= days <= MAX_DAYS:
        raise TokenRefused(
            _("A token can be valid for 1 to %(most)d days, not %(days)d.")
            % {"most": MAX_DAYS, "days": days},
            field="days",
        )
    available = policies.token_scopes(user)
    wanted = [scope for scope in Scope.values if scope in scopes]
    if not wanted or not set(scopes) <= set(available):
        raise TokenRefused(
            _("Choose what the token may do. This account can choose: %(scopes)s.")
            % {"scopes": ", ".join(available)},
            field="scopes",
        )
    secret = f"vsg_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        valid = ApiToken.objects.filter(user=user, revoked_at__isnull=True, expires_at__gt=now)
        if valid.count() >= MAX_TOKENS:
            raise TokenRefused(
                _("You already have %(number)d tokens. Revoke one first.") % {"number": MAX_TOKENS},
                field="name",
            )
        token = ApiToken.objects.create(
            user=user,
            name=name,
            prefix=secret[:12],
            digest=_digest(secret),
            scopes=wanted,
            expires_at=now + timedelta(days=days),
        )
        _record("api token made", token, by=by, days=days)
    return NewToken(token=token, secret=secret)


def revoke(*, token: ApiToken, by: User | None) -> bool:
    """Revoke a token; return False if it was revoked already."""
    with transaction.atomic():
        valid = ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True)
        revoked = valid.update(revoked_at=timezone.now())
        token.refresh_from_db()
        if revoked:
            _record("api token revoked", token, by=by)
        return bool(revoked)


def authenticate(*, secret: str, now: datetime | None = None) -> ApiToken | None:
    """The token with this secret, with its account; None if there is none, if it was revoked or has expired,
    or if the account is inactive. Records the time of use, at most once a minute."""
    now = now or timezone.now()
    token = _VALID.first(digest=_digest(secret), now=now)
    if token is not None and (token.last_used_at is None or now - token.last_used_at >= _USE_INTERVAL):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _record(what: str, token: ApiToken, *, by: User | None, **details: object) -> None:
    AuditEvent.objects.create(
        what=what,
        by=by,
        details={"account": token.user_id, "prefix": token.prefix, "scopes": token.scopes, **details},
    )
