"""Runs done by real Celery workers on the broker of this pass: messages lost, workers killed, told to end."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import psycopg
import pytest
import redis

from tests.processes import brokers
from tests.processes.conftest import Installation
from tests.processes.starts import Started
from tests.processes.test_generation_kills import act, check_whole, workshop
from tests.waiting import wait_for

__all__ = ["workshop"]
BROKER = brokers.own()
pytestmark = [
    pytest.mark.processes,
    pytest.mark.real_time,
    pytest.mark.skipif(
        not BROKER, reason="NO BROKER: CELERY_BROKER_URL is not set, no Celery worker was tried"
    ),
]


@pytest.fixture
def served(workshop: Installation) -> Iterator[Installation]:
    workshop.env["CELERY_BROKER_URL"] = BROKER
    redis.Redis.from_url(BROKER).flushdb()
    yield workshop
    redis.Redis.from_url(BROKER).flushdb()


class Workers:
    """Celery workers of queue gpu, ended with the test."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self.running: list[Started] = []

    def start(self, app: str = "visage_app") -> Started:
        name = f"gpu{len(self.running)}-{time.monotonic_ns()}@here"
        command = ["-m", "celery", "-A", app, "worker", "-Q", "gpu", "-P", "solo", "-n", name]
        command += ["--without-mingle", "--without-gossip", "-l", "WARNING"]
        worker = self._installation.python(*command)
        self.running.append(worker)
        return worker

    def end(self) -> None:
        for worker in self.running:
            worker.kill()
            worker.wait()


@pytest.fixture
def workers(served: Installation) -> Iterator[Workers]:
    made = Workers(served)
    yield made
    made.end()


def until_over(served: Installation, run: int, *, sweep: bool = False):
    """What there is of a run once it is over."""
    counted = act(served, "until", run, "", 1, "sweep" if sweep else "")
    assert counted["state"] != "running", counted
    return counted


def until_done(served: Installation, run: int, number: int) -> None:
    counted = act(served, "until", run, "done", number)
    assert counted["jobs"].get("done", 0) >= number, counted


def until_nobody_writes(served: Installation) -> None:
    """Wait until PostgreSQL has done what a killed worker asked for: a commit under way still succeeds."""
    clients = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type LIKE 'client%'"
    )
    with psycopg.connect(served.env["DATABASE_URL"], autocommit=True) as watch:
        wait_for(lambda: len(watch.execute(clients).fetchall()) == 1, "somebody stays connected")


def test_a_run_is_done_in_slices_by_all_workers_and_leaves_no_message(served: Installation, workers: Workers):
    run = act(served, "plan", 4000)
    both = [workers.start(), workers.start()]
    act(served, "ring", run)
    counted = until_over(served, run)
    check_whole(counted, 4000)
    assert counted["workers"] == 2, "one worker did it all"
    broker = redis.Redis.from_url(BROKER)
    wait_for(lambda: not broker.llen("gpu"), "messages ring for a run that is done")
    assert [worker.poll() for worker in both] == [None, None]


def test_when_the_broker_is_emptied_the_sweep_rings_again(served: Installation, workers: Workers):
    run = act(served, "plan", 3000)
    worker = workers.start()
    act(served, "ring", run)
    until_done(served, run, 100)
    broker = redis.Redis.from_url(BROKER)
    worker.kill()
    worker.wait()
    until_nobody_writes(served)
    broker.flushdb()
    stopped = act(served, "count", run)
    workers.start()
    # it waits for a message that does not come
    own = str(broker.connection_pool.connection_kwargs.get("db", 0))
    wait_for(lambda: ("brpop", own) in {(one["cmd"], one["db"]) for one in broker.client_list()}, "no worker")
    assert act(served, "count", run)["jobs"]["done"] == stopped["jobs"]["done"], "somebody rang: not tested"
    assert act(served, "sweep") == 1
    until_done(served, run, stopped["jobs"]["done"] + 1)
    # What the killed worker had claimed may come free after all the rest is done: a later sweep rings for it.
    check_whole(until_over(served, run, sweep=True), 3000)


def test_a_worker_outlives_its_connections_to_the_broker(served: Installation, workers: Workers):
    run = act(served, "plan", 3000)
    workers.start()
    act(served, "ring", run)
    until_done(served, run, 100)
    broker = redis.Redis.from_url(BROKER)
    number = broker.connection_pool.connection_kwargs.get("db", 0)
    mine = broker.client_id()
    cut = [
        broker.client_kill_filter(_id=client["id"])
        for client in broker.client_list()
        if int(client["db"]) == number and int(client["id"]) != mine
    ]
    assert cut, "no connection was cut: nothing was tested"

    check_whole(until_over(served, run, sweep=True), 3000)


def test_a_worker_whose_card_fails_ends_and_costs_no_job(served: Installation, workers: Workers):
    run = act(served, "plan", 1000)
    sick = workers.start("tests.processes.sick")
    act(served, "ring", run)
    assert sick.wait() == 1
    left = act(served, "count", run)
    assert (left["state"], left["tries"].keys() - {"0", "1"}) == ("running", set())
    assert left["jobs"].keys() == {"done", "pending"}
    workers.start()
    workers.start("tests.processes.sick")
    check_whole(until_over(served, run), 1000)
    assert len(act(served, "ill")) >= 1
    assert "illegal memory access" in act(served, "ill")[0]


def test_a_sweep_does_not_ring_while_a_message_waits_nor_for_what_does_not_run(served: Installation):
    run = act(served, "plan", 5)
    assert [act(served, "sweep") for _ in range(3)] == [1, 0, 0]
    assert redis.Redis.from_url(BROKER).llen("gpu") == 1
    redis.Redis.from_url(BROKER).flushdb()
    act(served, "change", run, "paused")
    assert act(served, "sweep") == 0


def test_the_worker_command_sweeps(served: Installation, workers: Workers):
    run = act(served, "plan", 50)
    workers.start()
    sweeper = served.python("manage.py", "worker")
    try:
        check_whole(until_over(served, run), 50)
    finally:
        sweeper.terminate()
        sweeper.wait()


def test_a_worker_that_is_told_to_end_does_so_after_the_batch(served: Installation, workers: Workers):
    served.env["JOB_SLICE_SECONDS"] = "600"
    run = act(served, "plan", 20_000)
    worker = workers.start()
    act(served, "ring", run)
    until_done(served, run, 100)
    worker.send_signal(signal.SIGTERM)
    worker.wait()
    counted = act(served, "count", run)
    assert 0 < counted["jobs"]["done"] < 20_000
    assert "claimed" not in counted["jobs"]
    assert set(counted["tries"]) == {"0", "1"}
