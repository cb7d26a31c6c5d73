"""Background exports: requested by a page or the API, claimed by a worker, made in one go (DESIGN §8).

The database row decides: every update checks that the job still has this worker's claim.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation import events, export_files
from annotation.core import storage_trouble
from annotation.core.leases import OPEN, Claim, Heartbeat, JobState, Leases
from annotation.exports import snapshot
from annotation.exports.formats.registry import get_format
from annotation.exports.selection import ExportRefused, Filters, Selection
from annotation.exports.services import writing
from annotation.exports.snapshot import WithdrawnDuringExport
from annotation.models import AuditEvent, ExportJob, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LEASES = Leases(ExportJob, related=("study", "by"))
RENEWAL_SECONDS = 1.0
STORAGE_PAUSE = timedelta(minutes=1)
"""The pause after an attempt that the storage ended."""
log = logging.getLogger(__name__)


class ExportGone(LookupError):
    """The file of this export no longer exists; the message says why."""


class _Stopped(Exception):
    """The worker was asked to stop: another one starts again."""


class _ClaimLost(Exception):
    """Another worker has claimed the job, or it was deleted."""


def request(*, study: Study, fmt: str, filters: Filters, by: User) -> ExportJob:
    """Request an export. Returns the existing one if the same is pending or being made for `by` already.

    Raises UnknownFormat and ExportRefused. Call annotation.exports.tasks.enqueue(job) afterwards.
    """
    writing.check_request(study=study, fmt=fmt, filters=filters)
    with transaction.atomic():
        # A double click makes one request
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        same = ExportJob.objects.filter(
            study=study,
            by=by,
            format=fmt,
            filters=filters.as_dict(),
            state__in=OPEN,
        ).first()
        return same or ExportJob.objects.create(study=study, by=by, format=fmt, filters=filters.as_dict())


def retry(*, job: ExportJob) -> bool:
    """Queue an export again that failed or whose file was deleted; returns whether it was one of these."""
    can_retry = Q(state=JobState.FAILED) | Q(state=JobState.DONE, file="")
    updated = ExportJob.objects.filter(can_retry, pk=job.pk).update(
        state=JobState.PENDING,
        attempts=0,
        not_before=None,
        rows=0,
        total=None,
        size=None,
        sha256="",
        error="",
        finished_at=None,
    )
    return updated == 1


def delete(*, job: ExportJob) -> None:
    """Delete an export and its file. A worker that is making it notices and stops."""
    with transaction.atomic():
        locked = ExportJob.objects.select_for_update().filter(pk=job.pk).first()
        if locked is not None:
            export_files.delete_on_commit([locked.file] if locked.file else [])
            locked.delete()


def open_file(*, job: ExportJob, by: User) -> IO[bytes]:
    """Open the finished file and record the download in the audit trail.

    Raises ExportGone, and OSError if the file cannot be read.
    """
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
    """Claim an export, make its file and store it; returns the job, or None if it could not be claimed.

    A failed attempt leaves its error on the job, which is pending again until its last attempt. Attempts that
    `stopping` ended or during which somebody withdrew do not count. Nor do attempts that the storage ended (a
    full disk, a bucket that does not answer): the job then waits for STORAGE_PAUSE. Never raises for a failed
    export: the row holds the error.
    """
    claim = _claim(job_id, now)
    if claim is None:
        return None
    [job] = claim.jobs
    selection = Selection(job.study, Filters.from_dict(job.filters))
    path = export_files.work_folder() / export_files.file_name(job)
    try:
        sha256 = _write(claim, selection, path, stopping)
        _finish(claim, selection, path, sha256)
    except (_Stopped, WithdrawnDuringExport):
        claim.release()
    except _ClaimLost:
        return None
    except Exception as error:
        if storage_trouble.is_temporary(error):
            message = storage_trouble.message(error)
            log.warning("export %s: %s", job.pk, message)
            claim.release(error=message, not_before=timezone.now() + STORAGE_PAUSE)
        else:
            log.exception("export %s failed (attempt %s of %s)", job.pk, job.attempts, LEASES.tries)
            # An export that is refused once is refused again
            _fail(claim, error, final=isinstance(error, ExportRefused))
    finally:
        path.unlink(missing_ok=True)
    return ExportJob.objects.filter(pk=job.pk).first()


def make_pending(
    limit: int = 10, *, now: datetime | None = None, stopping: Callable[[], bool] = lambda: False
) -> int:
    """Make up to `limit` pending exports, oldest first; returns how many were finished."""
    moment = now or timezone.now()
    finished = 0
    for job_id in list(claimable(moment).values_list("pk", flat=True)[:limit]):
        if not stopping():
            job = make(job_id=job_id, now=moment, stopping=stopping)
            finished += job is not None and job.state == JobState.DONE
    return finished


def claimable(now: datetime | None = None) -> QuerySet[ExportJob]:
    """The exports that a worker could claim now, oldest first."""
    return LEASES.claimable(now).order_by("created_at", "pk")


def _claim(job_id: int, now: datetime | None = None) -> Claim[ExportJob] | None:
    return LEASES.claim(ExportJob.objects.filter(pk=job_id), now=now, rows=0, total=None)


def _heartbeat(claim: Claim[ExportJob], selection: Selection) -> Heartbeat:
    """Renews the lease and stores the progress, on a connection of its own: the export's is in a read-only
    snapshot."""
    return Heartbeat(claim, every=RENEWAL_SECONDS, values=lambda: {"rows": selection.rows})


def _write(claim: Claim[ExportJob], selection: Selection, path: Path, stopping: Callable[[], bool]) -> str:
    """Write the archive to `path`; returns its SHA-256."""
    [job] = claim.jobs
    digest = hashlib.sha256()
    with _heartbeat(claim, selection) as heartbeat, path.open("xb") as out:
        path.chmod(0o600)
        claim.held().update(total=get_format(job.format).total(selection))
        for piece in writing.archive(fmt=job.format, selection=selection):
            if heartbeat.lost:
                raise _ClaimLost
            if stopping():
                raise _Stopped
            out.write(piece)
            digest.update(piece)
        out.flush()
        os.fsync(out.fileno())
        return digest.hexdigest()


def _finish(claim: Claim[ExportJob], selection: Selection, path: Path, sha256: str) -> None:
    """Store the file, if the job still has this worker's claim and nobody withdrew."""
    [job] = claim.jobs
    # A remote storage may take long for a large file
    with _heartbeat(claim, selection), path.open("rb") as file:
        stored = export_files.DiskFile(file, str(path))
        size = stored.size
        name = export_files.storage().save(path.name, stored)
    try:
        with transaction.atomic():
            # A withdrawal locks this row as well: either we see it, or it sees this file.
            Study.objects.select_for_update(no_key=True).get(pk=job.study_id)
            snapshot.check_withdrawals(selection)
            done = claim.finish(
                rows=selection.rows, total=selection.rows, file=name, size=size, sha256=sha256
            )
            if not done:
                raise _ClaimLost
            more: dict[str, str | int] = {"job": job.pk, "rows": selection.rows, "sha256": sha256}
            writing.record_export(job.study, job.by, job.format, selection.filters, **more)
            _announce(job, JobState.DONE, rows=selection.rows)
    except BaseException:
        export_files.storage().delete(name)
        raise


def _fail(claim: Claim[ExportJob], error: Exception, *, final: bool) -> None:
    [job] = claim.jobs
    message = str(error) if isinstance(error, ExportRefused) else f"{type(error).__name__}: {error}"
    with transaction.atomic():
        if claim.fail({job.pk: message}, final=final):
            _announce(job, JobState.FAILED)


def _announce(job: ExportJob, state: str, **counts: int) -> None:
    data = {"export": job.pk, "format": job.format, "state": str(state), **counts}
    events.announce(study_id=job.study_id, event="export.finished", data=data)
