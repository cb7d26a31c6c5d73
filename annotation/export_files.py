"""Files of finished exports: private, kept for some days, gone at once when they hold too much."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.core.files import File
from django.core.files.storage import Storage, storages
from django.db import transaction
from django.utils import timezone

from annotation.models import ExportJob, ExportState, Study

OUTDATED = "Somebody withdrew from the study after this was made, so it was deleted. Make it again."
log = logging.getLogger(__name__)


class Made(File):  # type: ignore[type-arg]
    """A file on this disk that a storage on the same disk takes over instead of copying it."""

    def temporary_file_path(self) -> str:
        return str(self.name)


def storage() -> Storage:
    return storages["exports"]


def workshop() -> Path:
    """The folder in which files lie while they are made: here, also where they are then kept elsewhere. Not
    that for temporary files, which in a container is memory."""
    folder = Path(settings.EXPORTS_UNFINISHED)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def name_of(job: ExportJob) -> str:
    """What the file of this claim is called: no two workers ever write the same one."""
    return f"{job.pk}-{job.claim}.zip"


def outdate(*, study: Study) -> int:
    """Delete what was exported of the study, since somebody withdrew: it must not go on offering their
    answers. To be called in the transaction of the withdrawal, which has locked the study."""
    finished = ExportJob.objects.filter(study=study).exclude(file="")
    files = list(finished.values_list("file", flat=True))
    finished.update(file="", error=OUTDATED)
    delete_later(files)
    return len(files)


def tidy(*, now: datetime | None = None) -> int:
    """Delete files that were kept long enough, and what nobody finished; returns how many.

    A worker that is killed leaves a file behind which no row names and no claim stands for.
    """
    now = now or timezone.now()
    old = ExportJob.objects.filter(finished_at__lt=now - timedelta(days=settings.EXPORT_KEEP_DAYS))
    with transaction.atomic():
        files = list(old.exclude(file="").select_for_update().values_list("file", flat=True))
        old.filter(file__in=files).update(file="")
    _delete(files)
    return len(files) + _sweep()


def delete_later(files: Iterable[str]) -> None:
    """Delete files once the transaction at hand has ended well."""
    names = list(files)

    def delete() -> None:  # not a partial: Django logs the name of a function that failed
        _delete(names)

    transaction.on_commit(delete, robust=True)


def _sweep() -> int:
    # Listed first and asked for then: what is named or claimed by that time stays.
    unfinished = list(workshop().glob("*.zip"))
    try:
        kept = storage().listdir("")[1]
    except FileNotFoundError:  # a folder that nothing was ever kept in
        kept = []
    claims = set(ExportJob.objects.filter(state=ExportState.CLAIMED).values_list("claim", flat=True))
    named = set(ExportJob.objects.exclude(file="").values_list("file", flat=True))
    lost = [path for path in unfinished if _claim_of(path.name) not in claims]
    for path in lost:
        path.unlink(missing_ok=True)
    left = [path for path in workshop().iterdir() if _is_left(path)]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)
    nameless = [name for name in kept if name not in named and _claim_of(name) not in claims]
    _delete(nameless)
    return len(lost) + len(left) + len(nameless)


def _is_left(path: Path) -> bool:
    """Whether it is a folder that nobody is at any more: a process was killed at it."""
    try:
        return path.is_dir() and time.time() - path.stat().st_mtime > timedelta(days=1).total_seconds()
    except FileNotFoundError:  # done with at this very moment
        return False


def _claim_of(name: str) -> UUID | None:
    try:
        return UUID(name.partition("-")[2].removesuffix(".zip"))
    except ValueError:
        return None


def _delete(files: Iterable[str]) -> None:
    for name in files:
        storage().delete(name)


__all__ = [
    "OUTDATED",
    "Made",
    "delete_later",
    "name_of",
    "outdate",
    "storage",
    "tidy",
    "workshop",
]
