"""How far a list can be read by id without missing a row that is not committed yet.

PostgreSQL assigns ids before it commits, so a smaller id can become visible after a larger one. A cursor that
followed the largest visible id would miss that row for ever.
"""

import time
from typing import Any

from django.db import connection
from django.db.models import Max

TIMEOUT_SECONDS = 1.0
_PAUSE_SECONDS = 0.02
_LAST_ID = "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence(%s, 'id')::regclass), 0)"
_WRITERS = """
    SELECT virtualtransaction FROM pg_locks
    WHERE relation = %s::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND mode = 'RowExclusiveLock' AND granted AND pid IS DISTINCT FROM pg_backend_pid()
"""


def highest_safe_id(model: Any, *, timeout: float = TIMEOUT_SECONDS) -> int | None:
    """The highest id up to which no new row of `model` can appear; None if that is unknown after `timeout`
    seconds.

    A transaction that inserts a row locks the table before the id is drawn and keeps the lock until the
    commit is visible. So this reads the last id drawn, then the transactions that are writing, and waits for
    each of them to end. Transactions that start later draw larger ids and need no waiting. No writer is
    blocked. On SQLite there is one writer at a time, so ids appear in order.
    """
    if connection.vendor != "postgresql":
        newest: int | None = model.objects.aggregate(newest=Max("pk"))["newest"]
        return newest or 0
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(_LAST_ID, [table])
        last_id = int(cursor.fetchone()[0])
        deadline = time.monotonic() + timeout
        writing: set[str] | None = None
        while True:
            cursor.execute(_WRITERS, [table])
            current = {row[0] for row in cursor.fetchall()}
            writing = current if writing is None else writing & current
            if not writing:
                return last_id
            if time.monotonic() >= deadline:
                return None
            time.sleep(_PAUSE_SECONDS)
