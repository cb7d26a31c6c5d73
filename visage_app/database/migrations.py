"""Migrations that the database lacks."""

from django.db import connection
from django.db.migrations.loader import MigrationLoader


def unapplied_migrations() -> tuple[str, ...]:
    """Unapplied migrations, each as *app name*."""
    loader = MigrationLoader(connection)
    missing = sorted(set(loader.graph.nodes) - set(loader.applied_migrations))
    return tuple(f"{app} {name}" for app, name in missing)
