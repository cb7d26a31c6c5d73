"""`migrate` killed in the middle, again and again: the next run goes on, and the schema is the same."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.processes import drills
from tests.processes.conftest import Installation, new_database

pytestmark = [pytest.mark.processes, pytest.mark.real_time]
KILLS = 8


@pytest.fixture
def empty(tmp_path: Path):
    """An installation whose database holds nothing yet."""
    folder = tmp_path / "empty"
    folder.mkdir()
    with new_database(folder, template=None) as (env, _):
        yield Installation(env | {"DJANGO_SETTINGS_MODULE": "visage_app.settings"})


def schema(env: dict[str, str], file: Path | str) -> list[tuple[object, ...]]:
    """Every table, column, index and constraint, and which migrations were applied."""
    if "DATABASE_URL" not in env:
        with closing(sqlite3.connect(file)) as connection:
            made = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name")
            return [
                *made.fetchall(),
                *connection.execute("SELECT app, name FROM django_migrations ORDER BY 1, 2"),
            ]
    with psycopg.connect(env["DATABASE_URL"]) as connection:
        queries = (
            "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
            "WHERE table_schema = 'public' ORDER BY 1, 2",
            "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
            "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE connamespace = 'public'::regnamespace ORDER BY 1",
            "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid",
            "SELECT app, name FROM django_migrations ORDER BY 1, 2",
        )
        return [row for query in queries for row in connection.execute(query).fetchall()]


def migrate(installation: Installation, *when: int | str) -> tuple[int | None, str]:
    """Exit status, and what it said."""
    process = installation.python("-m", "tests.processes.migrating", *when)
    _, said = process.communicate(timeout=600)
    return process.returncode, said


def test_a_migration_killed_at_any_statement_is_completed_by_the_next_run(
    empty: Installation, installation: Installation
):
    # One that replaces many notes each of them: all or none, or the next run would begin amid them.
    status, said = migrate(empty, "0005_exports_and_api")
    assert status == -signal.SIGKILL, said
    dice, killed = drills.dice(7), 0
    for _ in range(KILLS):
        status, said = migrate(empty, dice.randint(1, 150))
        assert status in (0, -signal.SIGKILL), said
        killed += status != 0
    assert killed > KILLS / 2, "nobody died: nothing was tested"
    status, said = migrate(empty)
    assert status == 0, said
    files = [Path(each.env["VAR_DIR"]) / "visage.sqlite3" for each in (empty, installation)]
    assert schema(empty.env, files[0]) == schema(installation.env, files[1])
