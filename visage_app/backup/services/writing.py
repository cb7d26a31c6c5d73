"""Making a backup: one moment of the database and every file it refers to, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

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

Progress = Callable[[str, int, int], None]
"""Told (step, done, of how many) now and then."""
FILE_COLUMNS = ("path", "size", "sha256")
PROGRESS_EVERY = 1000
_PIECE = 1 << 20


def backup(
    *, path: Path, progress: Progress, overwrite: bool = False, without_lost_files: bool = False
) -> Manifest:
    """Write everything to `path`, which appears whole or not at all and is readable by its owner only.

    Leaves a row in the audit trail, which is not in this backup itself. Raises BackupRefused, also for a
    stored file that is missing or damaged unless `without_lost_files`, FileExistsError unless `overwrite`,
    and OSError where the file cannot be written.
    """
    if path.is_dir() or (path.exists() and not overwrite):
        cure = "Choose another name." if path.is_dir() else "Choose another name, or replace it with --force."
        raise FileExistsError(f"{path} is there already. {cure}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}. Make it first.")
    tables.check_migrated()
    with _unfinished(path) as out:
        with snapshot():
            manifest = _written(out, progress, without_lost_files)
        details = {"rows": manifest.rows, "files": manifest.files.rows, "digest": manifest.digest}
        AuditEvent.objects.create(what="backup", details=details)
    return manifest


def _written(out: IO[bytes], progress: Progress, without_lost_files: bool) -> Manifest:
    writer = Writer(out)
    wanted = tables.tables()
    total, done = sum(map(tables.count, wanted)), 0
    told: list[Table] = []
    for table in wanted:
        into = writer.lines(f"tables/{table.name}")
        for line in tables.lines(table):
            into.add(line)
            done += 1
            if done % PROGRESS_EVERY == 0 and done < total:
                progress("rows", done, total)
        told.append(replace(table, lines=into.end(), last_id=tables.last_id(table)))
    progress("rows", total, total)
    names = sum(1 for _ in tables.file_names())
    listed, size, lost = writer.lines(FILES), 0, 0
    for number, name in enumerate(tables.file_names(), 1):
        progress("files", number, names)
        if without_lost_files and not image_files.holds(name, sha256=Path(name).stem):
            lost += 1
            continue
        sha256, length = _store(writer, name)
        listed.add(values.line([name, length, sha256]))
        size += length
    manifest = Manifest(
        made_at=timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        code=code_version(),
        database=f"{connection.vendor} {'.'.join(map(str, connection.get_database_version()))}",
        migrations=tables.applied(),
        tables=tuple(told),
        files=listed.end(),
        file_bytes=size,
        lost_files=lost,
    )
    writer.end(manifest.as_json())
    return manifest


def _store(writer: Writer, name: str) -> tuple[str, int]:
    """Copy one stored file. Its name says what its bytes must be (annotation/images/files.py)."""
    cure = (
        "If it was deleted while the backup ran, run it again. Else it is lost or damaged: `manage.py verify "
        "SET` says of which image it is, and with --remake makes it again if it was made here. To go on "
        "without such files: --without-lost-files"
    )
    try:
        with default_storage.open(name) as file:
            pieces: Iterator[bytes] = iter(lambda: file.read(_PIECE), b"")
            sha256, size = writer.file(file.size, pieces)
    except FileNotFoundError as error:
        raise BackupRefused(f"The stored file {name} is not there. {cure}") from error
    except ValueError as error:
        raise BackupRefused(f"The stored file {name} cannot be read whole: {error}. {cure}") from error
    if Path(name).stem != sha256:
        raise BackupRefused(f"The stored file {name} does not hold what its name says. {cure}")
    return sha256, size


@contextmanager
def _unfinished(path: Path) -> Iterator[IO[bytes]]:
    """A file beside `path` that is put in its place at the end; nothing is left if that fails."""
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
