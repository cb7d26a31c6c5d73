"""Several changes in one statement, and so in one round trip, on PostgreSQL.

    _TAKE_AND_MOVE = Together(
        taken=PreparedUpdate(Slot.objects.filter(pk=Param("slot"), state="open"), state="leased"),
        moved=PreparedUpdate(Enrolment.objects.filter(Changed("taken"), pk=Param("pk")), position=7),
    )
    done = _TAKE_AND_MOVE.run(slot=1, pk=2)  # {"taken": 1, "moved": 1}

SQLite allows no changes in a WITH and has no round trips to save: there the changes run one after another.
Each changes a different table, and sees the effect of another only through `Changed` and `InsertedId`.
"""

from typing import Any

from django.db import connection
from django.db.models import BooleanField
from django.db.models.sql.compiler import SQLCompiler

from annotation.core.prepared import Param, PreparedInsert, PreparedUpdate, _Statement

Change = PreparedUpdate | PreparedInsert


class InsertedId(Param):
    """In a change of a `Together`: the key of the single row inserted by the earlier insert of this name."""

    def as_postgresql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return f'(SELECT id FROM "{self.name}")', ()  # noqa: S608 - a name in our code


class Changed(Param):
    """In a change of a `Together`, as a condition: whether the earlier update of this name changed any
    row."""

    conditional = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.output_field = BooleanField()

    def as_postgresql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return f'EXISTS (SELECT 1 FROM "{self.name}")', ()  # noqa: S608 - a name in our code


class Together(_Statement):
    """Named changes: on PostgreSQL, the WITH of one SELECT that returns the result of each. Raises KeyError
    if a value is missing."""

    def __init__(self, **changes: Change) -> None:
        super().__init__(None)
        self._changes = changes

    def _compile(self) -> tuple[Any, str, tuple[Any, ...]]:
        steps, results = [], []
        arguments: list[Any] = []
        for name, change in self._changes.items():
            _, sql, parameters = change.statement.compiled()
            arguments += parameters
            if isinstance(change, PreparedInsert):
                results.append(f'ARRAY(SELECT id FROM "{name}")')  # noqa: S608 - a name in our code
            else:
                sql += " RETURNING 1"
                results.append(f'(SELECT count(*) FROM "{name}")')  # noqa: S608 - a name in our code
            steps.append(f'"{name}" AS ({sql})')
        return None, f"WITH {', '.join(steps)} SELECT {', '.join(results)}", tuple(arguments)

    def run(self, **values: Any) -> dict[str, Any]:
        """Return for each change, by name, the keys it inserted or the number of rows it changed."""
        if connection.vendor == "postgresql":
            with self.executed(values) as ran:
                return dict(zip(self._changes, ran.fetchone(), strict=True))
        done: dict[str, Any] = {}
        for name, change in self._changes.items():
            done[name] = change.run(
                **{**values, **{earlier: _outcome(result) for earlier, result in done.items()}}
            )
        return done


def _outcome(result: Any) -> Any:
    """What later changes see: the key of the inserted row, or whether any row was changed."""
    return result[0] if isinstance(result, list) else bool(result)
