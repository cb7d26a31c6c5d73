"""Workers killed with -9, connections and room lost: nothing is lost, nothing is made twice."""

from __future__ import annotations

import signal
import time

import psutil
import psycopg
import pytest

from tests.processes import drills, mounts
from tests.processes.conftest import Installation, finish
from tests.processes.starts import Started
from tests.waiting import wait_for

pytestmark = [pytest.mark.processes, pytest.mark.real_time]
STEPS = ("claiming", "claimed", "generating", "writing", "written", "completing", "completed")


def start(installation: Installation, actor: str, *arguments: object) -> Started:
    return installation.start(actor, *arguments, of="makers")


def act(installation: Installation, actor: str, *arguments: object):
    return finish(start(installation, actor, *arguments))


@pytest.fixture
def workshop(installation: Installation) -> Installation:
    """Where a worker that died is noticed after five seconds."""
    installation.env |= {
        "DJANGO_SETTINGS_MODULE": "visage_app.settings",
        "JOB_LEASE_SECONDS": "5",
        "JOB_RETRY_SECONDS": "1",
        "JOB_SLICE_SECONDS": "2",
    }
    return installation


def check_whole(counted, number: int) -> None:
    assert counted["state"] == "done", counted
    assert counted["jobs"] == {"done": number}, counted
    assert counted["images"] == counted["provenances"] == number
    assert counted["doubled"] == 0
    assert counted["damaged"] == []


def test_a_worker_killed_at_any_step_loses_nothing_and_doubles_nothing(workshop: Installation):
    run = act(workshop, "plan", 300)
    for step in STEPS[:-1]:
        process = start(workshop, "make", run, step)
        process.communicate()
        assert process.returncode == -signal.SIGKILL, f"nobody died {step}"
        counted = act(workshop, "count", run)
        assert counted["doubled"] == 0
        assert counted["damaged"] == [], f"a row without its file after dying {step}"
        assert counted["images"] == counted["provenances"] == counted["jobs"].get("done", 0), step
    process = start(workshop, "make", run, "completed")
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    counted = act(workshop, "count", run)
    assert (counted["state"], counted["jobs"]) == ("running", {"done": 300}), "all made, and nobody said so"
    act(workshop, "make", run)
    counted = act(workshop, "count", run)
    check_whole(counted, 300)
    assert set(counted["tries"]) == {"1", "2"}, "each job was in one worker's hands when it died, at most"
    assert counted["half_written"] > 0, "nobody died in the middle of a file"
    assert counted["without_a_row"] == 0, "half a file bears a picture's name"


def test_a_job_that_kills_its_workers_is_parked_and_the_others_are_made(workshop: Installation, tmp_path):
    run = act(workshop, "plan", 8)
    for _ in range(2):
        process = start(workshop, "make", run, "generating")
        process.communicate()
    act(workshop, "make", run)
    check_whole(act(workshop, "count", run), 8)


def test_workers_killed_at_random_while_two_work_on_one_run(workshop: Installation):
    number, dice = 600, drills.dice(5)
    run = act(workshop, "plan", number)
    workers = [start(workshop, "make", run, "", 0.05) for _ in range(2)]
    killed = made = 0
    for _ in range(5):
        made += dice.randint(10, 60)
        act(workshop, "until", run, "done", made)
        victim = dice.randrange(2)
        workers[victim].send_signal(signal.SIGKILL)
        workers[victim].communicate()
        killed += workers[victim].returncode == -signal.SIGKILL
        workers[victim] = start(workshop, "make", run, "", 0.05)
    done = [finish(worker) for worker in workers]
    assert killed >= 3, "every worker had ended before its kill: nothing was tested"
    assert sum(done) <= number
    check_whole(act(workshop, "count", run), number)


def test_two_workers_share_one_run_and_make_each_picture_once(workshop: Installation, tmp_path):
    # nobody dies, and however slow they are nobody is taken for dead
    workshop.env["JOB_LEASE_SECONDS"] = "600"
    run = act(workshop, "plan", 400)
    both = [start(workshop, "make", run, "", 0.2, tmp_path / "start") for _ in range(2)]
    done = [finish(worker) for worker in both]
    assert sum(done) == 400
    assert min(done) > 50, "one of them had nothing to do"
    counted = act(workshop, "count", run)
    check_whole(counted, 400)
    assert counted["tries"] == {"1": 400}
    assert counted["without_a_row"] == 0


def test_a_worker_that_sleeps_through_its_lease_keeps_nothing_of_what_others_have_made(
    workshop: Installation,
):
    run = act(workshop, "plan", 100)
    sleeper = start(workshop, "make", run, "asleep")
    wait_for(lambda: psutil.Process(sleeper.pid).status() == psutil.STATUS_STOPPED, "it never slept")
    theirs = act(workshop, "make", run)
    check_whole(act(workshop, "count", run), 100)
    sleeper.send_signal(signal.SIGCONT)
    slept = finish(sleeper)
    counted = act(workshop, "count", run)
    check_whole(counted, 100)
    assert theirs + slept == 100, "a job was counted twice, or by nobody"
    assert counted["tries"].get("2", 0) > 0, "it held nothing while it slept: nothing was tested"
    assert counted["without_a_row"] == 0, "the same picture came out under two names"


def test_a_worker_outlives_its_database_connection(workshop: Installation):
    url = workshop.env.get("DATABASE_URL", "")
    if not url:
        pytest.skip("NO CONNECTION TO LOSE: SQLite is a file; PostgreSQL was not tried in this pass")
    run = act(workshop, "plan", 300)
    worker = start(workshop, "make", run, "", 0.1)
    cut = 0
    with psycopg.connect(url, autocommit=True) as connection:
        deadline = time.monotonic() + 120
        while cut < 4 and worker.poll() is None:
            assert time.monotonic() < deadline, f"{cut} connections were cut"
            act(workshop, "until", run, "done", 30 * (cut + 1))
            [(number,)] = connection.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            cut += number
    finish(worker)
    assert cut >= 2, "no connection was cut: nothing was tested"
    check_whole(act(workshop, "count", run), 300)


def test_a_disk_that_fills_up_stops_nothing_for_good(workshop: Installation):
    mounts.check_allowed()
    run = act(workshop, "plan", 150)
    found = act(workshop, "make_on_a_small_disk", run)
    assert found["waiting"] > 0, "there was room enough: nothing was tested"
    assert found["tries"] == [0], "a full disk used up a try"
    before = found["before"]
    assert before["damaged"] == []
    assert before["images"] == before["jobs"]["done"] < 150
    assert before["half_written"] == 0
    check_whole(found["after"], 150)


def test_a_run_paused_in_the_middle_stops_and_goes_on_where_it_was(workshop: Installation):
    # more than it makes until a slow machine has started the process that pauses it
    number = 300
    workshop.env["JOB_LEASE_SECONDS"] = "600"
    run = act(workshop, "plan", number)
    worker = start(workshop, "make", run, "", 0.3)
    act(workshop, "until", run, "done", 8)
    act(workshop, "change", run, "paused")
    done = finish(worker)
    counted = act(workshop, "count", run)
    assert 0 < done < number
    assert counted["jobs"] == {"done": done, "pending": number - done}
    assert set(counted["tries"]) == {"0", "1"}, "pausing used up a try"
    act(workshop, "change", run, "running")
    assert act(workshop, "make", run) == number - done
    counted = act(workshop, "count", run)
    check_whole(counted, number)
    assert counted["tries"] == {"1": number}


def test_the_embedded_worker_finds_the_run_and_ends_after_the_batch_when_told_to(workshop):
    number, before = 30_000, 0
    run = act(workshop, "plan", number)
    for told in (signal.SIGTERM, signal.SIGINT):
        worker = workshop.python("manage.py", "worker", "--queue", "gpu")
        try:
            act(workshop, "until", run, "done", before + 1)
            worker.send_signal(told)
            said, _ = worker.communicate()
        finally:
            worker.kill()
        assert "The worker has stopped." in said
        counted = act(workshop, "count", run)
        assert before < counted["images"] < number
        assert "claimed" not in counted["jobs"], "it left jobs that nobody does until their lease is over"
        assert set(counted["tries"]) == {"0", "1"}
        before = counted["jobs"]["done"]
