"""Annotators who outnumber their connections to PostgreSQL: a pool in the process, PgBouncer before it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.processes import drills
from tests.processes.conftest import Installation, finish
from tests.processes.servers import answers
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.processes,
    pytest.mark.real_time,
    pytest.mark.skipif(
        not os.environ.get("DATABASE_URL", "").startswith("postgresql"),
        reason="NO POSTGRESQL: there is nothing to pool",
    ),
]
UNITS, PEOPLE = 20, 12
READ_WHILE_ANOTHER_WORKS = """
import django; django.setup()
from concurrent.futures import ThreadPoolExecutor
from django.db import connection, transaction
from annotation.models import Slot
rows = Slot.objects.iterator(chunk_size=2)
seen = [next(rows)]
with ThreadPoolExecutor(1) as other:
    # takes the connection that the first rows came through, and keeps it
    whole = transaction.atomic()
    other.submit(whole.__enter__).result()
    other.submit(Slot.objects.count).result()
    seen += rows
    other.submit(whole.__exit__, None, None, None).result()
    other.submit(lambda: connection.close()).result()
print(len(seen))
"""


def everything_answered(installation: Installation) -> bool:
    counted = installation.act("count")
    assert (counted["surplus"], counted["met_twice"], counted["most_per_unit"]) == (0, [], 3)
    return counted["filled"] == counted["responses"] == counted["judgements"] == UNITS * 3


def test_threads_share_the_connections_that_one_process_may_have(installation: Installation, tmp_path: Path):
    people = installation.act("set_up", UNITS, PEOPLE, "any|any|any")
    installation.env |= {"DATABASE_POOL": "2"}
    working = installation.start("annotate_together", ",".join(map(str, people)), drills.seed(1), tmp_path, 0)
    name = urlsplit(installation.env["DATABASE_URL"]).path.removeprefix("/")
    most = 0
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as watching:
        while working.poll() is None:
            asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
            most = max(most, watching.execute(asked, [name]).fetchone()[0])
            time.sleep(0.05)
    finish(working)
    assert most == 2
    assert everything_answered(installation)


@pytest.fixture
def behind_pgbouncer(installation: Installation) -> Iterator[Installation]:
    """The installation through PgBouncer that gives out three connections, each for one transaction."""
    if (program := shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")) is None:
        pytest.skip("NO PGBOUNCER: nothing was tried behind it")
    server = urlsplit(installation.env["DATABASE_URL"])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    where = f"host={server.hostname} port={server.port or 5432} user={server.username}"
    where += f" password={server.password}" if server.password else ""
    # It does not run as root, where the tests do; and whoever it runs as has to reach what it reads.
    as_somebody = ["-u", "nobody"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="pgbouncer") as folder:
        Path(folder).chmod(0o755)
        said = Path(folder) / "pgbouncer.ini"
        said.write_text(
            f"[databases]\n* = {where}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            "ignore_startup_parameters = options\n"  # PGOPTIONS, which are of a session
            "auth_type = any\npool_mode = transaction\ndefault_pool_size = 3\n"
        )
        pooler = subprocess.Popen([program, "-q", *as_somebody, str(said)], cwd="/")
        try:
            wait_for(lambda: answers(port) or pooler.poll() is not None, "PgBouncer did not answer")
            assert pooler.poll() is None, "PgBouncer did not start"
            there = f"postgresql://{server.username}@127.0.0.1:{port}{server.path}"
            of_pooler = {"DATABASE_URL": there, "PREPARE_STATEMENTS": "no", "SERVER_SIDE_CURSORS": "no"}
            yield Installation(installation.env | of_pooler)
        finally:
            pooler.terminate()
            pooler.wait()


def test_a_pooler_may_give_each_transaction_another_connection(
    behind_pgbouncer: Installation, tmp_path: Path
):
    people = behind_pgbouncer.act("set_up", UNITS, PEOPLE, "any|any|any")
    working = [
        behind_pgbouncer.start(
            "annotate_together", ",".join(map(str, some)), drills.seed(number), tmp_path, 0
        )
        for number, some in enumerate((people[:6], people[6:]))
    ]
    for each in working:
        finish(each)
    assert everything_answered(behind_pgbouncer)
    assert int(behind_pgbouncer.run("-c", READ_WHILE_ANOTHER_WORKS)) == UNITS * 3
    # `COPY` in one transaction, and rows in one
    for number, fmt in enumerate(("csv", "jsonl")):
        out = tmp_path / f"answers.{fmt}"
        behind_pgbouncer.run("manage.py", "export", "load", "--format", fmt, "--out", str(out))
        assert len(out.read_text().splitlines()) == UNITS * 3 + 1 - number
