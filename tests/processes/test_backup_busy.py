"""A server backed up while people work, moved, and moved back; a restore that is killed in the middle."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings

from tests.processes import drills
from tests.processes.conftest import Installation, copy_file, embedded, new_database
from tests.processes.test_parallel_annotators import STRATA, acknowledged, answered

pytestmark = [
    pytest.mark.processes,
    pytest.mark.real_time,
    pytest.mark.timeout(480),
]  # many processes, one after the other


@contextmanager
def another(folder: Path, template: str):
    """One more installation on the database of this pass."""
    folder.mkdir()
    with new_database(folder, template=template) as (env, _):
        yield Installation(env)


def on_sqlite(folder: Path, migrated_file: Path) -> Installation:
    folder.mkdir()
    copy_file(migrated_file, folder)
    return Installation(embedded(folder))


def digest(said: str) -> str:
    return said.split()[-1]


KILLED = """
import os, signal, sys, django
django.setup()
from pathlib import Path
from visage_app.backup.services import restoring, tables
from visage_app.backup.services.restoring import restore

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "before references":
    tables.check_references = kill
else:  # all is loaded and compared, and not committed
    compare = restoring._compare
    restoring._compare = lambda *told: (compare(*told), kill())
restore(path=Path(sys.argv[1]), progress=lambda *_: None)
"""


def killed(moment: str, elsewhere: Installation, path: Path) -> None:
    elsewhere.env["DJANGO_SETTINGS_MODULE"] = "visage_app.settings"
    process = elsewhere.python("-c", KILLED, path, moment)
    _, said = process.communicate()
    assert process.returncode == -signal.SIGKILL, said


def test_a_busy_server_is_backed_up_and_restored_elsewhere(
    installation: Installation, migrated: str, tmp_path: Path
):
    """Every answer that was acknowledged before the backup began is in it; so is every rule of assignment."""
    units, people = 4000, 5  # more than they get done while a backup begins, on any machine
    ids = installation.act("set_up", units, people, STRATA)
    working = [
        installation.start("annotate", ids[number], drills.seed(number), tmp_path / f"{number}.journal")
        for number in range(people)
    ]
    answered(tmp_path, 5)
    before = acknowledged(tmp_path)
    path = tmp_path / "busy.tar"
    said = installation.run("manage.py", "backup", str(path))
    meanwhile = len(acknowledged(tmp_path)) - len(before)
    for process in working:
        process.kill()
        process.communicate()

    with another(tmp_path / "elsewhere", migrated) as elsewhere:
        for moment in ("before references", "before the end"):
            killed(moment, elsewhere, path)
        # it would refuse an installation in which a killed one had left something
        restored = elsewhere.run("manage.py", "restore", str(path))
        assert digest(restored) == digest(said)
        counted = elsewhere.act("count")
        again = elsewhere.run("manage.py", "backup", str(tmp_path / "again.tar"))
        assert digest(again) == digest(said)

    assert before
    assert meanwhile, "nobody worked while the backup was made: nothing was tested"
    kept = counted["keys"]
    assert not {key: value for key, value in before.items() if kept.get(key) != value}
    assert counted["responses"] < units * 3, "everything was done before: nothing was tested"
    assert counted["filled"] == counted["responses"] - counted["surplus"]
    assert counted["responses"] == counted["judgements"]
    assert counted["filled"] + counted["leased"] + counted["open"] == counted["slots"] == units * 3
    assert counted["most_per_unit"] <= 3
    assert counted["met_twice"] == []
    assert counted["wrong_stratum"] == 0


def test_a_pilot_moves_to_a_server_and_back(installation: Installation, migrated_file: Path, tmp_path: Path):
    """The demonstration: SQLite to PostgreSQL to SQLite, pictures included, nothing different in between."""
    if not settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
        pytest.skip("NO SERVER TO MOVE TO: the suite runs on SQLite; PostgreSQL was not tried in this pass")
    pilot, server = on_sqlite(tmp_path / "pilot", migrated_file), installation
    back = on_sqlite(tmp_path / "back", migrated_file)
    pilot.run("manage.py", "demo")
    digests = []
    for number, (here, there) in enumerate(((pilot, server), (server, back))):
        path = tmp_path / f"{number}.tar"
        digests.append(digest(here.run("manage.py", "backup", str(path))))
        digests.append(digest(there.run("manage.py", "restore", str(path))))
    digests.append(digest(back.run("manage.py", "backup", str(tmp_path / "last.tar"))))
    assert len(set(digests)) == 1
    stored = [
        sorted(each.name for each in (tmp_path / name / "media" / "images").iterdir())
        for name in ("pilot", "back")
    ]
    assert stored[0] == stored[1]
    assert "nothing to do" in back.run("manage.py", "demo")
