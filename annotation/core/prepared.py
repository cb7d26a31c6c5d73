"""Queries that the ORM compiles once and that run many times.

For the queries that run at every item, the ORM takes longer to write the SQL than the database to answer it
(docs/performance.md). A `Prepared` query is compiled to SQL when it first runs; later runs only fill in the
values of its `Param`s:

    _BY_NAME = Prepared(Study.objects.filter(name=Param("name")))
    study = _BY_NAME.first(name="words")

It returns what the query set would return, including locks and related objects.
"""

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
    """A named parameter, filled in when the query runs. In arithmetic it is an integer."""

    def __init__(self, name: str) -> None:
        super().__init__(output_field=IntegerField())
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return "%s", (self,)


class _Statement:
    """The SQL of one query, compiled once for each connection."""

    def __init__(self, query: Any) -> None:
        self.query = query

    def compiled(self) -> tuple[Any, str, tuple[Any, ...]]:
        """The compiler, the SQL and its parameters, `Param`s among them."""
        # Stored on the connection, since a compiler belongs to one.
        statements = vars(connections[DEFAULT_DB_ALIAS]).setdefault("prepared", {})
        if self not in statements:
            statements[self] = self._compile()
        return statements[self]

    def _compiler(self) -> Any:
        # A copy, since compiling changes a query and two threads may compile the same one.
        return self.query.clone().get_compiler(DEFAULT_DB_ALIAS)

    def _compile(self) -> tuple[Any, str, tuple[Any, ...]]:
        compiler = self._compiler()
        return (compiler, *compiler.as_sql())

    @contextmanager
    def executed(self, values: dict[str, Any]) -> Iterator[CursorWrapper]:
        """A cursor that has run the statement."""
        _, sql, parameters = self.compiled()
        arguments = [_adapted(values[each.name]) if isinstance(each, Param) else each for each in parameters]
        with cursor() as opened:
            opened.execute(sql, arguments)
            yield opened


class _Select(_Statement):
    def _compile(self) -> tuple[Any, str, tuple[Any, ...]]:
        compiler, sql, parameters = super()._compile()
        # The converters from columns to Python values are the same for every row.
        converters = compiler.get_converters([column for column, *_ in compiler.select[: compiler.col_count]])
        compiler.get_converters = lambda expressions: converters
        # The row iterator takes this for the query set whose query found the rows.
        query = copy.copy(compiler.query)
        query.get_compiler = lambda *args, **options: compiler
        compiler.queryset = SimpleNamespace(
            db=DEFAULT_DB_ALIAS, query=query, _known_related_objects={}, _fields=None
        )
        return compiler, sql, parameters


class _Insert(_Statement):
    def _compile(self) -> tuple[Any, str, tuple[Any, ...]]:
        compiler = self._compiler()
        compiler.returning_fields = self.query.get_meta().db_returning_fields
        [(sql, parameters)] = compiler.as_sql()
        return compiler, sql, parameters


class Prepared(Generic[Row]):
    """A query set that is compiled once. Raises KeyError if a value is missing."""

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
        compiler = self._statement.compiled()[0]
        compiler.execute_sql = lambda *args, **options: [rows]
        return list(self._iterable(compiler.queryset, chunked_fetch=False))

    def first(self, **values: Any) -> Row | None:
        """The first row in the order of the query set, or None."""
        return next(iter(self.all(**values)), None)

    def get(self, **values: Any) -> Row:
        """The single row; raises the model's DoesNotExist if there is none."""
        for row in self.all(**values):
            return row
        raise self._model.DoesNotExist(f"There is no {self._model.__name__} of {values}.")


class PreparedUpdate:
    """An UPDATE of the rows of `queryset` that is compiled once. `queryset` must not need joins."""

    def __init__(self, queryset: QuerySet[Any, Any], **changes: Any) -> None:
        query: Any = queryset.query.chain(UpdateQuery)
        query.add_update_values(changes)
        self.statement = _Statement(query)

    def run(self, **values: Any) -> int:
        """Return the number of changed rows."""
        with self.statement.executed(values) as done:
            return done.rowcount


class PreparedInsert:
    """An INSERT of `rows` rows that is compiled once (SQLite 3.35 or newer). `known`: columns whose value is
    the same expression in every row."""

    def __init__(self, model: type[Model], *, rows: int = 1, **known: Expression) -> None:
        fields = [field for field in model._meta.local_concrete_fields if not field.primary_key]
        self._names = [field.attname for field in fields if field.attname not in known]
        instances = [
            model(**known, **{name: Param(_numbered(name, number)) for name in self._names})
            for number in range(rows)
        ]
        query = InsertQuery(model)
        query.insert_values(fields, instances)
        self.statement = _Insert(query)

    def values(self, *rows: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of `run` for rows with these values, by column name."""
        return {_numbered(name, number): row[name] for number, row in enumerate(rows) for name in self._names}

    def run(self, **values: Any) -> list[int]:
        """Return the keys of the new rows, in order."""
        with self.statement.executed(values) as done:
            return [key for (key,) in done.fetchall()]


def _numbered(name: str, number: int) -> str:
    return f"{name}_{number}" if number else name


def plan_once(connection: Any, **_: Any) -> None:
    """Make PostgreSQL reuse the plans of statements sent through `cursor`. By default it plans the look-up of
    *next* each time, because it expects fewer rows when it knows the values; planning takes four times as
    long as the look-up. Django's own statements contain their values and are planned as usual."""
    raw = connection.connection
    # Without prepared statements there are no plans to reuse. A pool returns the same connection again.
    if connection.vendor != "postgresql" or raw.prepare_threshold is None or "plans" in vars(raw):
        return
    with connection.cursor() as opened:
        opened.execute("SET plan_cache_mode = force_generic_plan")
    vars(raw)["plans"] = "once"


def cursor() -> CursorWrapper:
    """A cursor for SQL that runs many times: PostgreSQL plans each statement once."""
    if connection.vendor != "postgresql":
        return connection.cursor()
    from django.db.backends.postgresql.base import ServerBindingCursor

    wrapper: Any = connections[DEFAULT_DB_ALIAS]
    wrapper.ensure_connection()
    return wrapper._prepare_cursor(cast("Any", ServerBindingCursor)(wrapper.connection))


def _adapted(value: Any) -> Any:
    """The value as the driver takes it: SQLite has neither times nor UUIDs."""
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    if isinstance(value, UUID) and not connection.features.has_native_uuid_field:
        return value.hex
    return value
