"""Emptying the database after a test whose writes are not rolled back.

Django truncates every table and makes content types and permissions anew: half a second on PostgreSQL and a
tenth on SQLite, after each of some four hundred tests. Here rows are deleted, and those two tables stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connections, transaction
from django.test import TransactionTestCase

KEPT = {"auth_permission", "django_content_type", "django_migrations"}


@contextmanager
def by_deleting() -> Iterator[None]:
    """While this lasts, begun in a database as it was migrated."""
    as_django_does = TransactionTestCase._fixture_teardown
    migrated = _numbers("default")

    def emptied(test: TransactionTestCase) -> None:
        aliases = list(test._databases_names(include_mirrors=False))
        if any(_numbers(alias) != migrated for alias in aliases):
            as_django_does(test)  # what a test took of them comes back
            return
        for alias in aliases:
            _delete(alias)
        ContentType.objects.clear_cache()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", emptied)
        yield


def _numbers(alias: str) -> tuple[int, int]:
    return ContentType.objects.using(alias).count(), Permission.objects.using(alias).count()


def _delete(alias: str) -> None:
    names = connections[alias].introspection.django_table_names(only_existing=True, include_views=False)
    # foreign keys are looked at when all is gone
    with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
        for name in sorted(set(names) - KEPT):
            cursor.execute(f'DELETE FROM "{name}"')
