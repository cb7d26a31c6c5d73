"""What the database knows of its tables after much was written at once."""

from __future__ import annotations

from django.db import connection, models

LEAST_ROWS = 1000
"""Fewer new rows than this change no query plan."""


def learn(*written: type[models.Model], rows: int) -> None:
    """Have PostgreSQL count anew what it holds in the tables of `written`, if `rows` were added at once.

    Its planner goes by counts that are taken now and then, if at all. After an import it would still plan
    for the few rows there were before, and join a hundred thousand judgements one by one: a score that
    takes a second then takes an hour. SQLite plans by its indexes alone and needs no counts.
    """
    if connection.vendor != "postgresql" or rows < LEAST_ROWS:
        return
    # in one order, so that two writers wait for each other rather than lock each other out
    tables = sorted(connection.ops.quote_name(model._meta.db_table) for model in written)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(tables)}")


__all__ = ["learn"]
