"""Long reads in a snapshot, without blocking writers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections, transaction

from annotation.core import replica


@contextmanager
def snapshot() -> Iterator[None]:
    """All reads inside see the database as it was at the start, while others go on writing. For reading only.
    Inside a transaction of the caller it has no effect.

    PostgreSQL needs a stricter isolation level for this. On SQLite every transaction is a snapshot, but ours
    lock for writing from the start (visage_app/database/sqlite). This one is deferred, or annotators would
    wait for as long as it reads.
    """
    alias = replica.read_alias()
    database: Any = connections[alias]
    if database.in_atomic_block:
        yield
    elif database.vendor == "postgresql":
        with transaction.atomic(using=alias):
            with database.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    else:
        database.ensure_connection()
        mode, database.transaction_mode = database.transaction_mode, "DEFERRED"
        try:
            with transaction.atomic(using=alias):
                with database.cursor() as cursor:
                    # The snapshot is taken at the first read.
                    cursor.execute("SELECT count(*) FROM sqlite_master")
                    cursor.fetchone()
                yield
        finally:
            database.transaction_mode = mode
