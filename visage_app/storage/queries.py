"""Sizes of the database and the stored files."""

import os
import shutil
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection
from django.utils import timezone

from annotation.models import Image

MIN_FREE_SPACE = 2 * 1024**3
"""bytes; with less free space, the health page warns"""
FILES_KEY = "health.files"
# The longest time to walk the folder in one request, and how long the result is cached.
_WALK_SECONDS = 0.5
_CACHE_SECONDS = 300


@dataclass(frozen=True)
class Files:
    """`count` and `size` (bytes) of the files in the media folder, None if they are stored elsewhere. `whole`
    False: counting was stopped early and there are more. `images`: rows that have a file."""

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
        return self.free < MIN_FREE_SPACE


def storage() -> Storage:
    """The current sizes; files are counted every five minutes."""
    files: Files = cache.get_or_set(FILES_KEY, _count_files, _CACHE_SECONDS)  # type: ignore[assignment]
    return Storage(
        database=_database_version(),
        database_size=database_size(),
        free=disk_free(),
        files=files,
    )


def _database_version() -> str:
    if connection.vendor == "sqlite":
        return f"SQLite {sqlite3.sqlite_version}"
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return f"PostgreSQL {cursor.fetchone()[0]}"


def disk_free() -> int:
    """Free bytes at VAR_DIR."""
    folder = Path(settings.VAR_DIR)
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    return shutil.disk_usage(existing).free


def database_size() -> int:
    """Size of the database in bytes."""
    query = (
        "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        if connection.vendor == "sqlite"
        else "SELECT pg_database_size(current_database())"
    )
    with connection.cursor() as cursor:
        cursor.execute(query)
        return int(cursor.fetchone()[0])


def _count_files() -> Files:
    images = Image.objects.exclude(file="").count()
    if not isinstance(default_storage, FileSystemStorage):
        return Files(images, None, None, True, timezone.now())
    count, size, deadline = 0, 0, time.monotonic() + _WALK_SECONDS
    for folder, _, names in os.walk(default_storage.location):
        for name in names:
            if time.monotonic() > deadline:
                return Files(images, count, size, False, timezone.now())
            with suppress(FileNotFoundError):  # deleted meanwhile
                size += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118 - twice as fast
                count += 1
    return Files(images, count, size, True, timezone.now())
