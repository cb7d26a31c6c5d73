"""Sessions: how long one stretch of work lasts."""

from __future__ import annotations

from datetime import timedelta

SESSION = timedelta(hours=12)
"""What somebody judges within this time counts as one session (Study.session_cap)."""
