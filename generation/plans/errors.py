"""What planning refuses."""

from __future__ import annotations


class PlanRefused(ValueError):
    """Something that cannot be planned. The message says why and what to do."""


__all__ = ["PlanRefused"]
