"""Suggest a known name for an unknown one."""

import difflib


def did_you_mean(name: str, known: list[str]) -> str:
    """ " Did you mean 'x'?" for the closest known name, or "" if none is close."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f" Did you mean '{close[0]}'?" if close else ""
