"""The error of planning."""

from __future__ import annotations


class PlanRefused(ValueError):
    """A plan that is not possible. The message says why and what to do."""
