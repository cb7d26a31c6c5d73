"""A worker that asks a server is killed with -9: no answer is lost, and little is asked again."""

from __future__ import annotations

import signal

import pytest

from tests.fake_openai import FakeOpenAI
from tests.processes.conftest import Installation, finish
from tests.waiting import wait_for

pytestmark = [pytest.mark.processes, pytest.mark.real_time]
ASKINGS, IN_FLIGHT, ANSWERED = 40, 8, 10


@pytest.fixture
def server():
    with FakeOpenAI() as server:
        yield server
        server.most_answers = None


@pytest.fixture
def run(installation: Installation, server: FakeOpenAI) -> int:
    installation.env |= {
        "DJANGO_SETTINGS_MODULE": "visage_app.settings",
        "MODEL_SERVERS": f"fake={server.url}",
        "JOB_RETRY_SECONDS": "0",
    }
    return installation.act("plan", ASKINGS, IN_FLIGHT, of="askers")


@pytest.mark.parametrize("when", ["waiting for answers", "storing"])
def test_another_finishes_and_asks_again_only_what_was_in_flight(installation, server, run, when):
    if when == "storing":  # what it was just answered is not stored yet
        worker = installation.start("make", run, "storing", of="makers")
        worker.communicate()
    else:
        server.most_answers = ANSWERED
        worker = installation.start("make", run, of="makers")
        wait_for(lambda: server.asked.total() >= ANSWERED + IN_FLIGHT, "it never had all places taken")
        worker.kill()
        worker.communicate()
    assert worker.returncode == -signal.SIGKILL
    before = installation.act("count", run, of="askers")
    # a place is free again when its answer is stored
    assert server.asked.total() - IN_FLIGHT <= len(before["answers"]) < server.asked.total()

    server.most_answers = None
    assert installation.act("end_leases", run, of="askers") > 0
    finish(installation.start("make", run, of="makers"))
    after = installation.act("count", run, of="askers")
    assert (after["state"], after["jobs"]) == ("done", {"done": ASKINGS})
    assert after["answers"] == {f"prompt {n}": f"You said: prompt {n}" for n in range(ASKINGS)}
    assert before["answers"].items() <= after["answers"].items()
    assert set(server.asked) == set(after["answers"])
    again = {prompt for prompt, number in server.asked.items() if number > 1}
    assert 0 < len(again) <= IN_FLIGHT
    assert server.asked.total() == ASKINGS + len(again), "something was asked more often than once more"
    assert not again & set(before["answers"]), "what was answered and stored was asked again"
