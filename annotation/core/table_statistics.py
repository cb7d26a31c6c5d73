"""Planner statistics after bulk inserts."""

from django.db import connection, models

MIN_ROWS = 1000
"""Fewer new rows do not change a query plan."""


def analyze_tables(*models_written: type[models.Model], rows: int) -> None:
    """Update PostgreSQL's statistics of the tables of `models_written` after `rows` were inserted at once.

    Its planner would still plan for the few rows from before: a score that takes a second would take an hour.
    SQLite plans by its indexes and needs no statistics.
    """
    if connection.vendor != "postgresql" or rows < MIN_ROWS:
        return
    # Sorted, so that two writers cannot deadlock.
    tables = sorted(connection.ops.quote_name(model._meta.db_table) for model in models_written)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(tables)}")
