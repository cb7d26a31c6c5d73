"""Taking the audit log out, which is an event of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

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
    """The events that are asked for, newest first, as CSV or JSON lines; in English, whoever asks.

    That it was taken is written down before the first line, and is the first line where the filters let it
    through. Raises ValueError for an unknown format; nothing is written down then.
    """
    if fmt not in FORMATS:
        raise ValueError(f"'{fmt}' is not a format of the audit log. Choose one of: {', '.join(FORMATS)}.")
    details = {"format": fmt, **({"filters": filters.said()} if filters.said() else {})}
    noted = AuditEvent.objects.create(what="audit log exported", by=by, details=details)
    entries = events.stream(filters, upto=noted.pk)
    return _csv(entries) if fmt == "csv" else _jsonl(entries)


def _csv(entries: Iterable[events.Entry]) -> Iterator[bytes]:
    yield csv_lines([COLUMNS]).encode()
    for some in _some(entries):
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
            for each in some
        ).encode()


def _jsonl(entries: Iterable[events.Entry]) -> Iterator[bytes]:
    for some in _some(entries):
        lines = []
        for each in some:
            said = asdict(each)
            said["at"], said["by"] = each.at.isoformat(), said.pop("who")
            del said["study_title"]
            lines.append(json.dumps(said, ensure_ascii=False) + "\n")
        yield "".join(lines).encode()


def _some(entries: Iterable[events.Entry]) -> Iterator[list[events.Entry]]:
    """The entries in pieces, each told in English: between two, the language is the reader's own."""
    running = iter(entries)
    while True:
        with translation.override("en"):
            piece = list(islice(running, 500))
        if not piece:
            return
        yield piece


__all__ = ["COLUMNS", "FORMATS", "stream"]
