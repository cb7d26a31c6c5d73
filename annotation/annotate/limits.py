"""Limits on what annotators send, for the page, its plain form and the API."""

from datetime import datetime, timedelta

from django.utils import timezone

MAX_ID = 2**63 - 1
MAX_OPTIONS = 200
MAX_BOXES = 200
MAX_ITEMS = 12
"""Items that a client may hold at once, those whose answers are still being sent included."""
DAY_MS = 24 * 60 * 60 * 1000
"""No time at work on one item is longer, in milliseconds."""


def plausible_start(text: str) -> datetime | None:
    """The ISO 8601 time `text` if it has a time zone and is at most 30 days old, else None: a browser's wrong
    clock must not cost an answer."""
    try:
        started_at = datetime.fromisoformat(text)
        plausible = started_at > timezone.now() - timedelta(days=30)
    except (TypeError, ValueError, OverflowError):  # TypeError: it may have no time zone
        return None
    return started_at if plausible else None
