"""Long lists of pages, a part at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paged:
    """One page of a list: its number, from 1, of how many, and how long the whole list is."""

    number: int
    pages: int
    total: int


__all__ = ["Paged"]
