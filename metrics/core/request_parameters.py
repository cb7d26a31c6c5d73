"""Parameters of a URL."""

from __future__ import annotations


def parse_id(text: str) -> int:
    """A primary key from a URL; 0, which no row has, for anything that is not a number."""
    return int(text) if text.isdecimal() and len(text) < 19 else 0
