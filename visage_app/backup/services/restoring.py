"""Check a backup and load it into an empty installation, completely or not at all."""

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
from visage_app.backup.services.writing import FILE_COLUMNS, Progress, RowCounter

_STORED = re.compile(r"images/([0-9a-f]{64})(\.[a-z0-9]{1,8})")


class RestoreRefused(Exception):
    """This backup cannot be restored here. The message says why and what to do."""


def check(*, path: Path, progress: Progress) -> Manifest:
    """Read a whole backup and compare every checksum, without writing anything or using a database.

    Raises ArchiveDamaged, RestoreRefused for a later format, and OSError if the file cannot be read.
    """
    with path.open("rb") as source:
        return _Backup(source).checked(progress)


def restore(*, path: Path, progress: Progress) -> Manifest:
    """Check a backup, then load it into this installation, which must be migrated and empty.

    Stored files come first, each under its hash, then all rows in one transaction. Before the commit all rows
    are read back and compared with the backup. If interrupted, the database is either empty or complete.
    Raises ArchiveDamaged, RestoreRefused and OSError.
    """
    with path.open("rb") as source:
        backup = _Backup(source)
        _check_fits(backup.manifest)
        _check_empty(backup.manifest)
        backup.checked(progress)
        for number, (name, data) in enumerate(backup.files(), 1):
            image_files.store(data, suffix=Path(name).suffix)
            progress("files restored", number, backup.manifest.files.rows)
        try:
            with transaction.atomic(durable=True):
                tables.lock_tables([table.name for table in backup.manifest.tables])
                _check_empty(backup.manifest)
                _load(backup, progress)
        except DatabaseError as error:
            raise RestoreRefused(
                f"The database refused it, and nothing was stored: {str(error).strip()}"
            ) from error
    ContentType.objects.clear_cache()
    return backup.manifest


class _Backup:
    """An open backup: its manifest, and its rows and files, which are checked against the manifest."""

    def __init__(self, source: IO[bytes]) -> None:
        self._reader = Reader(source)
        try:
            self.manifest = manifests.parse(self._reader.manifest)
        except manifests.NewerFormat as error:
            raise RestoreRefused(f"It has a newer {error}. Install that version or a later one.") from error
        except manifests.NotAManifest as error:
            raise ArchiveDamaged(f"Its manifest cannot be read: {error}.") from error
        expected = {f"tables/{one.name}" for one in self.manifest.tables if one.lines.parts}
        expected |= {FILES} if self.manifest.files.parts else set()
        if self._reader.row_sets != expected:
            differing = ", ".join(sorted(self._reader.row_sets ^ expected))
            raise ArchiveDamaged(f"Its content and its manifest differ: {differing}.")
        files = (self._reader.files, self._reader.file_bytes)
        if files != (self.manifest.files.rows, self.manifest.file_bytes):
            raise ArchiveDamaged("Its files do not match its manifest: their number or size differs.")

    def checked(self, progress: Progress) -> Manifest:
        """Read everything once. Raises ArchiveDamaged, or RestoreRefused if this database cannot store it."""
        counter = RowCounter(progress, "rows checked", self.manifest.rows)
        for table in self.manifest.tables:
            for _ in counter.counted(self.rows(table)):
                pass
        for number, _ in enumerate(self.files(), 1):
            progress("files checked", number, self.manifest.files.rows)
        return self.manifest

    def rows(self, table: Table) -> Iterator[list[Any]]:
        """The rows of a table, with values for this database."""
        readers = values.readers([kind for _, kind in table.columns], vendor=connection.vendor)
        for number, line in enumerate(self._reader.lines(f"tables/{table.name}", table.lines), 1):
            try:
                row = values.parse(line, len(readers))
                if connection.vendor == "postgresql" and values.has_unstorable_text(line, row):
                    raise RestoreRefused(
                        f"Row {number} of {table.name} has a character that PostgreSQL cannot store (NUL or "
                        f"an unpaired surrogate): {line[:200].decode('ascii', 'replace')}. Change it in the "
                        "original installation and make another backup, or restore into SQLite."
                    )
                for place, read in readers:
                    if row[place] is not None:
                        row[place] = read(row[place])
            except values.BadValue as error:
                raise ArchiveDamaged(f"Row {number} of {table.name} cannot be read: {error}.") from error
            yield row

    def files(self) -> Iterator[tuple[str, bytes]]:
        """The name and content of each stored file."""
        stored = self._reader.stored()
        for line in self._reader.lines(FILES, self.manifest.files):
            try:
                name, size, sha256 = values.parse(line, len(FILE_COLUMNS))
            except values.BadValue as error:
                raise ArchiveDamaged(f"Its list of files cannot be read: {error}.") from error
            held = next(stored, None)
            named = _STORED.fullmatch(name) if isinstance(name, str) else None
            if held is None or named is None or named[1] != sha256 or held[0] != size:
                raise ArchiveDamaged(
                    f"{str(name)[:200]!r} is not the name of a stored file, or is not in the backup."
                )
            data = b"".join(held[1])
            if image_files.digest(data) != sha256:
                raise ArchiveDamaged(f"The stored file {name} has been changed: its checksum differs.")
            yield name, data


def _check_fits(manifest: Manifest) -> None:
    """Raises RestoreRefused unless the tables of this database match the backup."""
    in_backup, applied = set(manifest.migrations), set(tables.applied())
    known = set(MigrationLoader(None).disk_migrations or ())
    if unknown := sorted(in_backup - known):
        raise RestoreRefused(
            f"It was made by {manifest.code}, which has migrations unknown to this version: "
            f"{_named([f'{app}.{name}' for app, name in unknown])}. Install that version or a later one."
        )
    if in_backup - applied:
        raise RestoreRefused("This database has unapplied migrations. Run: manage.py migrate")
    if later := sorted(applied - in_backup):
        last = dict(sorted(in_backup))
        steps = [
            f"manage.py migrate {app} {last.get(app, 'zero')}" for app in sorted({app for app, _ in later})
        ]
        names = _named([f"{app}.{name}" for app, name in later])
        raise RestoreRefused(
            f"It was made by {manifest.code}, before these migrations: {names}. Migrate the "
            f"empty database back, restore, and migrate forward again: {'; '.join(steps)}; manage.py restore "
            "...; manage.py migrate"
        )
    kinds = {table.name: sorted(table.columns) for table in tables.tables()}
    here = set(connection.introspection.table_names())
    for table in manifest.tables:
        if table.name in tables.LEFT_OUT or table.name not in here:
            raise RestoreRefused(f"This program has no table {table.name}. The file is not a backup of it.")
        fits = sorted(tables.columns(table.name)) == sorted(name for name, _ in table.columns)
        if not fits or kinds.get(table.name, sorted(table.columns)) != sorted(table.columns):
            raise RestoreRefused(f"The columns of {table.name} differ from the backup.")


def _check_empty(manifest: Manifest) -> None:
    """Raises RestoreRefused if the installation holds data already."""
    to_fill = [table for table in manifest.tables if table.name not in tables.FILLED_BY_MIGRATE]
    held = [(table.name, tables.count(table)) for table in to_fill]
    if full := [f"{name} ({rows:,} rows)" for name, rows in held if rows]:
        raise RestoreRefused(
            f"This installation already holds data: {_named(full)}. Nothing was changed. Restore into an "
            "empty installation: set DATABASE_URL to a new database (or VAR_DIR to a new folder), run "
            "`manage.py migrate`, then restore."
        )


def _load(backup: _Backup, progress: Progress) -> None:
    manifest = backup.manifest
    for name in tables.FILLED_BY_MIGRATE:
        tables.delete_rows(name)
    counter = RowCounter(progress, "rows restored", manifest.rows)
    # In any order: references are checked at the end.
    for table in manifest.tables:
        try:
            tables.insert_rows(table, counter.counted(backup.rows(table)))
        except DatabaseError as error:
            raise RestoreRefused(
                f"The database refused rows of {table.name}, and nothing was stored: {str(error).strip()}"
            ) from error
    tables.check_references()
    for table in manifest.tables:
        tables.continue_numbering(table)
    restored = {table.name for table in manifest.tables}
    models = apps.get_models(include_auto_created=True)
    analyze_tables(
        *(model for model in models if model._meta.db_table in restored and not model._meta.proxy),
        rows=manifest.rows,
    )
    _compare(manifest, progress)


def _compare(manifest: Manifest, progress: Progress) -> None:
    """Read all rows back. Raises RestoreRefused if any differs from the backup."""
    for number, table in enumerate(manifest.tables, 1):
        sha256 = hashlib.sha256()
        for line in tables.lines(table):
            sha256.update(line)
        if sha256.hexdigest() != table.lines.sha256:
            raise RestoreRefused(
                f"Read back, the rows of {table.name} differ from the backup. Nothing was stored."
            )
        progress("tables compared", number, len(manifest.tables))


def _named(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
