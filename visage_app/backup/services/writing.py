"""Make a backup: a snapshot of the database and every file it refers to."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TypeVar

from django.core.files.storage import default_storage
from django.db import connection
from django.utils import timezone

from annotation.core.code_version import code_version
from annotation.core.snapshots import snapshot
from annotation.images import files as image_files
from annotation.models import AuditEvent
from visage_app.backup import values
from visage_app.backup.archive import FILES, Writer
from visage_app.backup.manifest import Manifest, Table
from visage_app.backup.services import tables
from visage_app.backup.services.tables import BackupRefused
from visage_app.database.migrations import unapplied_migrations

Progress = Callable[[str, int, int], None]
"""Called with (step, done, total) now and then."""
FILE_COLUMNS = ("path", "size", "sha256")
PROGRESS_EVERY = 1000
_PIECE = 1 << 20
Row = TypeVar("Row")


class RowCounter:
    """Reports progress over the rows of several tables."""

    def __init__(self, progress: Progress, step: str, total: int) -> None:
        self._progress, self._step, self._total = progress, step, total
        self._done = 0

    def counted(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            yield row
            self._done += 1
            if self._done % PROGRESS_EVERY == 0 or self._done == self._total:
                self._progress(self._step, self._done, self._total)


def backup(
    *, path: Path, progress: Progress, overwrite: bool = False, without_lost_files: bool = False
) -> Manifest:
    """Write a backup to `path`, which appears only when complete and is readable by its owner only.

    Adds an entry to the audit log, which is not in this backup itself. Raises BackupRefused, also for a
    missing or damaged stored file unless `without_lost_files`; FileExistsError unless `overwrite`; and
    OSError if the file cannot be written.
    """
    if path.is_dir() or (path.exists() and not overwrite):
        cure = "" if path.is_dir() else ", or overwrite it with --force"
        raise FileExistsError(f"{path} exists already. Choose another name{cure}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"The folder {path.parent} does not exist. Create it first.")
    if unapplied_migrations():
        raise BackupRefused("The database has unapplied migrations. Run: manage.py migrate")
    with _temporary_file(path) as out:
        with snapshot():
            manifest = _written(out, progress, without_lost_files)
        details = {"rows": manifest.rows, "files": manifest.files.rows, "digest": manifest.digest}
        AuditEvent.objects.create(what="backup", details=details)
    return manifest


def _written(out: IO[bytes], progress: Progress, without_lost_files: bool) -> Manifest:
    writer = Writer(out)
    to_write = tables.tables()
    counter = RowCounter(progress, "rows", sum(map(tables.count, to_write)))
    written: list[Table] = []
    for table in to_write:
        writer_of_table = writer.lines(f"tables/{table.name}")
        for line in counter.counted(tables.lines(table)):
            writer_of_table.add(line)
        written.append(replace(table, lines=writer_of_table.end(), last_id=tables.last_id(table)))
    names = sum(1 for _ in tables.file_names())
    file_list, size, lost = writer.lines(FILES), 0, 0
    for number, name in enumerate(tables.file_names(), 1):
        progress("files", number, names)
        if without_lost_files and not image_files.is_stored(name, sha256=Path(name).stem):
            lost += 1
            continue
        sha256, length = _store(writer, name)
        file_list.add(values.line([name, length, sha256]))
        size += length
    manifest = Manifest(
        made_at=timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        code=code_version(),
        database=f"{connection.vendor} {'.'.join(map(str, connection.get_database_version()))}",
        migrations=tables.applied(),
        tables=tuple(written),
        files=file_list.end(),
        file_bytes=size,
        lost_files=lost,
    )
    writer.end(manifest.as_json())
    return manifest


def _store(writer: Writer, name: str) -> tuple[str, int]:
    """Copy one stored file. Its name is the hash of its content (annotation/images/files.py)."""
    cure = (
        "If it was deleted while the backup ran, run the backup again. Otherwise it is lost or damaged: "
        "`manage.py verify SET` names its image, and with --remake generates it again if possible. To leave "
        "such files out: --without-lost-files"
    )
    try:
        with default_storage.open(name) as file:
            pieces: Iterator[bytes] = iter(lambda: file.read(_PIECE), b"")
            sha256, size = writer.file(file.size, pieces)
    except FileNotFoundError as error:
        raise BackupRefused(f"The stored file {name} is missing. {cure}") from error
    except ValueError as error:
        raise BackupRefused(f"The stored file {name} cannot be read completely: {error}. {cure}") from error
    if Path(name).stem != sha256:
        raise BackupRefused(f"The content of the stored file {name} does not match its name. {cure}")
    return sha256, size


@contextmanager
def _temporary_file(path: Path) -> Iterator[IO[bytes]]:
    """A temporary file beside `path` that is renamed at the end, and deleted on failure."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as part:
        unfinished = Path(part.name)
        try:
            yield part
            part.flush()
            os.fsync(part.fileno())
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
