"""Checking a backup and loading it into an empty installation: all of it, or nothing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db import DatabaseError, connection, transaction
from django.db.migrations.loader import MigrationLoader

from annotation.core.table_statistics import analyze_tables
from annotation.images import files as image_files
from visage_app.backup import manifest as manifests
from visage_app.backup import values
from visage_app.backup.archive import FILES, ArchiveDamaged, Reader
from visage_app.backup.manifest import Manifest, Table
from visage_app.backup.services import tables
from visage_app.backup.services.writing import FILE_COLUMNS, PROGRESS_EVERY, Progress

_STORED = re.compile(r"images/([0-9a-f]{64})(\.[a-z0-9]{1,8})")
_FRESH = (
    "A backup is restored into an installation of its own: set DATABASE_URL to a fresh database (or VAR_DIR "
    "to a fresh folder), run `manage.py migrate`, then restore."
)


class RestoreRefused(Exception):
    """This backup cannot be restored here. Says why, and what to do."""


def check(*, path: Path, progress: Progress) -> Manifest:
    """Read all of a backup and compare every checksum; writes nothing and needs no database.

    Raises ArchiveDamaged, RestoreRefused for one of a later format, and OSError if it cannot be read.
    """
    with path.open("rb") as source:
        return _Backup(source).checked(progress)


def restore(*, path: Path, progress: Progress) -> Manifest:
    """Check a backup, then load it into this installation, which must be migrated and empty.

    Stored files come first, each whole under its hash; then all rows in one transaction. Before that is
    committed everything is read back and compared with the backup, so that what is kept is what was written.
    Interrupted at any moment it leaves an empty database, or all of it. Raises ArchiveDamaged,
    RestoreRefused and OSError.
    """
    with path.open("rb") as source:
        backup = _Backup(source)
        _check_fits(backup.manifest)
        _check_empty(backup.manifest)
        backup.checked(progress)
        for name, data in backup.files(progress):
            kept, _ = image_files.keep(data, suffix=Path(name).suffix)
            if kept != name:
                raise ArchiveDamaged(f"The stored file {name} does not hold what its name says.")
        try:
            with transaction.atomic(durable=True):
                tables.lock_tables([table.name for table in backup.manifest.tables])
                _check_empty(backup.manifest)
                _load(backup, progress)
        except DatabaseError as error:
            raise RestoreRefused(
                f"The database refuses it, and nothing was kept: {str(error).strip()}"
            ) from error
    ContentType.objects.clear_cache()
    return backup.manifest


class _Backup:
    """An open backup: what its manifest says, and its rows and files, held against that."""

    def __init__(self, source: IO[bytes]) -> None:
        self._reader = Reader(source)
        try:
            self.manifest = manifests.parse(self._reader.manifest)
        except manifests.NewerFormat as error:
            raise RestoreRefused(
                f"It is of a newer {error}. Install that version, or a later one."
            ) from error
        except manifests.NotAManifest as error:
            raise ArchiveDamaged(f"Its manifest cannot be read: {error}.") from error
        told = {f"tables/{one.name}" for one in self.manifest.tables if one.lines.parts}
        told |= {FILES} if self.manifest.files.parts else set()
        if self._reader.held != told:
            odd = ", ".join(sorted(self._reader.held ^ told))
            raise ArchiveDamaged(f"What it holds and what its manifest says differ: {odd}.")
        files = (self._reader.files, self._reader.file_bytes)
        if files != (self.manifest.files.rows, self.manifest.file_bytes):
            raise ArchiveDamaged("Its files are not those of its manifest: their number or size differs.")

    def checked(self, progress: Progress) -> Manifest:
        """Everything read once. Raises ArchiveDamaged, RestoreRefused if this database cannot hold it."""
        done = 0
        for table in self.manifest.tables:
            for _ in self.rows(table):
                done += 1
                if done % PROGRESS_EVERY == 0 and done < self.manifest.rows:
                    progress("rows checked", done, self.manifest.rows)
        progress("rows checked", self.manifest.rows, self.manifest.rows)
        for number, (name, sha256, size, pieces) in enumerate(self._files(), 1):
            held = hashlib.sha256()
            length = 0
            for piece in pieces:
                held.update(piece)
                length += len(piece)
            _same(name, (sha256, size), (held.hexdigest(), length))
            progress("files checked", number, self.manifest.files.rows)
        return self.manifest

    def rows(self, table: Table) -> Iterator[list[Any]]:
        """The rows of a table as this database takes them."""
        readers = values.readers([kind for _, kind in table.columns], vendor=connection.vendor)
        for number, line in enumerate(self._reader.lines(f"tables/{table.name}", table.lines), 1):
            try:
                row = values.parse(line, len(readers))
                if connection.vendor == "postgresql" and values.has_unstorable_text(line, row):
                    raise RestoreRefused(
                        f"Row {number} of {table.name} holds a character that PostgreSQL cannot store (NUL, "
                        f"or half of a pair): {line[:200].decode('ascii', 'replace')}. Change it where the "
                        "backup was made, and make another; SQLite takes it as it is."
                    )
                for place, read in readers:
                    if row[place] is not None:
                        row[place] = read(row[place])
            except values.BadValue as error:
                raise ArchiveDamaged(f"Row {number} of {table.name} cannot be read: {error}.") from error
            yield row

    def files(self, progress: Progress) -> Iterator[tuple[str, bytes]]:
        """Each stored file: its name and its bytes."""
        for number, (name, sha256, size, pieces) in enumerate(self._files(), 1):
            data = b"".join(pieces)
            _same(name, (sha256, size), (image_files.digest(data), len(data)))
            yield name, data
            progress("files restored", number, self.manifest.files.rows)

    def _files(self) -> Iterator[tuple[str, str, int, Iterator[bytes]]]:
        lines = self._reader.lines(FILES, self.manifest.files)
        stored = self._reader.stored()
        for line in lines:
            try:
                name, size, sha256 = values.parse(line, len(FILE_COLUMNS))
            except values.BadValue as error:
                raise ArchiveDamaged(f"Its list of files cannot be read: {error}.") from error
            held = next(stored, None)
            named = _STORED.fullmatch(name) if isinstance(name, str) else None
            if held is None or named is None or named[1] != sha256 or held[0] != size:
                raise ArchiveDamaged(
                    f"{str(name)[:200]!r} is no name of a stored file, or is not in the backup."
                )
            yield name, sha256, size, held[1]


def _same(name: str, told: tuple[str, int], held: tuple[str, int]) -> None:
    if told != held:
        raise ArchiveDamaged(f"The stored file {name} is not as it was written: its checksum differs.")


def _check_fits(manifest: Manifest) -> None:
    """Raises RestoreRefused unless this database has just the tables that the backup was made of."""
    theirs, ours = set(manifest.migrations), set(tables.applied())
    known = set(MigrationLoader(None).disk_migrations or ())
    if unknown := sorted(theirs - known):
        raise RestoreRefused(
            f"It was made by {manifest.code}, which has migrations that are not known here: "
            f"{_named(unknown)}. Install that version, or a later one."
        )
    if theirs - ours:
        raise RestoreRefused("This database waits for migrations. Run: manage.py migrate")
    if later := sorted(ours - theirs):
        last = dict(sorted(theirs))
        steps = [
            f"manage.py migrate {app} {last.get(app, 'zero')}" for app in sorted({app for app, _ in later})
        ]
        raise RestoreRefused(
            f"It was made by {manifest.code}, before these migrations: {_named(later)}. Take the empty "
            f"database back to that, restore, go forward again: {'; '.join(steps)}; manage.py restore ...; "
            "manage.py migrate"
        )
    kinds = {table.name: sorted(table.columns) for table in tables.tables()}
    with connection.cursor() as cursor:
        here = set(connection.introspection.table_names(cursor))
        for table in manifest.tables:
            if table.name in tables.LEFT_OUT or table.name not in here:
                raise RestoreRefused(f"There is no table {table.name} to restore. It is no backup of this.")
            told = connection.introspection.get_table_description(cursor, table.name)
            fits = sorted(column.name for column in told) == sorted(name for name, _ in table.columns)
            if not fits or kinds.get(table.name, sorted(table.columns)) != sorted(table.columns):
                raise RestoreRefused(f"The columns of {table.name} are not those of the backup.")


def _check_empty(manifest: Manifest) -> None:
    """Raises RestoreRefused if there is anything that a restore would mix with or replace."""
    names = {table.name for table in manifest.tables} - set(tables.FILLED_BY_MIGRATE)
    held = [(table.name, tables.count(table)) for table in manifest.tables if table.name in names]
    if full := [f"{name} ({rows:,} rows)" for name, rows in held if rows]:
        said = ", ".join(full[:5]) + (f" and {len(full) - 5} more tables" if len(full) > 5 else "")
        raise RestoreRefused(f"This installation holds data already: {said}. Nothing was changed. {_FRESH}")


def _load(backup: _Backup, progress: Progress) -> None:
    manifest = backup.manifest
    for name in tables.FILLED_BY_MIGRATE:
        tables.delete_rows(name)
    done = 0

    def counted(rows: Iterator[list[Any]]) -> Iterator[list[Any]]:
        nonlocal done
        for row in rows:
            yield row
            done += 1
            if done % PROGRESS_EVERY == 0 and done < manifest.rows:
                progress("rows restored", done, manifest.rows)

    # in any order: references are looked at in the end
    for table in manifest.tables:
        try:
            tables.insert_rows(table, counted(backup.rows(table)))
        except DatabaseError as error:
            raise RestoreRefused(
                f"The database refuses rows of {table.name}, and nothing was kept: {str(error).strip()}"
            ) from error
    progress("rows restored", manifest.rows, manifest.rows)
    tables.check_references()
    for table in manifest.tables:
        tables.continue_numbering(table)
    restored = {table.name for table in manifest.tables}
    analyze_tables(*(model for model in _models() if model._meta.db_table in restored), rows=manifest.rows)
    _compare(manifest, progress)


def _compare(manifest: Manifest, progress: Progress) -> None:
    """Read back what was stored. Raises RestoreRefused if anything is not as it was written."""
    for number, table in enumerate(manifest.tables, 1):
        sha256 = hashlib.sha256()
        for line in tables.lines(table):
            sha256.update(line)
        if sha256.hexdigest() != table.lines.sha256:
            raise RestoreRefused(
                f"Read back, the rows of {table.name} are not those of the backup. Nothing was kept."
            )
        progress("tables compared", number, len(manifest.tables))


def _models() -> list[Any]:
    return [model for model in apps.get_models(include_auto_created=True) if not model._meta.proxy]


def _named(migrations: list[tuple[str, str]]) -> str:
    said = ", ".join(f"{app}.{name}" for app, name in migrations[:5])
    return said + (f" and {len(migrations) - 5} more" if len(migrations) > 5 else "")
