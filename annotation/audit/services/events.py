"""Export of the audit log. The export is itself an audit event."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from django.utils import translation

from annotation.audit.queries import events
from annotation.core.csv_text import csv_lines
from annotation.models import AuditEvent

if TYPE_CHECKING:
    from django.contrib.auth.models import User

COLUMNS = ("id", "at", "what", "sentence", "by", "study", "details")
FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
"""Format -> media type."""


def stream(*, fmt: str, filters: events.Filters, by: User | None) -> Iterator[bytes]:
    """The matching events, newest first, as CSV or JSON lines, always in English.

    The export is recorded before the first line, and is the first line if it matches the filters. Raises
    ValueError for an unknown format, and records nothing then.
    """
    if fmt not in FORMATS:
        raise ValueError(f"'{fmt}' is not a format of the audit log. Choose one of: {', '.join(FORMATS)}.")
    details: dict[str, Any] = {"format": fmt}
    if set_filters := filters.as_details():
        details["filters"] = set_filters
    event = AuditEvent.objects.create(what="audit log exported", by=by, details=details)
    entries = events.stream(filters, last_id=event.pk)
    return _csv(entries) if fmt == "csv" else _jsonl(entries)


def _csv(entries: Iterable[events.Entry]) -> Iterator[bytes]:
    yield csv_lines([COLUMNS]).encode()
    for chunk in _chunks(entries):
        yield csv_lines(
            (
                each.id,
                each.at,
                each.what,
                each.sentence,
                each.who,
                each.study,
                json.dumps(each.details, ensure_ascii=False, sort_keys=True),
            )
            for each in chunk
        ).encode()


def _jsonl(entries: Iterable[events.Entry]) -> Iterator[bytes]:
    for chunk in _chunks(entries):
        lines = []
        for each in chunk:
            record = asdict(each)
            record["at"], record["by"] = each.at.isoformat(), record.pop("who")
            del record["study_title"]
            lines.append(json.dumps(record, ensure_ascii=False) + "\n")
        yield "".join(lines).encode()


def _chunks(entries: Iterable[events.Entry]) -> Iterator[list[events.Entry]]:
    """The entries in chunks, with English sentences. The language is not left changed between two chunks."""
    iterator = iter(entries)
    while True:
        with translation.override("en"):
            chunk = list(islice(iterator, 500))
        if not chunk:
            return
        yield chunk
