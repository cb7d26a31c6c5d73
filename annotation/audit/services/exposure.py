"""Export of hours and exposure of each annotator, as CSV (docs/audit.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from annotation.audit.queries import exposure
from annotation.core.csv_text import csv_lines
from annotation.models import AuditEvent, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User

COLUMNS = (
    "annotator",
    "simulated",
    "studies",
    "status",
    "active_hours",
    "idle_hours",
    "untimed",
    "answered",
    "surplus",
    "checks",
    "training",
    "revised",
    "skipped",
    "offensiveness",
    "depiction",
    "days",
    "first",
    "last",
)
"""The meaning of each column is in docs/audit.md."""


def stream_csv(*, study: Study | None, by: User | None) -> Iterator[bytes]:
    """A header, and one row for each annotator of `study`, or of all studies, sorted by pseudonym.

    People who withdrew are left out. The export is recorded before the first line.
    """
    AuditEvent.objects.create(what="hours exported", study=study, by=by)
    return _lines(exposure.all_hours(study))


def _lines(rows: Iterable[exposure.Hours]) -> Iterator[bytes]:
    yield csv_lines([COLUMNS]).encode()
    iterator = iter(rows)
    while chunk := list(islice(iterator, 200)):
        yield csv_lines([_cell(getattr(row, name)) for name in COLUMNS] for row in chunk).encode()


def _cell(value: Any) -> Any:
    return f"{value:.4f}" if isinstance(value, float) else value
