"""Uploaded files that wait for their import: in the private storage, until it is done or has failed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path, PurePath
from typing import IO
from uuid import UUID

from django.core.files import File
from django.core.files.storage import Storage, storages
from django.utils import timezone

from annotation.core.leases import OPEN
from annotation.images import upload_spool
from annotation.models import CatalogueImport

MAX_BYTES = 20_000_000
"""Of one file; the released ones have at most 2.5 MB."""
PARTS = {
    CatalogueImport.Kind.SEEGULL: ("associations",),
    CatalogueImport.Kind.VISAGE: ("attributes", "annotations"),
}
"""The files of each kind of import."""
WORK_PREFIX = "import-"
"""Of the folders in which workers read."""
_FOLDER = "imports"
_ORPHAN_AGE = timedelta(days=1)


class UploadGone(LookupError):
    """An uploaded file is no longer in the storage. The message says what to do."""


def storage() -> Storage:
    return storages["exports"]


def keep(key: UUID, files: Mapping[str, IO[bytes]]) -> None:
    """Write the files of an import into the storage, whole or none. Raises OSError."""
    try:
        for part, content in files.items():
            content.seek(0)
            storage().save(_name(key, part), File(content, name=part))
    except BaseException:
        delete(key, files)
        raise


def fetch(job: CatalogueImport, part: str, folder: Path) -> Path:
    """A local copy of a file, under the name that it was uploaded with, for messages. Raises UploadGone and
    OSError."""
    own = folder / part
    own.mkdir()
    path = own / local_name(job.files[part])
    try:
        with storage().open(_name(job.key, part)) as stored, path.open("wb") as copy:
            shutil.copyfileobj(stored, copy)
    except FileNotFoundError as error:
        raise UploadGone(
            f"The uploaded file '{job.files[part]}' is no longer here. Upload it again."
        ) from error
    return path


def delete(key: UUID, parts: Iterable[str]) -> None:
    for part in parts:
        storage().delete(_name(key, part))


def clean_up() -> int:
    """Delete files that no open import needs, and folders of killed workers, once they are a day old."""
    folders = [path for path in upload_spool.folder().glob(f"{WORK_PREFIX}*") if _is_old(path)]
    for path in folders:
        shutil.rmtree(path, ignore_errors=True)
    return len(folders) + _delete_orphans()


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _ORPHAN_AGE.total_seconds()
    except FileNotFoundError:  # its worker has just deleted it
        return False


def _delete_orphans() -> int:
    try:
        stored = storage().listdir(_FOLDER)[1]
    except FileNotFoundError:  # nothing was ever uploaded
        return 0
    needed = {
        str(key) for key in CatalogueImport.objects.filter(state__in=OPEN).values_list("key", flat=True)
    }
    old = timezone.now() - _ORPHAN_AGE
    names = [f"{_FOLDER}/{name}" for name in stored if name[:36] not in needed]
    orphans = [name for name in names if storage().get_modified_time(name) < old]
    for name in orphans:
        storage().delete(name)
    return len(orphans)


def local_name(name: str) -> str:
    """The last part of an uploaded file's name, without characters that a path could not have."""
    last = PurePath(name.replace("\\", "/")).name
    return "".join(letter for letter in last if letter.isprintable())[-100:].strip(". ") or "file"


def _name(key: UUID, part: str) -> str:
    return f"{_FOLDER}/{key}-{part}"
