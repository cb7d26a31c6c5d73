"""Judgements page by page, for accounts that may export. Each page is recorded in the audit trail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from annotation.core.committed_ids import highest_safe_id
from annotation.exports.selection import Filters, Selection, check_filters
from annotation.exports.table import COLUMNS, chunks
from annotation.models import AuditEvent, Judgement, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class WritesInProgress(RuntimeError):
    """A long transaction is writing answers: until it ends, nobody can know how far it is safe to read."""

    def __init__(self) -> None:
        super().__init__(
            "A long transaction, for instance an import, is writing answers. Try again in a moment."
        )


def readable_judgements(*, study: Study, filters: Filters) -> QuerySet[Judgement]:
    """The judgements that match `filters`, without withdrawn ones, up to the highest id below which no new
    one can appear: a reader who continues after the last one misses nothing.

    Raises ExportRefused for an unknown value of a filter, and WritesInProgress.
    """
    check_filters(study, filters)
    reached = highest_safe_id(Judgement)
    if reached is None:
        raise WritesInProgress
    return Selection(study, filters).judgements().filter(pk__lte=reached)


def read_rows(
    *, study: Study, filters: Filters, found: Sequence[Judgement], by: User
) -> list[dict[str, Any]]:
    """The rows of the long table for `found`, in that order, as column -> value. Recorded in the audit
    trail."""
    if not found:
        return []
    ids = [judgement.pk for judgement in found]
    AuditEvent.objects.create(
        what="judgements read",
        study=study,
        by=by,
        details={
            "rows": len(ids),
            "first": min(ids),
            "last": max(ids),
            **({"filters": filters.as_dict()} if filters.as_dict() else {}),
        },
    )
    row_of = {
        (row[_RESPONSE], row[_POSITION]): dict(zip(COLUMNS, row, strict=True))
        for rows in chunks(Selection(study, filters, ids=ids))
        for row in rows
    }
    keys = [(judgement.response_id, judgement.position) for judgement in found]
    # Judgements that were withdrawn between the two queries are missing here
    return [row_of[key] for key in keys if key in row_of]


_RESPONSE, _POSITION = COLUMNS.index("response"), COLUMNS.index("shown_position")
