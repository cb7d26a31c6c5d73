"""Pagination of long lists in the browser."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """One page of a list: its number from 1, the number of pages, and the number of all rows."""

    number: int
    pages: int
    total: int
