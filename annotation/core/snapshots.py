"""Reading for long without standing in anybody's way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections, transaction

from annotation.core import replica


@contextmanager
def snapshot() -> Iterator[None]:
    """All reads within see the database as it was at the beginning, while others go on writing. Only for
    reading; within a transaction of the caller's, whose rules stand, it changes nothing.

    PostgreSQL needs a stricter isolation level for it. Transactions on SQLite see one moment anyway, but ours
    ask to write from their start and queue for that (visage_app/database/sqlite): this one does neither, or
    annotators would wait for as long as it reads.
    """
    alias = replica.alias()
    ours: Any = connections[alias]
    if ours.in_atomic_block:
        yield
    elif ours.vendor == "postgresql":
        with transaction.atomic(using=alias):
            with ours.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    else:
        ours.ensure_connection()
        writing, ours.transaction_mode = ours.transaction_mode, "DEFERRED"
        try:
            with transaction.atomic(using=alias):
                with ours.cursor() as cursor:
                    # the moment is that of the first read
                    cursor.execute("SELECT count(*) FROM sqlite_master")
                    cursor.fetchone()
                yield
        finally:
            ours.transaction_mode = writing


__all__ = ["snapshot"]
