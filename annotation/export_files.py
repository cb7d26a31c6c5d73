"""Files of finished exports: private, kept for some days, deleted at once when an annotator withdraws."""

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

from annotation.core.leases import JobState
from annotation.models import ExportJob, Study

DISCARDED = "Deleted because somebody withdrew from the study after this was made. Make it again."
log = logging.getLogger(__name__)


class DiskFile(File):  # type: ignore[type-arg]
    """A file on the local disk that a storage on the same disk moves instead of copying it."""

    def temporary_file_path(self) -> str:
        return str(self.name)


def storage() -> Storage:
    return storages["exports"]


def work_folder() -> Path:
    """The local folder for unfinished files, even if finished ones are stored elsewhere. Not the system's
    folder for temporary files: in a container that is memory."""
    folder = Path(settings.EXPORTS_UNFINISHED)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def file_name(job: ExportJob) -> str:
    """The name of the file of this claim: no two workers ever write the same one."""
    return f"{job.pk}-{job.claim}.zip"


def discard_files(*, study: Study) -> int:
    """Delete all export files of the study, since somebody withdrew and the files hold their answers.

    Call it in the transaction of the withdrawal, which has locked the study.
    """
    finished = ExportJob.objects.filter(study=study).exclude(file="")
    files = list(finished.values_list("file", flat=True))
    finished.update(file="", error=DISCARDED)
    delete_on_commit(files)
    return len(files)


def clean_up(*, now: datetime | None = None) -> int:
    """Delete expired files and the leftovers of killed workers; returns how many."""
    now = now or timezone.now()
    old = ExportJob.objects.filter(finished_at__lt=now - timedelta(days=settings.EXPORT_KEEP_DAYS))
    with transaction.atomic():
        files = list(old.exclude(file="").select_for_update().values_list("file", flat=True))
        old.filter(file__in=files).update(file="")
    _delete(files)
    return len(files) + _delete_orphans()


def delete_on_commit(files: Iterable[str]) -> None:
    """Delete files once the current transaction is committed."""
    names = list(files)
    # not a partial: Django logs the name of a function that failed
    transaction.on_commit(lambda: _delete(names), robust=True)


def _delete_orphans() -> int:
    # List the files before querying the jobs: a file that is claimed or finished in between stays.
    unfinished = list(work_folder().glob("*.zip"))
    try:
        stored = storage().listdir("")[1]
    except FileNotFoundError:  # nothing was ever stored
        stored = []
    claims = set(ExportJob.objects.filter(state=JobState.CLAIMED).values_list("claim", flat=True))
    finished = set(ExportJob.objects.exclude(file="").values_list("file", flat=True))
    orphans = [path for path in unfinished if _claim_of(path.name) not in claims]
    for path in orphans:
        path.unlink(missing_ok=True)
    folders = [path for path in work_folder().iterdir() if _is_abandoned(path)]
    for path in folders:
        shutil.rmtree(path, ignore_errors=True)
    unreferenced = [name for name in stored if name not in finished and _claim_of(name) not in claims]
    _delete(unreferenced)
    return len(orphans) + len(folders) + len(unreferenced)


def _is_abandoned(path: Path) -> bool:
    """Whether this is a folder whose process was killed: untouched for a day."""
    try:
        return path.is_dir() and time.time() - path.stat().st_mtime > timedelta(days=1).total_seconds()
    except FileNotFoundError:  # its process has just deleted it
        return False


def _claim_of(name: str) -> UUID | None:
    try:
        return UUID(name.partition("-")[2].removesuffix(".zip"))
    except ValueError:
        return None


def _delete(files: Iterable[str]) -> None:
    for name in files:
        storage().delete(name)
