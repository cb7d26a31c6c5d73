"""Reading and filling the tables of an installation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

from django.apps import apps
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from visage_app.backup import values
from visage_app.backup.manifest import Lines, Table

LEFT_OUT = frozenset(
    {
        *("django_session", "django_migrations"),
        *("axes_accessattempt", "axes_accessattemptexpiration", "axes_accessfailurelog", "axes_accesslog"),
        "generation_worker",
    }
)
"""Tables that are not backed up. Sessions and workers end with the move; `migrate` records the migrations,
and the manifest lists them. Failed logins (axes) and their addresses matter only for minutes."""
FILLED_BY_MIGRATE = ("auth_permission", "django_content_type")
"""Tables that `migrate` fills. A restore replaces their rows, so that references to their ids stay valid."""
FIXED_VALUES = {("annotation_exportjob", "file"): ""}
"""Columns with a fixed value in the backup: it does not contain the files of exports."""
_KIND = {
    models.IntegerField: "integer",
    models.BooleanField: "boolean",
    models.FloatField: "float",
    models.DateTimeField: "time",
    models.UUIDField: "uuid",
    models.JSONField: "json",
    models.BinaryField: "binary",
    models.CharField: "text",
    models.TextField: "text",
    models.FileField: "text",
}
_BATCH_SIZE = 2000


class BackupRefused(Exception):
    """This installation cannot be backed up. The message says why and what to do."""


def applied() -> tuple[tuple[str, str], ...]:
    """The applied migrations of this database. One that stands for several is left out: a database that was
    made by it has the same tables as one that went through the several, which are noted as well."""
    replacing = MigrationLoader(None).replacements
    return tuple(sorted(set(MigrationRecorder(connection).applied_migrations()) - set(replacing)))


def tables() -> list[Table]:
    """Every table of the program as in the manifest, without row counts."""
    found = [
        Table(
            name=model._meta.db_table,
            key=str(model._meta.pk.column),
            columns=tuple((str(field.column), kind(field)) for field in model._meta.concrete_fields),
            last_id=None,
            lines=Lines(rows=0, bytes=0, parts=0, sha256=""),
        )
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy and model._meta.db_table not in LEFT_OUT
    ]
    return sorted(found, key=attrgetter("name"))


def kind(field: models.Field[Any, Any]) -> str:
    """The kind of a column (manifest.KINDS). Raises BackupRefused for an unknown type of field."""
    target: models.Field[Any, Any] = field
    while isinstance(target, models.ForeignKey):
        target = target.target_field
    for known in type(target).__mro__:
        if known in _KIND:
            return _KIND[known]
    raise BackupRefused(f"{field} has a type that backups do not know yet. Add it to visage_app/backup.")


def columns(name: str) -> list[str]:
    """The names of the columns that a table of this database has."""
    with connection.cursor() as cursor:
        # Django's description of a table reads more than names, and takes thirty times as long on SQLite.
        cursor.execute(f"SELECT * FROM {_quoted(name)} LIMIT 0")  # noqa: S608
        return [column[0] for column in cursor.description]


def count(table: Table) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {_quoted(table.name)}")  # noqa: S608
        return int(cursor.fetchone()[0])


def lines(table: Table) -> Iterator[bytes]:
    """The rows of a table as lines of a backup, ordered by key, with some thousand in memory at a time."""
    cast = "::text" if connection.vendor == "postgresql" else ""
    columns = ", ".join(_quoted(name) + (cast if kind == "json" else "") for name, kind in table.columns)
    fixed = [
        (place, FIXED_VALUES[table.name, name])
        for place, (name, _) in enumerate(table.columns)
        if (table.name, name) in FIXED_VALUES
    ]
    writers = values.writers([kind for _, kind in table.columns])
    query = f"SELECT {columns} FROM {_quoted(table.name)} ORDER BY {_quoted(table.key)}"  # noqa: S608
    for stored in _streamed(query):
        row = list(stored)
        for place, write in writers:
            if row[place] is not None:
                row[place] = write(row[place])
        for place, value in fixed:
            row[place] = value
        yield values.line(row)


def file_names() -> Iterator[str]:
    """The distinct names of all stored files that rows refer to."""
    parts = [
        f"SELECT {_quoted(field.column)} AS name FROM {_quoted(model._meta.db_table)} "  # noqa: S608
        f"WHERE {_quoted(field.column)} <> ''"
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, models.FileField)
    ]
    binary = '"C"' if connection.vendor == "postgresql" else "BINARY"
    query = f"SELECT name FROM ({' UNION '.join(parts)}) AS names ORDER BY name COLLATE {binary}"  # noqa: S608
    for (name,) in _streamed(query):
        yield name


def last_id(table: Table) -> int | None:
    """The highest id that a table ever assigned; None for tables without automatic ids."""
    with connection.cursor() as cursor:
        sequence = _sequence(cursor, table)
        if sequence is None:
            return None
        if connection.vendor == "postgresql":
            cursor.execute(f"SELECT last_value, is_called FROM {_quoted(sequence)}")  # noqa: S608
            last, called = cursor.fetchone()
            return int(last) if called else 0
        cursor.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = %s", [table.name])
        return int(cursor.fetchone()[0] or 0)


def continue_numbering(table: Table) -> None:
    """Make new ids start after the highest one ever assigned."""
    with connection.cursor() as cursor:
        sequence = _sequence(cursor, table)
        if sequence is None:
            return
        cursor.execute(f"SELECT max({_quoted(table.key)}) FROM {_quoted(table.name)}")  # noqa: S608
        last = max(cursor.fetchone()[0] or 0, table.last_id or 0)
        if connection.vendor == "postgresql":
            cursor.execute("SELECT setval(%s::regclass, %s, %s)", [_quoted(sequence), last or 1, last > 0])
        else:
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table.name])
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table.name, last])


def insert_rows(table: Table, rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows whose values were read by `values.readers`. Raises DatabaseError."""
    columns = ", ".join(_quoted(name) for name, _ in table.columns)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            query = f"COPY {_quoted(table.name)} ({columns}) FROM STDIN"
            # Otherwise a failure at the end would be psycopg's own error, not Django's.
            with connection.wrap_database_errors, cursor.copy(query) as copy:
                for row in rows:
                    copy.write_row(row)
            return
        places = ", ".join(["%s"] * len(table.columns))
        query = f"INSERT INTO {_quoted(table.name)} ({columns}) VALUES ({places})"  # noqa: S608
        waiting = iter(rows)
        while batch := list(islice(waiting, _BATCH_SIZE)):
            cursor.executemany(query, batch)


def delete_rows(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {_quoted(name)}")  # noqa: S608


def lock_tables(names: Sequence[str]) -> None:
    """Lock these tables against other writers until the transaction ends. SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {', '.join(map(_quoted, sorted(names)))} IN EXCLUSIVE MODE")


def check_references() -> None:
    """Check all foreign keys now. Raises DatabaseError for a broken one."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    else:
        connection.check_constraints()


def _streamed(query: str) -> Iterator[tuple[Any, ...]]:
    """Rows of a query within a transaction, from a server-side cursor if there is one."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(query)
        while batch := cursor.fetchmany(_BATCH_SIZE):
            yield from batch


def _sequence(cursor: Any, table: Table) -> str | None:
    """The name of the sequence for the ids (for SQLite any name); None if there is none."""
    sequences = connection.introspection.get_sequences(cursor, table.name)
    names = [one.get("name") or table.name for one in sequences if one["column"] == table.key]
    return names[0] if names else None


def _quoted(name: object) -> str:
    return str(connection.ops.quote_name(str(name)))
