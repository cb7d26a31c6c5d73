"""Exports of the audit log and of hours and exposure (docs/audit.md). Each is itself an audit event."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import islice
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import translation

from annotation.audit import queries
from annotation.audit.sentences import sentence
from annotation.core.csv_text import csv_lines
from annotation.models import AuditEvent, Study

EVENT_COLUMNS = ("id", "at", "what", "sentence", "by", "study", "details")
EVENT_FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
"""Format -> media type."""
HOURS_COLUMNS = tuple(field.name for field in fields(queries.Hours))


def stream_events(*, fmt: str, filters: Mapping[str, Any], by: User | None) -> Iterator[bytes]:
    """The matching events, newest first, as CSV or JSON lines, always in English.

    The export is recorded before the first line, and is the first line if it matches the filters. Raises
    ValueError for an unknown format, and records nothing then.
    """
    if fmt not in EVENT_FORMATS:
        raise ValueError(
            f"'{fmt}' is not a format of the audit log. Choose one of: {', '.join(EVENT_FORMATS)}."
        )
    details: dict[str, Any] = {"format": fmt}
    if used := {name: str(value) for name, value in filters.items() if value}:
        details["filters"] = used
    event = AuditEvent.objects.create(what="audit log exported", by=by, details=details)
    return _event_lines(fmt, queries.events(filters).filter(pk__lte=event.pk))


def _event_lines(fmt: str, events: QuerySet[AuditEvent]) -> Iterator[bytes]:
    if fmt == "csv":
        yield csv_lines([EVENT_COLUMNS]).encode()
    iterator = events.iterator(chunk_size=1000)
    while chunk := list(islice(iterator, 500)):
        # The language is not left changed between two chunks
        with translation.override("en"):
            rows = [_event_row(event) for event in chunk]
        if fmt == "csv":
            yield csv_lines(
                (*row, json.dumps(details, ensure_ascii=False, sort_keys=True)) for *row, details in rows
            ).encode()
        else:
            records = (dict(zip(EVENT_COLUMNS, row, strict=True)) for row in rows)
            yield "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def _event_row(event: AuditEvent) -> tuple[Any, ...]:
    """The values of EVENT_COLUMNS."""
    return (
        event.pk,
        event.at.isoformat(),
        event.what,
        sentence(event),
        event.by.get_username() if event.by else "",
        event.study.name if event.study else "",
        event.details,
    )


def stream_hours(*, study: Study | None, by: User | None) -> Iterator[bytes]:
    """CSV with a header, and one row for each annotator of `study`, or of all studies, sorted by pseudonym.

    People who withdrew are left out. The export is recorded before the first line.
    """
    AuditEvent.objects.create(what="hours exported", study=study, by=by)
    return _hours_lines(study)


def _hours_lines(study: Study | None) -> Iterator[bytes]:
    yield csv_lines([HOURS_COLUMNS]).encode()
    annotators = queries.annotators(study).iterator(chunk_size=200)
    while chunk := list(islice(annotators, 200)):
        rows = queries.hours(chunk, study)
        yield csv_lines([_cell(getattr(row, name)) for name in HOURS_COLUMNS] for row in rows).encode()


def _cell(value: Any) -> Any:
    return f"{value:.4f}" if isinstance(value, float) else value
