"""How far a list by id can be read without passing by a row that is still on its way.

PostgreSQL gives ids out before it commits, so a smaller id can become visible after a larger one: a cursor
that simply followed the largest would pass it by for ever.
"""

from __future__ import annotations

import time
from typing import Any

from django.db import connection
from django.db.models import Max

PATIENCE_SECONDS = 1.0
_PAUSE_SECONDS = 0.02
_LAST_ID = "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence(%s, 'id')::regclass), 0)"
_WRITERS = """
    SELECT virtualtransaction FROM pg_locks
    WHERE relation = %s::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND mode = 'RowExclusiveLock' AND granted AND pid IS DISTINCT FROM pg_backend_pid()
"""


def horizon(model: Any, *, patience: float = PATIENCE_SECONDS) -> int | None:
    """An id such that no row of `model` with it or a smaller one can still appear; None if that could not be
    said within `patience` seconds.

    Whoever inserts a row holds a lock on the table from before the id is drawn until after the commit is
    visible. So: note the last id that was drawn, then who writes at this moment, and wait until each of
    those is through. Who begins later draws a larger id, and is not waited for. Nobody waits for this. On
    SQLite there is one writer at a time, and ids appear in order.
    """
    if connection.vendor != "postgresql":
        newest: int | None = model.objects.aggregate(newest=Max("pk"))["newest"]
        return newest or 0
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(_LAST_ID, [table])
        drawn = int(cursor.fetchone()[0])
        until = time.monotonic() + patience
        writing: set[str] | None = None
        while True:
            cursor.execute(_WRITERS, [table])
            now = {row[0] for row in cursor.fetchall()}
            writing = now if writing is None else writing & now
            if not writing:
                return drawn
            if time.monotonic() >= until:
                return None
            time.sleep(_PAUSE_SECONDS)


__all__ = ["PATIENCE_SECONDS", "horizon"]
