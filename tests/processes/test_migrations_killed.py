"""`migrate` killed in the middle, again and again: the next run goes on, and the schema is the same."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.processes import drills
from tests.processes.conftest import ROOT, Installation, new_database

pytestmark = pytest.mark.processes
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


def migrate(installation: Installation, *number: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.processes.migrating", *map(str, number)]
    return subprocess.run(
        command, cwd=ROOT, env=installation.env, capture_output=True, text=True, check=False
    )


def test_a_migration_killed_at_any_statement_is_completed_by_the_next_run(
    empty: Installation, installation: Installation
):
    dice, killed = drills.dice(7), 0
    for _ in range(KILLS):
        done = migrate(empty, dice.randint(1, 150))
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        killed += done.returncode != 0
    assert killed > KILLS / 2, "nobody died: nothing was tested"
    done = migrate(empty)
    assert done.returncode == 0, done.stderr
    files = [Path(each.env["VAR_DIR"]) / "visage.sqlite3" for each in (empty, installation)]
    assert schema(empty.env, files[0]) == schema(installation.env, files[1])
