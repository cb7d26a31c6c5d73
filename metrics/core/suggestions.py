"""What was probably meant by a name that there is not."""

from __future__ import annotations

import difflib


def did_you_mean(name: str, known: list[str]) -> str:
    """How an error names what was probably meant: " Did you mean 'x'?", or nothing."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f" Did you mean '{close[0]}'?" if close else ""
