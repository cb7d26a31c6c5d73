"""A disk that is really full: nothing half-written, a clear message, and all goes on once there is room."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.processes import mounts
from tests.processes.conftest import ROOT, Installation
from tests.processes.servers import program

pytestmark = [pytest.mark.processes, pytest.mark.real_time]
PEOPLE = 4
UNITS = 300
"""Their answers are more than fit in what the database has taken of the disk before that is full."""


@pytest.fixture
def small_disk(installation: Installation) -> Callable[..., Any]:
    """Runs one of tests/processes/small_disk.py, which mounts disks that nobody else sees."""
    mounts.check_allowed()
    return functools.partial(installation.act, of="small_disk")


def test_a_full_disk_under_sqlite_costs_no_answer(installation: Installation, small_disk):
    if "DATABASE_URL" in installation.env:
        pytest.skip("NOT SQLITE: the disk of PostgreSQL is not this test's")
    people = installation.act("set_up", UNITS, PEOPLE, "any|any|any")
    sessions = installation.act("log_in_annotators", json.dumps(people))
    var = Path(installation.env["VAR_DIR"])
    var.rename(f"{var}.old")
    seen = small_disk("database", var, json.dumps(sessions))
    assert seen["failures"]["answers 500"] >= 10
    assert seen["answers"] == UNITS * 3


@pytest.mark.timeout(900)
def test_a_full_disk_of_postgresql_costs_no_answer(installation: Installation):
    """Not in a namespace where everybody is root, as which PostgreSQL does not run."""
    if "DATABASE_URL" not in installation.env:
        pytest.skip("NOT POSTGRESQL: its disk was not filled")
    program("initdb")
    unshare = mounts.check_allowed("-m")
    main = "from tests.processes import small_disk; small_disk.main()"
    installation.env["DJANGO_SETTINGS_MODULE"] = "visage_app.settings"
    # not in tmp_path, which is for the one who runs the tests alone
    with tempfile.TemporaryDirectory(prefix="visage-postgres-") as folder:
        Path(folder).chmod(0o755)
        command = [unshare, "-m", sys.executable, "-c", main, "postgresql", Path(folder) / "disk"]
        done = subprocess.run(
            [*map(str, [*command, UNITS, PEOPLE])],
            cwd=ROOT,
            env=installation.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["ready"] == [200, 503], "while a table cannot grow all is read, without a server nothing is"
    # an answer of 4xx, which the page would give up, ends the annotator (annotators.py)
    assert seen["failures"]["answers 500"] >= 10
    assert seen["answers"] == UNITS * 3


def test_a_full_disk_leaves_the_backup_that_was_there(installation: Installation, small_disk, tmp_path):
    installation.act("set_up", 60, 4, "any|any|any")
    seen = small_disk("backup", tmp_path / "disk")
    status, said = seen["full"]
    assert status == 1
    assert "No backup was made." in said
    assert "No space left on device" in said
    assert seen["left"] == {"all.tar": len("an older one")}, "half a backup lies about"
    assert seen["again"] == [0, 0]


def test_a_full_disk_lets_an_export_wait_until_there_is_room(small_disk):
    full, after = small_disk("export")["seen"]
    assert full[:2] == ["pending", 0]
    assert "The disk is full (No space left on device)" in full[2]
    assert full[3] == 0, "half an export lies about"
    assert after == ["done", 1, "", 0, 400]


def test_an_upload_that_finds_no_room_is_told_so_and_leaves_nothing(installation: Installation, small_disk):
    session = installation.act("admit")
    seen = small_disk("upload", Path(installation.env["VAR_DIR"]) / "uploads-unfinished", session)
    full, again = seen["full"], seen["again"]
    assert full["form"][0] == full["api"][0] == 507
    assert "The server’s disk is full. Nothing you sent was saved." in full["form"][1]
    assert json.loads(full["api"][1])["type"] == "urn:visage:problem:no-room"
    assert (full["page"], full["left"], full["taken"], full["images"]) == (200, [], 0, 0)
    assert (again["form"][0], again["api"][0], again["left"], again["images"]) == (302, 200, [], 1)
    assert json.loads(again["api"][1])["unchanged"] == 1
