"""Pages of numbers with a real standby (docs/growing.md, Read replica): it is read while it keeps up, and the
primary while it does not, or is gone."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import psycopg
import pytest

from tests.processes.conftest import Installation, embedded
from tests.processes.servers import Postgres, Standby, Web, answers, migrated_postgres, postgres
from tests.waiting import wait_for

__all__ = ["migrated_postgres", "postgres"]  # a fixture
pytestmark = [pytest.mark.processes, pytest.mark.real_time]
LAG_SECONDS = 4
ONE_PLACE_LESS = "DELETE FROM annotation_slot WHERE id = (SELECT max(id) FROM annotation_slot)"
# by others, and more than how late it is
ASKED = """
    SELECT count(*) FROM pg_stat_activity
    WHERE query_start >= %s AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    AND query NOT LIKE '%%pg_last_wal_replay_lsn%%'
"""


@pytest.fixture
def standby(postgres: Postgres) -> Iterator[Standby]:
    with tempfile.TemporaryDirectory(prefix="visage-standby-") as folder:
        server = Standby(Path(folder), postgres)
        yield server
        if answers(server.port):
            server.crash()


class Overview:
    """A study's page, as an admin sees it who has changed nothing."""

    def __init__(self, env: dict[str, str], standby: Standby) -> None:
        self._session = Installation(env).act("admit")
        self.server = Web(env, workers=1)
        self._standby = standby

    def places(self) -> int:
        """How many are open, by the page."""
        status, page = self.server.asked("/studies/load/overview/", self._session)
        assert status == 200
        return int(re.findall(r"<dt>Still open</dt><dd>(\d+)</dd>", page.decode())[0])

    def from_standby(self) -> bool:
        """Whether it is read there, which that server itself says."""
        with psycopg.connect(self._standby.url, autocommit=True) as connection:
            [[since]] = connection.execute("SELECT clock_timestamp()").fetchall()
            assert isinstance(since, datetime)
            self.places()
            [[asked]] = connection.execute(ASKED, [since]).fetchall()
            return asked > 0


def test_a_standby_is_read_while_it_keeps_up(postgres: Postgres, standby: Standby, tmp_path: Path):
    env = embedded(tmp_path) | {"DATABASE_URL": postgres.url, "DJANGO_SETTINGS_MODULE": "visage_app.settings"}
    env |= {"DATABASE_REPLICA_URL": standby.url, "DATABASE_REPLICA_LAG_SECONDS": str(LAG_SECONDS)}
    made = Installation(env)
    made.act("set_up", 4, 1, "any")
    page = Overview(env, standby)
    with (
        psycopg.connect(postgres.url, autocommit=True) as primary,
        psycopg.connect(standby.url, autocommit=True) as copy,
    ):
        try:
            wait_for(page.from_standby, "the standby is not read")
            primary.execute(ONE_PLACE_LESS)
            wait_for(lambda: page.places() == 3, "the standby does not follow")

            copy.execute("SELECT pg_wal_replay_pause()")
            primary.execute(ONE_PLACE_LESS)
            assert page.places() == 3, "it may be late, by less than it may"
            wait_for(lambda: page.places() == 2, "the page is later than it may be")
            assert not page.from_standby()

            copy.execute("SELECT pg_wal_replay_resume()")
            wait_for(page.from_standby, "the standby that has caught up is not read again")

            primary.execute(ONE_PLACE_LESS)
            standby.crash()
            assert page.places() == 1, "the primary answers a page that was on its way to the standby"
        finally:
            page.server.kill()
