"""Which studies are so large that a page does not count their answers itself."""

from __future__ import annotations

from annotation.models import Slot, Study

MAX_SMALL = 20_000
"""A study with at most so many places is counted at once."""


def is_large(study: Study) -> bool:
    """Whether to count it takes longer than a page may."""
    return Slot.objects.filter(study=study).order_by()[MAX_SMALL : MAX_SMALL + 1].exists()
