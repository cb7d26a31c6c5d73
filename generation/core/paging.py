"""Lists in pages."""

from __future__ import annotations

from typing import TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


def page_of(rows: QuerySet[M], number: str | int | None, *, each: int) -> Page[M]:
    """A page of rows; a number that there is no page of gives the nearest."""
    return Paginator(rows, each).get_page(number or 1)


__all__ = ["page_of"]
