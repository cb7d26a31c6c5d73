"""Exports too large to wait for: asked for by a page, claimed by a worker, made in one go (DESIGN §8).

The row is the truth. Every change asks whether the job is still under the claim's key: a worker that
overslept its lease finds another key there, and what it made is thrown away. After a crash the export is
made anew, and not continued: its state of the study is gone with its transaction (docs/exports.md).
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotation import events, export_files
from annotation.exports import snapshot
from annotation.exports.selection import ExportRefused, Filters, Selection
from annotation.exports.services import writing
from annotation.exports.services.progress import Beat
from annotation.exports.snapshot import WithdrawnMeanwhile
from annotation.models import AuditEvent, ExportJob, ExportState, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User

TRIES = 3
ROOM = timedelta(minutes=1)
"""The pause after a try that found the disk full: so long nobody takes it."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
log = logging.getLogger(__name__)


class ExportGone(LookupError):
    """There is no file of this export any more; the message says why."""


class _GivenBack(Exception):
    """The worker was asked to stop: somebody else begins again."""


class _Lost(Exception):
    """The job is somebody else's by now, or was deleted."""


@dataclass(frozen=True)
class _Written:
    path: Path
    size: int
    sha256: str


def request(*, study: Study, fmt: str, filters: Filters, by: User) -> ExportJob:
    """An export to be made; the one there is, if the same is waiting or being made for `by` already.

    Raises UnknownFormat and ExportRefused. Ring annotation.exports.tasks.ring(job) afterwards.
    """
    writing.check_request(study=study, fmt=fmt, filters=filters)
    with transaction.atomic():
        # Whoever presses twice asks once.
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        same = ExportJob.objects.filter(
            study=study,
            by=by,
            format=fmt,
            filters=filters.said(),
            state__in=[ExportState.PENDING, ExportState.CLAIMED],
        ).first()
        return same or ExportJob.objects.create(study=study, by=by, format=fmt, filters=filters.said())


def retry(*, job: ExportJob) -> bool:
    """Have a failed export, or one whose file is gone, made again; says whether there was one to make."""
    again = Q(state=ExportState.FAILED) | Q(state=ExportState.DONE, file="")
    moved = ExportJob.objects.filter(again, pk=job.pk).update(
        state=ExportState.PENDING,
        attempts=0,
        rows=0,
        total=None,
        size=None,
        sha256="",
        error="",
        finished_at=None,
    )
    return moved == 1


def delete(*, job: ExportJob) -> None:
    """Delete an export with its file. A worker that is at it notices and stops."""
    with transaction.atomic():
        held = ExportJob.objects.select_for_update().filter(pk=job.pk).first()
        if held is not None:
            export_files.delete_later([held.file] if held.file else [])
            held.delete()


def fetch(*, job: ExportJob, by: User) -> IO[bytes]:
    """The finished file, open; noted in the audit trail. Raises ExportGone, OSError if it cannot be read."""
    gone = ExportGone(job.error or "There is no file of this export. Make it again.")
    if not job.file:
        raise gone
    try:
        file = export_files.storage().open(job.file)
    except FileNotFoundError as error:
        raise gone from error
    details = {"format": job.format, "job": job.pk, "sha256": job.sha256}
    AuditEvent.objects.create(what="export_download", study=job.study, by=by, details=details)
    return file


def make(
    *, job_id: int, now: datetime | None = None, stopping: Callable[[], bool] = lambda: False
) -> ExportJob | None:
    """Claim an export, make its file and keep it; returns it, or None if it was not to be had.

    A try that fails leaves the error on the job, which is pending again until its third. So does one that
    `stopping` ends or during which somebody withdrew, but as if it had not been tried; one that finds the
    disk full is not counted either, and waits for ROOM. Never raises for an export that failed: the row
    tells.
    """
    job = _claim(job_id, now or timezone.now())
    if job is None:
        return None
    selection = Selection(job.study, Filters.from_said(job.filters))
    path = export_files.workshop() / export_files.name_of(job)
    try:
        written = _write(job, selection, path, stopping)
        _finish(job, selection, written)
    except (_GivenBack, WithdrawnMeanwhile):
        _mine(job).update(**_PENDING, attempts=F("attempts") - 1)
    except _Lost:
        return None
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            _wait_for_room(job, error)
        else:
            log.exception("export %s failed (try %s of %s)", job.pk, job.attempts, TRIES)
            # What cannot be made as asked will not be at the next try.
            _fail(job, error, last=job.attempts >= TRIES or isinstance(error, ExportRefused))
    finally:
        path.unlink(missing_ok=True)
    return ExportJob.objects.filter(pk=job.pk).first()


def make_pending(
    limit: int = 10, *, now: datetime | None = None, stopping: Callable[[], bool] = lambda: False
) -> int:
    """Make up to `limit` waiting exports, oldest first; returns how many were finished."""
    moment = now or timezone.now()
    finished = 0
    for job_id in list(waiting(moment).values_list("pk", flat=True)[:limit]):
        if not stopping():
            job = make(job_id=job_id, now=moment, stopping=stopping)
            finished += job is not None and job.state == ExportState.DONE
    return finished


def waiting(now: datetime | None = None) -> QuerySet[ExportJob]:
    """The exports that somebody could make now, oldest first."""
    lapsed = Q(state=ExportState.CLAIMED, lease_expires_at__lt=now or timezone.now())
    return ExportJob.objects.filter(Q(state=ExportState.PENDING) | lapsed).order_by("created_at", "pk")


_PENDING = {"state": ExportState.PENDING, "claim": None, "lease_expires_at": None}


def _claim(job_id: int, now: datetime) -> ExportJob | None:
    """Take the job, by one conditional update that also counts the attempt: an export that kills its worker
    ends as failed instead of going round for ever."""
    lapsed = Q(state=ExportState.CLAIMED, lease_expires_at__lt=now)
    ExportJob.objects.filter(lapsed, pk=job_id, attempts__gte=TRIES).update(
        state=ExportState.FAILED,
        claim=None,
        lease_expires_at=None,
        finished_at=now,
        error=f"{TRIES} workers took it and none came back. Look for a killed worker, then retry.",
    )
    taken = ExportJob.objects.filter(
        Q(state=ExportState.PENDING) | lapsed, pk=job_id, attempts__lt=TRIES
    ).update(
        state=ExportState.CLAIMED,
        claim=uuid4(),
        lease_expires_at=now + lease(),
        attempts=F("attempts") + 1,
        rows=0,
        total=None,
    )
    return ExportJob.objects.select_related("study", "by").get(pk=job_id) if taken else None


def lease() -> timedelta:
    """How long a worker may be silent before its export is somebody else's."""
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


def _mine(job: ExportJob) -> QuerySet[ExportJob]:
    return ExportJob.objects.filter(pk=job.pk, state=ExportState.CLAIMED, claim=job.claim)


def _write(job: ExportJob, selection: Selection, path: Path, stopping: Callable[[], bool]) -> _Written:
    digest = hashlib.sha256()
    with Beat(_mine(job), selection, lease()) as beat, path.open("xb") as out:
        path.chmod(0o600)
        _mine(job).update(total=writing.total(study=job.study, fmt=job.format, filters=selection.filters))
        for piece in writing.archive(fmt=job.format, selection=selection):
            if beat.lost:
                raise _Lost
            if stopping():
                raise _GivenBack
            out.write(piece)
            digest.update(piece)
        out.flush()
        os.fsync(out.fileno())
        return _Written(path, out.tell(), digest.hexdigest())


def _finish(job: ExportJob, selection: Selection, written: _Written) -> None:
    """Keep the file, if the job is still this worker's and nobody withdrew."""
    # a storage elsewhere takes its time with a large file
    with Beat(_mine(job), selection, lease()), written.path.open("rb") as file:
        name = export_files.storage().save(
            export_files.name_of(job), export_files.Made(file, str(written.path))
        )
    try:
        with transaction.atomic():
            # Who withdraws holds this row as well: either they are seen here, or they see this file.
            Study.objects.select_for_update(no_key=True).get(pk=job.study_id)
            snapshot.check_withdrawals(selection)
            done = _mine(job).update(
                state=ExportState.DONE,
                claim=None,
                lease_expires_at=None,
                rows=selection.rows,
                total=selection.rows,
                file=name,
                size=written.size,
                sha256=written.sha256,
                error="",
                finished_at=timezone.now(),
            )
            if not done:
                raise _Lost
            more: dict[str, str | int] = {"job": job.pk, "rows": selection.rows, "sha256": written.sha256}
            writing.note(job.study, job.by, job.format, selection.filters, **more)
            _announce(job, ExportState.DONE, rows=selection.rows)
    except BaseException:
        export_files.storage().delete(name)
        raise


def _wait_for_room(job: ExportJob, error: OSError) -> None:
    """Keep the claim for a while without a worker, so that a full disk is not filled at once again."""
    said = f"There is no room for its file ({error.strerror}). It is tried again every minute: make room."
    log.warning("export %s: %s", job.pk, said)
    again = timezone.now() + ROOM
    _mine(job).update(attempts=F("attempts") - 1, lease_expires_at=again, error=said)


def _fail(job: ExportJob, error: Exception, *, last: bool) -> None:
    said = str(error) if isinstance(error, ExportRefused) else f"{type(error).__name__}: {error}"
    ended = {**_PENDING, "state": ExportState.FAILED, "finished_at": timezone.now()}
    with transaction.atomic():
        if _mine(job).update(**(ended if last else _PENDING), error=said) and last:
            _announce(job, ExportState.FAILED)


def _announce(job: ExportJob, state: str, **counts: int) -> None:
    data = {"export": job.pk, "format": job.format, "state": str(state), **counts}
    events.announce(study_id=job.study_id, event="export.finished", data=data)


__all__ = [
    "TRIES",
    "ExportGone",
    "delete",
    "fetch",
    "lease",
    "make",
    "make_pending",
    "request",
    "retry",
    "waiting",
]
