"""Background imports of SeeGULL's and ViSAGe's files: requested by a page or the API, done by a worker.

The row decides: what an import writes and its end are one transaction, so it is done once or not at all.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.core import storage_trouble
from annotation.core.leases import OPEN, Claim, Heartbeat, JobState, Leases
from annotation.images import upload_spool
from annotation.imports import files
from annotation.imports.readers.oddities import FileRefused, FileSummary, Oddity
from annotation.imports.readers.seegull import read_associations
from annotation.imports.readers.visage_annotations import read_annotations
from annotation.imports.readers.visage_attributes import read_attributes
from annotation.imports.services.catalogue import Imported, ImportRefused, seegull_source
from annotation.imports.services.seegull import import_associations
from annotation.imports.services.visage import STUDY_NAME, import_visage
from annotation.models import AuditEvent, Axis, CatalogueImport, Source, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LEASES = Leases(CatalogueImport, related=("by",))
RENEWAL_SECONDS = 1.0
STORAGE_PAUSE = timedelta(minutes=1)
MOST_WAITING = 10
"""Imports of one account that wait or run at once."""
Kind = CatalogueImport.Kind
AXES = (Axis.NATIONALITY, Axis.US_STATE, Axis.INDIAN_STATE)
"""Those of SeeGULL's three files."""
log = logging.getLogger(__name__)


class UploadRefused(ValueError):
    """Files or options that cannot be imported. The message says what to do."""


class _Stopped(Exception):
    """The worker was asked to stop: another one starts again."""


class _ClaimLost(Exception):
    """Another worker has claimed the import, or it was deleted."""


def request(
    *, kind: str, uploads: Mapping[str, tuple[str, IO[bytes]]], options: Mapping[str, str], by: User
) -> CatalogueImport:
    """Store uploaded files and queue their import.

    `uploads`: part (files.PARTS) -> name and content. `options`: for SeeGULL `axis` and `source`, for ViSAGe
    `study`; an empty name is that of the release. Raises UploadRefused, and OSError if the files cannot be
    stored. Call annotation.imports.tasks.enqueue(job) afterwards.
    """
    wanted = files.PARTS[Kind(kind)]
    for part in wanted:
        if part not in uploads:
            raise UploadRefused(f"The file of {part} is missing. Choose it.")
        name, content = uploads[part]
        size = content.seek(0, 2)
        if not size:
            raise UploadRefused(f"The file '{name}' is empty. Choose another one.")
        if size > files.MAX_BYTES:
            raise UploadRefused(
                f"The file '{name}' is larger than {files.MAX_BYTES // 1_000_000} MB. Check that it is the "
                f"right one, or use the command: manage.py import_{kind}"
            )
    job = CatalogueImport(
        kind=kind,
        by=by,
        key=uuid4(),
        options=_checked_options(kind, options),
        files={part: files.local_name(uploads[part][0]) for part in wanted},
    )
    files.keep(job.key, {part: uploads[part][1] for part in wanted})
    try:
        with transaction.atomic():
            # Concurrent calls wait here, so that the limit holds
            get_user_model().objects.select_for_update(no_key=True).get(pk=by.pk)
            if CatalogueImport.objects.filter(by=by, state__in=OPEN).count() >= MOST_WAITING:
                raise UploadRefused(f"{MOST_WAITING} of your imports are waiting. Upload this one later.")
            job.save()
            _record("catalogue import requested", job)
    except BaseException:
        files.delete(job.key, wanted)
        raise
    return job


def _checked_options(kind: str, options: Mapping[str, str]) -> dict[str, str]:
    name = "source" if kind == Kind.SEEGULL else "study"
    checked = {name: options.get(name, "").strip()}
    try:
        if checked[name]:
            validate_slug(checked[name])
    except ValidationError as error:
        raise UploadRefused(
            f"'{checked[name][:80]}' is not a name for a {name}. Use letters, digits, - and _ only."
        ) from error
    if len(checked[name]) > 80:
        raise UploadRefused("The name has more than 80 characters. Shorten it.")
    if kind == Kind.SEEGULL:
        checked["axis"] = options.get("axis") or Axis.NATIONALITY.value
        if checked["axis"] not in AXES:
            raise UploadRefused(f"'{checked['axis']}' is not an axis of SeeGULL. Use: {', '.join(AXES)}.")
    return checked


def delete(*, job: CatalogueImport, by: User) -> None:
    """Delete an import's row and files; what it has stored stays. A worker that is at it notices, and stores
    nothing."""
    with transaction.atomic():
        locked = CatalogueImport.objects.select_for_update().filter(pk=job.pk).first()
        if locked is None:
            return
        _record("catalogue import deleted", locked, by=by)
        key, parts = locked.key, list(locked.files)
        locked.delete()
        transaction.on_commit(lambda: files.delete(key, parts), robust=True)


def work(
    *, job_id: int, now: datetime | None = None, stopping: Callable[[], bool] = lambda: False
) -> CatalogueImport | None:
    """Claim an import and do it; returns the row, or None if it could not be claimed.

    Files that are refused fail at once, with what is wrong and what to do: they would be refused again. Other
    errors are tried again. Attempts that `stopping` or the storage ended do not count.
    """
    claim = LEASES.claim(CatalogueImport.objects.filter(pk=job_id), now=now, step="", done=0, total=0)
    if claim is None:
        return None
    [job] = claim.jobs
    try:
        _import(claim, stopping)
    except _Stopped:
        claim.release()
    except _ClaimLost:
        return None
    except (FileRefused, ImportRefused, files.UploadGone) as refused:
        claim.fail({job.pk: str(refused)}, final=True)
    except Exception as error:
        if storage_trouble.is_temporary(error):
            message = storage_trouble.message(error)
            log.warning("import %s: %s", job.pk, message)
            claim.release(error=message, not_before=timezone.now() + STORAGE_PAUSE)
        else:
            log.exception("import %s failed (attempt %s of %s)", job.pk, job.attempts, LEASES.tries)
            claim.fail({job.pk: f"{type(error).__name__}: {error}"})
    found = CatalogueImport.objects.filter(pk=job.pk).first()
    if found is None or found.state not in OPEN:
        with suppress(OSError):  # files.clean_up deletes them later
            files.delete(job.key, job.files)
    return found


def work_pending(
    limit: int = 1, *, now: datetime | None = None, stopping: Callable[[], bool] = lambda: False
) -> int:
    """Do up to `limit` pending imports, oldest first; returns how many were finished."""
    finished = 0
    for job_id in list(claimable(now).values_list("pk", flat=True)[:limit]):
        if not stopping():
            job = work(job_id=job_id, now=now, stopping=stopping)
            finished += job is not None and job.state == JobState.DONE
    return finished


def without_refused() -> QuerySet[CatalogueImport]:
    """All imports but those whose files were refused, which their uploaders correct: nothing is broken."""
    return CatalogueImport.objects.exclude(state=JobState.FAILED, attempts__lt=LEASES.tries)


def claimable(now: datetime | None = None) -> QuerySet[CatalogueImport]:
    """The imports that a worker could claim now, oldest first."""
    return LEASES.claimable(now).order_by("created_at", "pk")


def _import(claim: Claim[CatalogueImport], stopping: Callable[[], bool]) -> None:
    [job] = claim.jobs
    at: dict[str, Any] = {"step": "reading", "done": 0, "total": 0}
    with Heartbeat(claim, every=RENEWAL_SECONDS, values=lambda: dict(at)) as heartbeat:

        def progress(step: str, done: int, total: int) -> None:
            at.update(step=step[:40], done=done, total=total)
            if heartbeat.lost:
                raise _ClaimLost
            if stopping():
                raise _Stopped

        with tempfile.TemporaryDirectory(dir=upload_spool.folder(), prefix=files.WORK_PREFIX) as folder:
            paths = {part: files.fetch(job, part, Path(folder)) for part in job.files}
            run = _seegull if job.kind == Kind.SEEGULL else _visage
            summaries, oddities, store = run(job, paths, progress)
        # The end of the job belongs to the transaction: an import whose claim is lost stores nothing.
        with transaction.atomic():
            imported = store()
            report = {
                "files": [
                    {**asdict(summary), "rows_not_stored": summary.rows_not_stored} for summary in summaries
                ],
                "created": imported.created,
                "filled": imported.filled,
                "unchanged": imported.unchanged,
                "oddities": [
                    {**asdict(oddity), "description": oddity.description, "handling": oddity.handling}
                    for oddity in (*oddities, *imported.oddities)
                ],
            }
            _record("catalogue import done", job, details=imported.created)
            if not claim.finish(report=report, **at):
                raise _ClaimLost


_Read = tuple[list[FileSummary], tuple[Oddity, ...], Callable[[], Imported]]
_Progress = Callable[[str, int, int], None]


def _seegull(job: CatalogueImport, paths: Mapping[str, Path], progress: _Progress) -> _Read:
    axis = Axis(job.options["axis"])
    source = seegull_source(axis, job.options["source"])
    file = read_associations(paths["associations"], states=axis != Axis.NATIONALITY)
    progress("associations read", file.summary.rows_read, file.summary.rows_read)

    def store() -> Imported:
        imported = import_associations(file=file, source=source, axis=axis, progress=progress)
        if imported.created["associations"]:
            # whoever brought it in may correct its details and delete it, while no study uses it
            Source.objects.filter(name=source.name, owner=None).update(owner=job.by)
        return imported

    return [file.summary], file.oddities, store


def _visage(job: CatalogueImport, paths: Mapping[str, Path], progress: _Progress) -> _Read:
    name = job.options["study"] or STUDY_NAME
    attributes = read_attributes(paths["attributes"])
    progress("attributes read", attributes.summary.rows_read, attributes.summary.rows_read)
    annotations = read_annotations(paths["annotations"])
    progress("annotations read", annotations.summary.rows_read, annotations.summary.rows_read)

    def store() -> Imported:
        imported = import_visage(
            attributes=attributes, annotations=annotations, study_name=name, progress=progress
        )
        if imported.created.get("studies") and job.by is not None:
            Study.objects.get(name=name).leads.add(job.by)
        return imported

    return [attributes.summary, annotations.summary], (*attributes.oddities, *annotations.oddities), store


def _record(
    what: str, job: CatalogueImport, *, by: User | None = None, details: Mapping[str, int] | None = None
) -> None:
    known = {"import": job.pk, "kind": Kind(job.kind).label}
    AuditEvent.objects.create(what=what, by=by or job.by, details={**known, **(details or {})})
