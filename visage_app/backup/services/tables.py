"""The tables of an installation: which there are, what they hold at one moment, and filling them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from django.apps import apps
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor
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
"""Sessions end with the move, as do workers; migrations are made by `migrate` and noted in the manifest.
Wrong passwords (axes), with the addresses that they came from, matter for minutes."""
FILLED_BY_MIGRATE = ("auth_permission", "django_content_type")
"""What `migrate` fills by itself. A restore replaces it, so that what refers to its numbers still fits."""
WITHOUT = {("annotation_exportjob", "file"): ""}
"""Columns that are written as this, whatever they hold: files of exports are not in a backup."""
_KIND = {
    models.AutoField: "integer",
    models.BigAutoField: "integer",
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
_AT_ONCE = 2000


class BackupRefused(Exception):
    """A backup cannot be made of this. Says what, and what to do."""


def applied() -> tuple[tuple[str, str], ...]:
    """The migrations of this database."""
    return tuple(sorted(MigrationRecorder(connection).applied_migrations()))


def check_migrated() -> None:
    """Raises BackupRefused if the database is not of this version of the program."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise BackupRefused("The database waits for migrations. Run: manage.py migrate")


def tables() -> list[Table]:
    """Every table of the program, with what it would be called in a manifest, but for its rows."""
    none = Lines(rows=0, bytes=0, parts=0, sha256="")
    return [
        Table(
            name=model._meta.db_table,
            key=str(model._meta.pk.column),
            columns=tuple((str(field.column), kind(field)) for field in model._meta.concrete_fields),
            last_id=None,
            lines=none,
        )
        for model in sorted(
            apps.get_models(include_auto_created=True), key=lambda model: model._meta.db_table
        )
        if model._meta.managed and not model._meta.proxy and model._meta.db_table not in LEFT_OUT
    ]


def kind(field: models.Field[Any, Any]) -> str:
    """What a column holds (manifest.KINDS). Raises BackupRefused for a field that no backup knows."""
    told: models.Field[Any, Any] = field
    while isinstance(told, models.ForeignKey):
        told = told.target_field
    for known in type(told).__mro__:
        if known in _KIND:
            return _KIND[known]
    raise BackupRefused(f"{field} is of a kind that no backup knows yet. Add it to visage_app/backup.")


def count(table: Table) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {_quoted(table.name)}")  # noqa: S608
        return int(cursor.fetchone()[0])


def lines(table: Table) -> Iterator[bytes]:
    """The rows of a table as lines of a backup, by its key, some thousand in memory at a time."""
    cast = "::text" if connection.vendor == "postgresql" else ""
    columns = ", ".join(_quoted(name) + (cast if kind == "json" else "") for name, kind in table.columns)
    without = [
        (place, WITHOUT[table.name, name])
        for place, (name, _) in enumerate(table.columns)
        if (table.name, name) in WITHOUT
    ]
    writers = values.writers([kind for _, kind in table.columns])
    query = f"SELECT {columns} FROM {_quoted(table.name)} ORDER BY {_quoted(table.key)}"  # noqa: S608
    for stored in _streamed(query):
        row = list(stored)
        for place, write in writers:
            if row[place] is not None:
                row[place] = write(row[place])
        for place, instead in without:
            row[place] = instead
        yield values.line(row)


def file_names() -> Iterator[str]:
    """The names of all stored files that rows refer to, each once."""
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
    """The highest number that a table ever gave to a row; None where rows are not numbered."""
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
    """Have new rows numbered after the last number that was ever given."""
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
    """Store rows, their values already read by `values.readers`. Raises DatabaseError, told of its row
    where the database says which."""
    columns = ", ".join(_quoted(name) for name, _ in table.columns)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            query = f"COPY {_quoted(table.name)} ({columns}) FROM STDIN"
            # what fails at its end would else be psycopg's own error, not Django's
            with connection.wrap_database_errors, cursor.copy(query) as copy:
                for row in rows:
                    copy.write_row(row)
            return
        places = ", ".join(["%s"] * len(table.columns))
        query = f"INSERT INTO {_quoted(table.name)} ({columns}) VALUES ({places})"  # noqa: S608
        waiting = iter(rows)
        while some := list(islice(waiting, _AT_ONCE)):
            cursor.executemany(query, some)


def delete_rows(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {_quoted(name)}")  # noqa: S608


def lock_tables(names: Sequence[str]) -> None:
    """Until the transaction ends nobody else writes to these tables; SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {', '.join(map(_quoted, sorted(names)))} IN EXCLUSIVE MODE")


def check_references() -> None:
    """Have the database look at every reference now. Raises DatabaseError for one that leads nowhere."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    else:
        connection.check_constraints()


def _streamed(query: str) -> Iterator[tuple[Any, ...]]:
    """Rows of a query, within a transaction: from a cursor of the server's where there is one."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(query)
        while some := cursor.fetchmany(_AT_ONCE):
            yield from some


def _sequence(cursor: Any, table: Table) -> str | None:
    """What numbers the rows: the name of a sequence, or for SQLite anything; None if nothing does."""
    told = connection.introspection.get_sequences(cursor, table.name)
    names = [one.get("name") or table.name for one in told if one["column"] == table.key]
    return names[0] if names else None


def _quoted(name: object) -> str:
    return str(connection.ops.quote_name(str(name)))
