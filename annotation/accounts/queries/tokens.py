"""One's own tokens, for their page and the API. Nothing here writes."""

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
MOST = 200
"""Tokens shown, the newest first: those alive are fewer."""


@dataclass(frozen=True)
class TokenRow:
    """A token; `state` is one of STATES."""

    token: ApiToken
    state: str

    @property
    def is_alive(self) -> bool:
        return self.state == "alive"


def of_account(user: User, *, now: datetime | None = None) -> list[TokenRow]:
    """The tokens of `user`, those alive first, then the newest."""
    return sorted(rows(user.api_tokens.all()[:MOST], now=now), key=lambda row: not row.is_alive)


def rows(found: Iterable[ApiToken], *, now: datetime | None = None) -> list[TokenRow]:
    """These tokens with their states, in the order given."""
    now = now or timezone.now()
    return [TokenRow(token=token, state=_state(token, now=now)) for token in found]


def selected(user: User, *, state: str = "", now: datetime | None = None) -> QuerySet[ApiToken]:
    """The tokens of `user` that are in `state`; "": all of them."""
    over = Q(expires_at__lte=now or timezone.now())
    revoked = Q(revoked_at__isnull=False)
    asked = {"": Q(), "alive": ~revoked & ~over, "expired": ~revoked & over, "revoked": revoked}
    return user.api_tokens.filter(asked[state])


def _state(token: ApiToken, *, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "expired" if token.expires_at <= now else "alive"


__all__ = ["STATES", "TokenRow", "of_account", "rows", "selected"]
