"""Taking hours and exposure of each annotator out, as CSV (docs/audit.md)."""

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
    ("annotator", "pseudonym"),
    ("simulated", "yes: a program that stands in for somebody"),
    ("studies", "how many studies are added up here"),
    ("status", "in the study; empty where studies are added up"),
    ("active_hours", "work on all items, training and checks included, as the browser measured it"),
    ("idle_hours", "an item was open and out of sight, or nothing was done for half a minute"),
    ("untimed", "answers without such a measurement, so with no hours here"),
    ("answered", "items answered for the data, surplus included"),
    ("surplus", "those of them that came when all answers that were wanted were there: work all the same"),
    ("checks", "gold items and attention checks answered"),
    ("training", "training items answered"),
    ("revised", "changes of mind"),
    ("skipped", "items passed over"),
    ("offensiveness", "items about offensive words that were shown: answered or skipped"),
    ("depiction", "items with an image that were shown: answered or skipped"),
    ("days", "days (UTC) with an answer"),
    ("first", "the first answer, ISO 8601"),
    ("last", "the last answer, ISO 8601"),
)
"""Name of each column, and what it holds."""


def stream_csv(*, study: Study | None, by: User | None) -> Iterator[bytes]:
    """One row for each annotator of `study`, or of all studies together, by pseudonym; header first.

    Who withdrew is in no row. That it was taken is written down before the first line.
    """
    AuditEvent.objects.create(what="hours exported", study=study, by=by)
    return _lines(exposure.everybody(study))


def _lines(rows: Iterable[exposure.Hours]) -> Iterator[bytes]:
    yield csv_lines([[name for name, _ in COLUMNS]]).encode()
    running = iter(rows)
    while some := list(islice(running, 200)):
        yield csv_lines([_cell(getattr(row, name)) for name, _ in COLUMNS] for row in some).encode()


def _cell(value: Any) -> Any:
    return f"{value:.4f}" if isinstance(value, float) else value


__all__ = ["COLUMNS", "stream_csv"]
