"""PostgreSQL's planner has statistics of imported rows, so that the first score does not take an hour."""

from __future__ import annotations

import pytest
from django.db import connection

from annotation.core.table_statistics import MIN_ROWS, analyze_tables
from annotation.models import Attribute

pytestmark = pytest.mark.django_db


def believed() -> float:
    """What PostgreSQL knows of how many different texts there are; 0 if nothing."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT n_distinct FROM pg_stats WHERE tablename = 'annotation_attribute' AND attname = 'text'"
        )
        found = cursor.fetchone()
    return found[0] if found else 0


@pytest.fixture
def attributes():
    Attribute.objects.bulk_create([Attribute(text=f"word {number}") for number in range(MIN_ROWS)])


def test_much_is_learnt_of(attributes):
    if connection.vendor != "postgresql":
        pytest.skip("NOT POSTGRESQL: there is nothing to analyze")
    analyze_tables(Attribute, rows=MIN_ROWS)
    # -1: as many different texts as there are rows
    assert believed() == -1


def test_little_costs_nothing(attributes, django_assert_num_queries):
    with django_assert_num_queries(0):
        analyze_tables(Attribute, rows=MIN_ROWS - 1)


def test_sqlite_is_not_asked(attributes, django_assert_num_queries):
    if connection.vendor != "sqlite":
        pytest.skip("NOT SQLITE: there is something to analyze")
    with django_assert_num_queries(0):
        analyze_tables(Attribute, rows=10 * MIN_ROWS)
