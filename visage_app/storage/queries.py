"""Where the data of the installation are, and how much there is of them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection
from django.utils import timezone

from annotation.models import Image

LITTLE_SPACE = 2 * 1024**3
"""bytes; below it, a page says that the disk is nearly full"""
FILES_KEY = "health.files"
# How long the folder of files may be walked within one request, and how long what was counted is shown.
_WALK_SECONDS = 0.5
_KEPT_SECONDS = 300


@dataclass(frozen=True)
class Files:
    """`count` and `size` (bytes) of the files in the media folder; `whole` False: the walk was cut short and
    there are more. None where the files are kept outside this machine. `images`: rows that have a file."""

    images: int
    count: int | None
    size: int | None
    whole: bool
    at: datetime


@dataclass(frozen=True)
class Storage:
    """Sizes in bytes."""

    database: str
    database_size: int
    free: int
    files: Files

    @property
    def little_space(self) -> bool:
        return self.free < LITTLE_SPACE


def storage() -> Storage:
    """What there is now; files are counted every five minutes."""
    return Storage(
        database=_database_version(),
        database_size=database_size(),
        free=disk_free(),
        files=_counted_files(),
    )


def _database_version() -> str:
    if connection.vendor == "sqlite":
        return f"SQLite {sqlite3.sqlite_version}"
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return f"PostgreSQL {cursor.fetchone()[0]}"


def disk_free() -> int:
    """bytes, where VAR_DIR is"""
    return shutil.disk_usage(_there(Path(settings.VAR_DIR))).free


def database_size() -> int:
    """bytes"""
    asked = (
        "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        if connection.vendor == "sqlite"
        else "SELECT pg_database_size(current_database())"
    )
    with connection.cursor() as cursor:
        cursor.execute(asked)
        return int(cursor.fetchone()[0])


def _counted_files() -> Files:
    known: Files | None = cache.get(FILES_KEY)
    if known is None:
        known = _files()
        cache.set(FILES_KEY, known, _KEPT_SECONDS)
    return known


def _files() -> Files:
    images = Image.objects.exclude(file="").count()
    if not isinstance(default_storage, FileSystemStorage):
        return Files(images, None, None, True, timezone.now())
    count, size, ends = 0, 0, time.monotonic() + _WALK_SECONDS
    for each in _walked(default_storage.location):
        if time.monotonic() > ends:
            return Files(images, count, size, False, timezone.now())
        count, size = count + 1, size + each
    return Files(images, count, size, True, timezone.now())


def _walked(folder: str | os.PathLike[str]) -> Iterator[int]:
    """The sizes of the files below `folder`; one that goes meanwhile is passed over."""
    try:
        inside = os.scandir(folder)
    except OSError:
        return
    with inside:
        for entry in inside:
            try:
                if entry.is_dir(follow_symlinks=False):
                    yield from _walked(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False).st_size
            except OSError:
                continue


def _there(folder: Path) -> Path:
    """The nearest folder above that exists."""
    return next(each for each in (folder, *folder.parents) if each.exists())
