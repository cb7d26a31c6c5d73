"""Queries that are written with the ORM once and run many times.

What annotators do at every item takes the ORM longer to put into SQL than the database to answer
(docs/performance.md). A `Prepared` query is put into SQL the first time it runs; later runs only fill in
the values of its `Param`s:

    _BY_NAME = Prepared(Study.objects.filter(name=Param("name")))
    study = _BY_NAME.first(name="words")

It finds and returns what the query set would, locks and related objects included.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import SimpleNamespace
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.utils import CursorWrapper
from django.db.models import Expression, IntegerField, Model, QuerySet
from django.db.models.sql import InsertQuery, UpdateQuery
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError

Row = TypeVar("Row")


class Param(Expression):
    """A value that is filled in when the query runs, by this name. In arithmetic it is a whole number."""

    def __init__(self, name: str) -> None:
        super().__init__(output_field=IntegerField())
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return "%s", (self,)


class _Statement:
    """The SQL of one query, written once for each connection."""

    def __init__(self, query: Any) -> None:
        self.query = query

    def written(self) -> tuple[Any, str, tuple[Any, ...]]:
        """The compiler, the SQL and its parameters, `Param`s among them."""
        # With the connection, since a compiler holds on to it: they go together.
        kept = vars(connections[DEFAULT_DB_ALIAS]).setdefault("prepared", {})
        if self not in kept:
            kept[self] = self._write(self._compiler())
        return kept[self]

    def _compiler(self) -> Any:
        # Of a copy, since writing changes a query: two threads may write the same one at once.
        return self.query.clone().get_compiler(DEFAULT_DB_ALIAS)

    def _write(self, compiler: Any) -> tuple[Any, str, tuple[Any, ...]]:
        return (compiler, *compiler.as_sql())

    @contextmanager
    def executed(self, values: dict[str, Any]) -> Iterator[CursorWrapper]:
        """A cursor that has run it."""
        _, sql, parameters = self.written()
        with cursor() as ours:
            ours.execute(
                sql, [_adapted(values[each.name]) if isinstance(each, Param) else each for each in parameters]
            )
            yield ours


class _Select(_Statement):
    def _write(self, compiler: Any) -> tuple[Any, str, tuple[Any, ...]]:
        sql, parameters = compiler.as_sql()
        # What turns columns into values of Python is the same for every row there will be.
        converters = compiler.get_converters([column for column, *_ in compiler.select[: compiler.col_count]])
        compiler.get_converters = lambda expressions: converters
        # What makes objects of rows takes this for a query set whose query found them.
        query = copy.copy(compiler.query)
        query.get_compiler = lambda *args, **options: compiler
        compiler.queryset = SimpleNamespace(
            db=DEFAULT_DB_ALIAS, query=query, _known_related_objects={}, _fields=None
        )
        return compiler, sql, parameters


class _Insert(_Statement):
    def _write(self, compiler: Any) -> tuple[Any, str, tuple[Any, ...]]:
        compiler.returning_fields = self.query.get_meta().db_returning_fields
        [(sql, parameters)] = compiler.as_sql()
        return compiler, sql, parameters


class Prepared(Generic[Row]):
    """A query set that is put into SQL once. Raises KeyError if a value is not given."""

    def __init__(self, queryset: QuerySet[Any, Row]) -> None:
        self._statement = _Select(queryset.query)
        self._iterable: Any = queryset._iterable_class
        self._model = queryset.model
        self._locks = queryset.query.select_for_update

    def all(self, **values: Any) -> list[Row]:
        if self._locks and not connection.in_atomic_block:
            raise TransactionManagementError("A lock needs a transaction.")
        with self._statement.executed(values) as done:
            rows = done.fetchall()
        if not rows:
            return []
        compiler = self._statement.written()[0]
        compiler.execute_sql = lambda *args, **options: [rows]
        return list(self._iterable(compiler.queryset, chunked_fetch=False))

    def first(self, **values: Any) -> Row | None:
        """The first row that is found, in the order that the query set has."""
        return next(iter(self.all(**values)), None)

    def get(self, **values: Any) -> Row:
        """The one row that there is; raises the model's DoesNotExist if there is none."""
        for row in self.all(**values):
            return row
        raise self._model.DoesNotExist(f"There is no {self._model.__name__} of {values}.")


class PreparedUpdate:
    """An UPDATE that is put into SQL once: of the rows of `queryset`, which it finds without joins."""

    def __init__(self, queryset: QuerySet[Any, Any], **changes: Any) -> None:
        query: Any = queryset.query.chain(UpdateQuery)
        query.add_update_values(changes)
        self.statement = _Statement(query)

    def run(self, **values: Any) -> int:
        """The number of rows that it changed."""
        with self.statement.executed(values) as done:
            return done.rowcount


class PreparedInsert:
    """An INSERT of so many rows that is put into SQL once (SQLite 3.35 or newer). `known`: what columns are
    in all of them."""

    def __init__(self, model: type[Model], *, rows: int = 1, **known: Expression) -> None:
        fields = [field for field in model._meta.local_concrete_fields if not field.primary_key]
        self._names = [field.attname for field in fields if field.attname not in known]
        given = [
            model(**known, **{name: Param(_numbered(name, number)) for name in self._names})
            for number in range(rows)
        ]
        query = InsertQuery(model)
        query.insert_values(fields, given)
        self.statement = _Insert(query)

    def values(self, *rows: Mapping[str, Any]) -> dict[str, Any]:
        """What `run` takes for rows of these values, by the columns' names."""
        return {_numbered(name, number): row[name] for number, row in enumerate(rows) for name in self._names}

    def run(self, **values: Any) -> list[int]:
        """The keys of the new rows, in their order."""
        with self.statement.executed(values) as done:
            return [key for (key,) in done.fetchall()]


def _numbered(name: str, number: int) -> str:
    return f"{name}_{number}" if number else name


def plan_once(connection: Any, **_: Any) -> None:
    """Have PostgreSQL keep the plan of what comes through `cursor`. Left to itself it plans the look-up of
    *next* anew each time, since it believes in fewer rows when it knows the values: that takes four times as
    long as the look-up. What Django sends has its values in it, and is planned as ever."""
    ours = connection.connection
    # without statements that are prepared there is nothing to keep; out of a pool the same one comes again
    if connection.vendor != "postgresql" or ours.prepare_threshold is None or "plans" in vars(ours):
        return
    with connection.cursor() as asked:
        asked.execute("SET plan_cache_mode = force_generic_plan")
    vars(ours)["plans"] = "once"


def cursor() -> CursorWrapper:
    """For SQL that is run many times: PostgreSQL plans what comes through this one once as well."""
    if connection.vendor != "postgresql":
        return connection.cursor()
    from django.db.backends.postgresql.base import ServerBindingCursor

    ours: Any = connections[DEFAULT_DB_ALIAS]
    ours.ensure_connection()
    return ours._prepare_cursor(cast("Any", ServerBindingCursor)(ours.connection))


def _adapted(value: Any) -> Any:
    """As the driver takes it: SQLite knows neither times nor UUIDs."""
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    if isinstance(value, UUID) and not connection.features.has_native_uuid_field:
        return value.hex
    return value
