"""An account's own API tokens, for their page and the API."""

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Case, QuerySet, Value, When
from django.utils import timezone

from annotation.models import ApiToken

STATES = ("alive", "expired", "revoked")
MAX_SHOWN = 200
"""The newest tokens are shown. An account has fewer active ones."""


def tokens_with_state(user: User) -> QuerySet[Any]:
    """The tokens of `user`, each with its `state`, one of STATES."""
    return user.api_tokens.annotate(
        state=Case(
            When(revoked_at__isnull=False, then=Value("revoked")),
            When(expires_at__lte=timezone.now(), then=Value("expired")),
            default=Value("alive"),
        )
    )


def own_tokens(user: User) -> list[ApiToken]:
    """The tokens of `user`, active ones first, then newest first."""
    return sorted(tokens_with_state(user)[:MAX_SHOWN], key=lambda token: token.state != "alive")
