"""Several processes at once, some killed: exact overlap, quotas, and no acknowledged answer lost."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.processes import drills
from tests.processes.conftest import Installation, finish
from tests.waiting import wait_for

pytestmark = [pytest.mark.processes, pytest.mark.real_time]

STRATA = "any|origin: Asia|gender: not male"


def acknowledged(folder: Path) -> dict[str, int]:
    """The answers that some process saw acknowledged: key -> value."""
    lines = [line for journal in folder.glob("*.journal") for line in journal.read_text().splitlines()]
    return {line.split()[0]: int(line.split()[1]) for line in lines if line.count(" ") == 2}


def answered(folder: Path, number: int) -> None:
    """Wait until so many more answers are acknowledged."""
    goal = len(acknowledged(folder)) + number
    wait_for(lambda: len(acknowledged(folder)) >= goal, "nobody answers")


def test_parallel_annotators_fill_every_slot_once_though_some_are_killed(
    installation: Installation, tmp_path
):
    units, people = 40, 6
    ids = installation.act("set_up", units, people, STRATA)
    dice = drills.dice(7)

    def begin(number: int):
        return installation.start(
            "annotate", ids[number], drills.seed(number), tmp_path / f"{number}.journal"
        )

    running = {number: begin(number) for number in range(people)}
    killed = 0
    for number in dice.sample(range(people), 3):
        answered(tmp_path, dice.randint(5, 20))
        running[number].send_signal(signal.SIGKILL)
        running[number].communicate()
        killed += running[number].returncode == -signal.SIGKILL
        running[number] = begin(number)  # the same person comes back
    for process in running.values():
        finish(process)
    # Whoever ended while somebody else still held a lease that a kill had left behind comes once more.
    for number in range(people):
        finish(begin(number))
    counted = installation.act("count")

    assert killed, "every process had ended before its kill: nothing was tested"
    assert counted["slots"] == counted["filled"] == units * 3
    assert counted["open"] == counted["leased"] == 0
    assert counted["responses"] == counted["judgements"] == units * 3
    assert counted["surplus"] == 0
    assert counted["most_per_unit"] == 3
    assert counted["met_twice"] == []
    assert counted["wrong_stratum"] == 0
    kept = counted["keys"]
    lost = {key: value for key, value in acknowledged(tmp_path).items() if kept.get(key) != value}
    assert not lost


def test_the_same_answer_from_two_processes_is_kept_once(installation: Installation, tmp_path):
    [enrolment] = installation.act("set_up", 1, 1, "any")
    leased = installation.act("lease", enrolment)
    both = [
        installation.start(
            "submit", enrolment, leased["unit"], leased["key"], leased["option"], tmp_path / "start", 2
        )
        for _ in range(2)
    ]
    assert sorted(finish(process) for process in both) == ["filled", "repeat"]
    assert installation.act("count")["responses"] == 1


def test_two_people_for_one_slot_fill_it_once_and_the_other_answer_is_kept(
    installation: Installation, tmp_path
):
    first, second = installation.act("set_up", 1, 2, "any")
    late = installation.act("lease", first)
    installation.act("expire")
    fresh = installation.act("lease", second)
    both = [
        installation.start(
            "submit", enrolment, leased["unit"], leased["key"], leased["option"], tmp_path / "start", 2
        )
        for enrolment, leased in ((first, late), (second, fresh))
    ]
    assert sorted(finish(process) for process in both) == ["filled", "surplus"]
    counted = installation.act("count")
    assert (counted["filled"], counted["responses"], counted["surplus"]) == (1, 2, 1)


def test_many_late_answers_to_one_open_slot_fill_it_once(installation: Installation, tmp_path):
    """Nobody holds the slot any more; all their answers arrive together."""
    people = installation.act("set_up", 1, 4, "any")
    leases = []
    for enrolment in people:
        leases.append(installation.act("lease", enrolment))
        installation.act("expire")
    together = [
        installation.start(
            "submit", enrolment, leased["unit"], leased["key"], leased["option"], tmp_path / "start", 4
        )
        for enrolment, leased in zip(people, leases, strict=True)
    ]
    assert sorted(finish(process) for process in together) == ["filled", "surplus", "surplus", "surplus"]
    counted = installation.act("count")
    assert (counted["filled"], counted["responses"], counted["surplus"]) == (1, 4, 3)


def test_fifty_annotators_with_quotas_kills_skewed_clocks_and_leases_that_run_out(
    installation: Installation, tmp_path
):
    """Ten processes of five annotators each, some an hour off, some killed, while every lease is taken
    back again and again. Overlap and quotas are exact, no acknowledged answer is lost, nobody stays
    without work while there is some for them."""
    units, people = 150, 50
    ids = installation.act("set_up", units, people, STRATA)
    dice = drills.dice(11)

    def begin(number: int):
        mine = ",".join(map(str, ids[number * 5 : number * 5 + 5]))
        skew = (0, 3600, -3600, 90, 0)[number % 5]
        return installation.start("annotate_together", mine, drills.seed(number), tmp_path, skew)

    enough = tmp_path / "enough"
    sweeper = installation.start("sweep", enough)
    # before anybody answers, or it might find everything done
    wait_for(Path(f"{enough}.begun").exists, "nobody sweeps")
    running = {number: begin(number) for number in range(10)}
    killed = 0
    for number in dice.sample(range(10), 4):
        answered(tmp_path, dice.randint(10, 50))
        running[number].send_signal(signal.SIGKILL)
        running[number].communicate()
        killed += running[number].returncode == -signal.SIGKILL
        running[number] = begin(number)
    for process in running.values():
        finish(process)
    enough.touch()
    assert finish(sweeper) > 0, "no lease ran out: nothing was tested"
    installation.act("expire")
    for process in [begin(number) for number in range(10)]:
        finish(process)
    counted = installation.act("count")

    assert killed, "every process had ended before its kill: nothing was tested"
    assert counted["open"] == counted["leased"] == 0
    assert counted["filled"] == counted["slots"] == units * 3
    assert counted["responses"] == counted["judgements"] == units * 3 + counted["surplus"]
    assert counted["most_per_unit"] == 3
    assert counted["met_twice"] == []
    assert counted["wrong_stratum"] == 0
    kept = counted["keys"]
    lost = {key: value for key, value in acknowledged(tmp_path).items() if kept.get(key) != value}
    assert not lost
