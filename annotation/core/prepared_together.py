"""Changes that are made together: one statement, and so one trip, on PostgreSQL.

    _TAKE_AND_MOVE = Together(
        taken=PreparedUpdate(Slot.objects.filter(pk=Param("slot"), state="open"), state="leased"),
        moved=PreparedUpdate(Enrolment.objects.filter(Done("taken"), pk=Param("pk")), position=7),
    )
    done = _TAKE_AND_MOVE.run(slot=1, pk=2)  # {"taken": 1, "moved": 1}

SQLite knows no changes in a WITH, and has no trips to save: there they are made one after the other. Each is
a change of another table, and none sees what another one changes but by `Done` and `KeyOf`.
"""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.db.models import BooleanField
from django.db.models.sql.compiler import SQLCompiler

from annotation.core.prepared import Param, PreparedInsert, PreparedUpdate, _Statement

Change = PreparedUpdate | PreparedInsert


class KeyOf(Param):
    """In a change of a `Together`: the key of the one row that the insert before it, of this name, makes."""

    def as_postgresql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return f'(SELECT id FROM "{self.name}")', ()  # noqa: S608 - a name in our code


class Done(Param):
    """In a change of a `Together`, as a condition: whether the update before it, of this name, changed
    anything."""

    conditional = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.output_field = BooleanField()

    def as_postgresql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return f'EXISTS (SELECT 1 FROM "{self.name}")', ()  # noqa: S608 - a name in our code


class _Joined(_Statement):
    """The changes as the WITH of one SELECT, which says what each of them did."""

    def __init__(self, changes: dict[str, Change]) -> None:
        super().__init__(None)
        self.changes = changes

    def _compiler(self) -> Any:
        return None

    def _write(self, compiler: Any) -> tuple[Any, str, tuple[Any, ...]]:
        steps, told = [], []
        given: list[Any] = []
        for name, change in self.changes.items():
            _, sql, parameters = change.statement.written()
            given += parameters
            if isinstance(change, PreparedInsert):
                told.append(f'ARRAY(SELECT id FROM "{name}")')  # noqa: S608 - a name in our code
            else:
                sql += " RETURNING 1"
                told.append(f'(SELECT count(*) FROM "{name}")')  # noqa: S608 - a name in our code
            steps.append(f'"{name}" AS ({sql})')
        return compiler, f"WITH {', '.join(steps)} SELECT {', '.join(told)}", tuple(given)


class Together:
    """Changes by their names. Raises KeyError if a value is not given."""

    def __init__(self, **changes: Change) -> None:
        self._changes = changes
        self._joined = _Joined(changes)

    def run(self, **values: Any) -> dict[str, Any]:
        """By the name of each change: the keys of what it inserted, or the number of rows that it changed."""
        if connection.vendor == "postgresql":
            with self._joined.executed(values) as ran:
                return dict(zip(self._changes, ran.fetchone(), strict=True))
        done: dict[str, Any] = {}
        for name, change in self._changes.items():
            done[name] = change.run(**{**values, **{had: _seen(what) for had, what in done.items()}})
        return done


def _seen(what: Any) -> Any:
    """What later changes see of one: the key of its row, or whether it changed anything."""
    return what[0] if isinstance(what, list) else bool(what)
