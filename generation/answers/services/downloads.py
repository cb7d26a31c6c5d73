"""Downloads of a run's answers, as CSV or JSON lines. Each is an audit event."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib.auth.models import User

from annotation.core.csv_text import csv_lines
from annotation.models import AuditEvent
from generation.answers import queries
from generation.answers.queries import Filters
from generation.models import Answer, Run

FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
"""Format -> media type."""
COLUMNS = (
    *("run", "job", "key", "number", "prompt", "text_pair", "image", "group", "attribute", "seed"),
    *("text", "ended", "tokens_in", "tokens_out", "seconds", "probabilities", "extra", "finished_at"),
)


def stream_answers(*, run: Run, fmt: str, filters: Filters, by: User | None) -> Iterator[bytes]:
    """The answers that match, in the order of their jobs, in flat memory.

    `fmt`: of FORMATS. The download is recorded before its first line.
    """
    details: dict[str, Any] = {"run": run.pk, "format": fmt}
    if used := {name: value for name, value in vars(filters).items() if value not in (None, "")}:
        details["filters"] = used
    AuditEvent.objects.create(what="answers downloaded", by=by, details=details)
    return _lines(run, fmt, filters)


def _lines(run: Run, fmt: str, filters: Filters) -> Iterator[bytes]:
    if fmt == "csv":
        yield csv_lines([COLUMNS]).encode()
    for batch in queries.batches(run, filters):
        rows = [_row(answer) for answer in batch]
        if fmt == "csv":
            yield csv_lines([[_cell(one[name]) for name in COLUMNS] for one in rows]).encode()
        else:
            yield "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows).encode()


def _cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return value


def _row(answer: Answer) -> dict[str, Any]:
    """The values of COLUMNS."""
    job = answer.job
    values = (
        *(answer.run_id, job.pk, job.key, job.number, job.prompt, job.text_pair),
        None if job.image is None else str(job.image),
        None if job.group is None else job.group.name,
        None if job.attribute is None else job.attribute.text,
        job.seed,
        *(answer.text, answer.ended, answer.tokens_in, answer.tokens_out, answer.seconds),
        *(answer.probabilities, answer.extra),
        None if job.finished_at is None else job.finished_at.isoformat(),
    )
    return dict(zip(COLUMNS, values, strict=True))
