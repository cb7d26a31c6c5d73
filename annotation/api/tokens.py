"""Tokens of the API: made, used, revoked (docs/api.md).

The secret is shown once, when it is made. Only its SHA-256 is kept: 256 random bits need no slow hash, and
whoever reads the table cannot use what stands there.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation import policies
from annotation.models import ApiToken, AuditEvent, Scope

if TYPE_CHECKING:
    from django.contrib.auth.models import User

DAYS = 90
MOST_DAYS = 365
MOST_TOKENS = 50
"""Tokens of one account that are neither revoked nor expired."""
_MARK = "vsg_"
_PREFIX = 12
_USED_AGAIN = timedelta(minutes=1)


class TokenRefused(ValueError):
    """A token that cannot be made. The message says why and what to do; `field` what it is about."""

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Made:
    """A new token and its secret, which is nowhere else."""

    token: ApiToken
    secret: str = field(repr=False)


def create(
    *,
    user: User,
    name: str,
    scopes: Collection[str],
    by: User | None,
    days: int = DAYS,
    now: datetime | None = None,
) -> Made:
    """Make a token that stands for `user` for `days` days and `scopes`. `by` is None for a command.

    Raises TokenRefused for a name that is empty or too long, scopes that there are not or that the account
    has no use for, a life that is longer than a year, and more than MOST_TOKENS.
    """
    now = now or timezone.now()
    name = " ".join(name.split())
    if not 1 <= len(name) <= 80:
        raise TokenRefused(_("Give the token a name of at most 80 characters."), field="name")
    if not 1 <= days <= MOST_DAYS:
        raise TokenRefused(
            _("A token lives 1 to %(most)d days; %(days)d is neither.") % {"most": MOST_DAYS, "days": days},
            field="days",
        )
    offered = policies.token_scopes(user)
    wanted = [scope for scope in Scope.values if scope in scopes]
    if not wanted or not set(scopes) <= set(offered):
        raise TokenRefused(
            _("Choose what the token may do. This account can choose: %(scopes)s.")
            % {"scopes": ", ".join(offered)},
            field="scopes",
        )
    secret = _MARK + secrets.token_urlsafe(32)
    with transaction.atomic():
        get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
        alive = ApiToken.objects.filter(user=user, revoked_at__isnull=True, expires_at__gt=now)
        if alive.count() >= MOST_TOKENS:
            raise TokenRefused(
                _("There are %(number)d tokens already. Revoke one first.") % {"number": MOST_TOKENS},
                field="name",
            )
        token = ApiToken.objects.create(
            user=user,
            name=name,
            prefix=secret[:_PREFIX],
            digest=_digest(secret),
            scopes=wanted,
            expires_at=now + timedelta(days=days),
        )
        _record("api token made", token, by=by, days=days)
    return Made(token=token, secret=secret)


def revoke(*, token: ApiToken, by: User | None, now: datetime | None = None) -> bool:
    """End a token; False if it was revoked before."""
    with transaction.atomic():
        alive = ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True)
        revoked = alive.update(revoked_at=now or timezone.now())
        token.refresh_from_db()
        if revoked:
            _record("api token revoked", token, by=by)
        return bool(revoked)


def authenticate(*, secret: str, now: datetime | None = None) -> ApiToken | None:
    """The token of this secret, with its account; None if there is none, it was revoked or has expired, or
    the account was switched off. Notes the use, once a minute at most."""
    now = now or timezone.now()
    token = (
        ApiToken.objects.select_related("user")
        .filter(digest=_digest(secret), revoked_at__isnull=True, expires_at__gt=now, user__is_active=True)
        .first()
    )
    if token is not None and (token.last_used_at is None or now - token.last_used_at >= _USED_AGAIN):
        long_ago = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - _USED_AGAIN)
        ApiToken.objects.filter(long_ago, pk=token.pk).update(last_used_at=now)
    return token


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _record(what: str, token: ApiToken, *, by: User | None, **details: object) -> None:
    AuditEvent.objects.create(
        what=what,
        by=by,
        details={"account": token.user_id, "prefix": token.prefix, "scopes": token.scopes, **details},
    )


__all__ = ["DAYS", "MOST_DAYS", "MOST_TOKENS", "Made", "TokenRefused", "authenticate", "create", "revoke"]
