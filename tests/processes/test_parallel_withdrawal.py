"""Withdrawing twice at once, in the middle of one's own work and everybody else's."""

import json
import subprocess
import sys

import pytest

from tests.processes.conftest import ROOT, finish

pytestmark = [pytest.mark.processes, pytest.mark.django_db]


def start(installation, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.processes.leavers", *map(str, arguments)],
        cwd=ROOT,
        env=installation.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_whoever_withdraws_twice_while_answers_come_in_is_out_once_and_wholly(installation, tmp_path):
    installation.run("-m", "tests.processes.leavers", "make", "400", "3")
    place = tmp_path / "start"
    at_work = [start(installation, "work", f"a-{number}", place, 6) for number in range(3)]
    leaving = [start(installation, "leave", "a-0", place, 6) for _ in range(3)]
    done = [finish(process) for process in leaving]
    kept = [finish(process) for process in at_work]
    counted = json.loads(installation.run("-m", "tests.processes.leavers", "count", "a-0"))

    assert sorted(each["repeat"] for each in done) == [False, True, True]
    assert sum(each["responses"] for each in done) == counted["theirs"] == kept[0] > 0
    assert (counted["theirs_counted"], counted["theirs_held"], counted["events"]) == (0, 0, 1)
    # Nobody else lost or doubled anything by it.
    assert counted["filled"] == counted["filled_with_answer"] == kept[1] + kept[2]
    assert counted["queue_numbers"] == counted["slots"] == 1200
