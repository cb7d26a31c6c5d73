"""A link for ten lets ten in, however many processes follow it in the same moment."""

import pytest

pytestmark = [pytest.mark.processes, pytest.mark.django_db]
PROCESSES, TIMES, LIMIT = 6, 5, 10


def follow_together(installation, code: str, username: str, place) -> list[str]:
    started = [
        installation.start("follow", code, username, TIMES, place, PROCESSES, of="invitees")
        for _ in range(PROCESSES)
    ]
    said = []
    for process in started:
        out, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        said += out.split()
    return said


def count(installation, code: str) -> list[int]:
    return [int(n) for n in installation.run("-m", "tests.processes.invitees", "count", code).split()]


def test_a_link_for_ten_lets_ten_newcomers_in_and_leaves_no_account_behind(installation, tmp_path):
    code = installation.run("-m", "tests.processes.invitees", "make", str(LIMIT)).strip()
    said = follow_together(installation, code, "", tmp_path / "start")
    assert (said.count("new"), said.count("full")) == (LIMIT, PROCESSES * TIMES - LIMIT)
    assert count(installation, code) == [LIMIT, LIMIT, 2 + LIMIT]


def test_one_account_that_follows_it_in_many_windows_at_once_is_counted_once(installation, tmp_path):
    code = installation.run("-m", "tests.processes.invitees", "make", str(LIMIT)).strip()
    said = follow_together(installation, code, "somebody", tmp_path / "start")
    assert (said.count("new"), said.count("again")) == (1, PROCESSES * TIMES - 1)
    assert count(installation, code) == [1, 1, 2]
