"""An account's own API tokens, for their page and the API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.models import ApiToken

if TYPE_CHECKING:
    from django.contrib.auth.models import User

STATES = ("alive", "expired", "revoked")
MAX_SHOWN = 200
"""The newest tokens are shown. An account has fewer active ones."""


@dataclass(frozen=True)
class TokenRow:
    """A token and its `state`, one of STATES."""

    token: ApiToken
    state: str

    @property
    def is_active(self) -> bool:
        return self.state == "alive"


def own_tokens(user: User, *, now: datetime | None = None) -> list[TokenRow]:
    """The tokens of `user`, active ones first, then newest first."""
    return sorted(token_rows(user.api_tokens.all()[:MAX_SHOWN], now=now), key=lambda row: not row.is_active)


def token_rows(tokens: Iterable[ApiToken], *, now: datetime | None = None) -> list[TokenRow]:
    """The tokens with their states, in the order given."""
    now = now or timezone.now()
    return [TokenRow(token=token, state=_state(token, now=now)) for token in tokens]


def filter_by_state(user: User, *, state: str = "", now: datetime | None = None) -> QuerySet[ApiToken]:
    """The tokens of `user` in `state`, or all of them if it is empty."""
    expired = Q(expires_at__lte=now or timezone.now())
    revoked = Q(revoked_at__isnull=False)
    conditions = {"": Q(), "alive": ~revoked & ~expired, "expired": ~revoked & expired, "revoked": revoked}
    return user.api_tokens.filter(conditions[state])


def _state(token: ApiToken, *, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "expired" if token.expires_at <= now else "alive"
