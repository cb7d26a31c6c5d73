"""Background exports: requested by a page or the API, claimed by a worker, made in one go (DESIGN §8).

The database row decides: every update checks that the job still has this worker's claim.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING
from uuid import uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotation import events, export_files
from annotation.core.heartbeat import PeriodicThread
from annotation.exports import snapshot
from annotation.exports.formats.registry import get_format
from annotation.exports.selection import ExportRefused, Filters, Selection
from annotation.exports.services import writing
from annotation.exports.snapshot import WithdrawnDuringExport
from annotation.models import AuditEvent, ExportJob, ExportState, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User

MAX_ATTEMPTS = 3
RENEWAL_SECONDS = 1.0
DISK_FULL_PAUSE = timedelta(minutes=1)
"""The pause after an attempt that found the disk full: no worker claims the job until then."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
log = logging.getLogger(__name__)


class ExportGone(LookupError):
    """The file of this export no longer exists; the message says why."""


class _Stopped(Exception):
    """The worker was asked to stop: another one starts again."""


class _ClaimLost(Exception):
    """Another worker has claimed the job, or it was deleted."""


class LeaseRenewal(PeriodicThread):
    """Renews the job's lease and stores its progress, on a connection of its own: the export's is in a
    read-only snapshot. `lost` is set when the job no longer has this worker's claim."""

    def __init__(self, job: ExportJob, selection: Selection) -> None:
        seconds = min(RENEWAL_SECONDS, _lease().total_seconds() / 3)
        super().__init__(self._renew, every=lambda: seconds, name="export-lease")
        self.lost = False
        self._job, self._selection = job, selection

    def _renew(self) -> bool:
        expires_at = timezone.now() + _lease()
        changed = _still_claimed(self._job).update(rows=self._selection.rows, lease_expires_at=expires_at)
        self.lost = not changed
        return not self.lost


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
            state__in=[ExportState.PENDING, ExportState.CLAIMED],
        ).first()
        return same or ExportJob.objects.create(study=study, by=by, format=fmt, filters=filters.as_dict())


def retry(*, job: ExportJob) -> bool:
    """Queue an export again that failed or whose file was deleted; returns whether it was one of these."""
    can_retry = Q(state=ExportState.FAILED) | Q(state=ExportState.DONE, file="")
    updated = ExportJob.objects.filter(can_retry, pk=job.pk).update(
        state=ExportState.PENDING,
        attempts=0,
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

    A failed attempt leaves its error on the job, which is pending again until MAX_ATTEMPTS. Attempts that
    `stopping` ended or during which somebody withdrew do not count. Neither do attempts that found the disk
    full; these pause for DISK_FULL_PAUSE. Never raises for a failed export: the row holds the error.
    """
    job = _claim(job_id, now or timezone.now())
    if job is None:
        return None
    selection = Selection(job.study, Filters.from_dict(job.filters))
    path = export_files.work_folder() / export_files.file_name(job)
    try:
        sha256 = _write(job, selection, path, stopping)
        _finish(job, selection, path, sha256)
    except (_Stopped, WithdrawnDuringExport):
        _still_claimed(job).update(**_PENDING, attempts=F("attempts") - 1)
    except _ClaimLost:
        return None
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            _wait_for_space(job, error)
        else:
            log.exception("export %s failed (attempt %s of %s)", job.pk, job.attempts, MAX_ATTEMPTS)
            # An export that is refused once is refused again
            _fail(job, error, last=job.attempts >= MAX_ATTEMPTS or isinstance(error, ExportRefused))
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
            finished += job is not None and job.state == ExportState.DONE
    return finished


def claimable(now: datetime | None = None) -> QuerySet[ExportJob]:
    """The exports that a worker could claim now, oldest first."""
    lapsed = Q(state=ExportState.CLAIMED, lease_expires_at__lt=now or timezone.now())
    return ExportJob.objects.filter(Q(state=ExportState.PENDING) | lapsed).order_by("created_at", "pk")


_PENDING = {"state": ExportState.PENDING, "claim": None, "lease_expires_at": None}


def _claim(job_id: int, now: datetime) -> ExportJob | None:
    """Claim the job by one conditional update that also counts the attempt: an export that kills its worker
    fails in the end instead of being tried forever."""
    lapsed = Q(state=ExportState.CLAIMED, lease_expires_at__lt=now)
    ExportJob.objects.filter(lapsed, pk=job_id, attempts__gte=MAX_ATTEMPTS).update(
        state=ExportState.FAILED,
        claim=None,
        lease_expires_at=None,
        finished_at=now,
        error=f"{MAX_ATTEMPTS} workers started it and none finished. Look for killed workers, then retry.",
    )
    taken = ExportJob.objects.filter(
        Q(state=ExportState.PENDING) | lapsed, pk=job_id, attempts__lt=MAX_ATTEMPTS
    ).update(
        state=ExportState.CLAIMED,
        claim=uuid4(),
        lease_expires_at=now + _lease(),
        attempts=F("attempts") + 1,
        rows=0,
        total=None,
    )
    return ExportJob.objects.select_related("study", "by").get(pk=job_id) if taken else None


def _lease() -> timedelta:
    """How long a worker may be silent before another one may claim its export."""
    return timedelta(seconds=settings.JOB_LEASE_SECONDS)


def _still_claimed(job: ExportJob) -> QuerySet[ExportJob]:
    return ExportJob.objects.filter(pk=job.pk, state=ExportState.CLAIMED, claim=job.claim)


def _write(job: ExportJob, selection: Selection, path: Path, stopping: Callable[[], bool]) -> str:
    """Write the archive to `path`; returns its SHA-256."""
    digest = hashlib.sha256()
    lease = LeaseRenewal(job, selection)
    with lease, path.open("xb") as out:
        path.chmod(0o600)
        _still_claimed(job).update(total=get_format(job.format).total(selection))
        for piece in writing.archive(fmt=job.format, selection=selection):
            if lease.lost:
                raise _ClaimLost
            if stopping():
                raise _Stopped
            out.write(piece)
            digest.update(piece)
        out.flush()
        os.fsync(out.fileno())
        return digest.hexdigest()


def _finish(job: ExportJob, selection: Selection, path: Path, sha256: str) -> None:
    """Store the file, if the job still has this worker's claim and nobody withdrew."""
    # A remote storage may take long for a large file
    with LeaseRenewal(job, selection), path.open("rb") as file:
        stored = export_files.DiskFile(file, str(path))
        size = stored.size
        name = export_files.storage().save(path.name, stored)
    try:
        with transaction.atomic():
            # A withdrawal locks this row as well: either we see it, or it sees this file.
            Study.objects.select_for_update(no_key=True).get(pk=job.study_id)
            snapshot.check_withdrawals(selection)
            done = _still_claimed(job).update(
                state=ExportState.DONE,
                claim=None,
                lease_expires_at=None,
                rows=selection.rows,
                total=selection.rows,
                file=name,
                size=size,
                sha256=sha256,
                error="",
                finished_at=timezone.now(),
            )
            if not done:
                raise _ClaimLost
            more: dict[str, str | int] = {"job": job.pk, "rows": selection.rows, "sha256": sha256}
            writing.record_export(job.study, job.by, job.format, selection.filters, **more)
            _announce(job, ExportState.DONE, rows=selection.rows)
    except BaseException:
        export_files.storage().delete(name)
        raise


def _wait_for_space(job: ExportJob, error: OSError) -> None:
    """Keep the claim for a while without a worker, so that the disk is not filled again at once."""
    message = f"The disk is full ({error.strerror}). Free some space: it is tried again every minute."
    log.warning("export %s: %s", job.pk, message)
    retry_at = timezone.now() + DISK_FULL_PAUSE
    _still_claimed(job).update(attempts=F("attempts") - 1, lease_expires_at=retry_at, error=message)


def _fail(job: ExportJob, error: Exception, *, last: bool) -> None:
    message = str(error) if isinstance(error, ExportRefused) else f"{type(error).__name__}: {error}"
    failed = {**_PENDING, "state": ExportState.FAILED, "finished_at": timezone.now()}
    with transaction.atomic():
        if _still_claimed(job).update(**(failed if last else _PENDING), error=message) and last:
            _announce(job, ExportState.FAILED)


def _announce(job: ExportJob, state: str, **counts: int) -> None:
    data = {"export": job.pk, "format": job.format, "state": str(state), **counts}
    events.announce(study_id=job.study_id, event="export.finished", data=data)
