"""What PostgreSQL logs, told what docker-compose.yml says: that something failed, not what people wrote."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import yaml

from tests.processes.conftest import ROOT
from tests.processes.servers import Postgres

pytestmark = pytest.mark.processes
COMMAND = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["db"]["command"]
WRITTEN = "what a reviewer wrote"
FAILING = {
    'relation "nowhere" does not exist': "SELECT * FROM nowhere WHERE note = %s",
    "duplicate key value violates unique constraint": "INSERT INTO notes (note) VALUES (%s)",
    "violates check constraint": "INSERT INTO notes (note, length) VALUES (%s || '!', 99)",
    "division by zero": "DO $$ BEGIN PERFORM 1 / 0, %s; END $$",
}
"""What the log says of a statement that holds what somebody wrote."""


def logged(options: str) -> str:
    """What a server that was started so has logged of statements that fail."""
    # not in tmp_path, which is for the one who runs the tests alone
    with tempfile.TemporaryDirectory(prefix="visage-postgres-") as folder:
        server = Postgres(Path(folder), options)
        try:
            fail(server.url)
            return server.log()
        finally:
            server.crash()


def fail(url: str) -> None:
    # values are put into the statement by the client, as Django has it
    with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute("CREATE TABLE notes (note text UNIQUE, length int CHECK (length < 9))")
        connection.execute("INSERT INTO notes (note) VALUES (%s)", [WRITTEN])
        for statement in FAILING.values():
            with suppress(psycopg.Error):
                connection.execute(statement, [WRITTEN])


def test_the_database_logs_that_a_statement_failed_and_nothing_that_stood_in_it():
    program, *options = shlex.split(COMMAND)
    assert program == "postgres"
    said = logged(shlex.join(options))
    assert [kind for kind in FAILING if kind not in said] == [], "an operator is not told what failed"
    assert WRITTEN not in said


def test_without_those_options_it_would():
    assert logged("").count(WRITTEN) > len(FAILING)
