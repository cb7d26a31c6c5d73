"""Which studies are too large to count during a page request."""

from __future__ import annotations

from annotation.models import Slot, Study

MAX_SMALL = 20_000
"""A study with at most this many slots is counted during the request."""


def is_large(study: Study) -> bool:
    """Whether counting it would take too long for a page."""
    return Slot.objects.filter(study=study).order_by()[MAX_SMALL : MAX_SMALL + 1].exists()
