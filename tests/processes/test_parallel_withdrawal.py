"""Withdrawing twice at once, in the middle of one's own work and everybody else's."""

import pytest

from tests.processes.conftest import finish

pytestmark = [pytest.mark.processes, pytest.mark.django_db]


def test_whoever_withdraws_twice_while_answers_come_in_is_out_once_and_wholly(installation, tmp_path):
    installation.run("-m", "tests.processes.leavers", "make", 400, 3)
    place = tmp_path / "start"
    at_work = [installation.start("work", f"a-{number}", place, 6, of="leavers") for number in range(3)]
    leaving = [installation.start("leave", "a-0", place, 6, of="leavers") for _ in range(3)]
    done = [finish(process) for process in leaving]
    kept = [finish(process) for process in at_work]
    counted = installation.act("count", "a-0", of="leavers")

    assert sorted(each["repeat"] for each in done) == [False, True, True]
    assert sum(each["responses"] for each in done) == counted["theirs"] == kept[0] > 0
    assert (counted["theirs_counted"], counted["theirs_held"], counted["events"]) == (0, 0, 1)
    # Nobody else lost or doubled anything by it.
    assert counted["filled"] == counted["filled_with_answer"] == kept[1] + kept[2]
    assert counted["queue_numbers"] == counted["slots"] == 1200
