"""Judgements read a page at a time, for who may export: each page is noted in the audit trail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from annotation.core.committed_ids import highest_safe_id
from annotation.exports.selection import Filters, Selection, check
from annotation.exports.table import COLUMNS, chunks
from annotation.models import AuditEvent, Judgement, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class StillWriting(RuntimeError):
    """Something that takes long writes answers: how far a page can go cannot be said before it is through."""

    def __init__(self) -> None:
        super().__init__(
            "Answers are being written that cannot be seen yet, by an import say. Ask again in a moment."
        )


def selected(*, study: Study, filters: Filters) -> QuerySet[Judgement]:
    """The judgements that `filters` ask for, without those of people who withdrew, as far as no number among
    them can still appear: whoever goes on after the last one passes nothing by.

    Raises ExportRefused, naming what there is, where a filter is none, and StillWriting.
    """
    check(study, filters)
    reached = highest_safe_id(Judgement)
    if reached is None:
        raise StillWriting
    return Selection(study, filters).judgements().filter(pk__lte=reached)


def read(*, study: Study, filters: Filters, found: Sequence[Judgement], by: User) -> list[dict[str, Any]]:
    """The rows of the long table for `found`, in that order, as column -> value; who read them is noted."""
    if not found:
        return []
    numbers = [judgement.pk for judgement in found]
    AuditEvent.objects.create(
        what="judgements read",
        study=study,
        by=by,
        details={
            "rows": len(numbers),
            "first": min(numbers),
            "last": max(numbers),
            **({"filters": filters.said()} if filters.said() else {}),
        },
    )
    by_place = {
        (row[_RESPONSE], row[_POSITION]): dict(zip(COLUMNS, row, strict=True))
        for rows in chunks(_Some(study, filters, only=numbers))
        for row in rows
    }
    places = [(judgement.response_id, judgement.position) for judgement in found]
    # what was withdrawn between the two queries is left out
    return [by_place[place] for place in places if place in by_place]


_RESPONSE, _POSITION = COLUMNS.index("response"), COLUMNS.index("shown_position")


@dataclass
class _Some(Selection):
    """Those of the answers that are asked for by number."""

    only: Sequence[int] = ()

    def judgements(self, *, status: str = "", tasks: Sequence[str] = ()) -> QuerySet[Judgement]:
        return super().judgements(status=status, tasks=tasks).filter(pk__in=self.only)


__all__ = ["StillWriting", "read", "selected"]
