"""What stands in an address."""

from __future__ import annotations


def parse_id(text: str) -> int:
    """A number out of an address; 0, which is nobody's key, for anything that is none."""
    return int(text) if text.isdecimal() and len(text) < 19 else 0
