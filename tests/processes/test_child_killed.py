"""The kernel that needs memory kills a child of the Celery worker, not the worker: what it had in hand is
done once all the same, and nobody has to look."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from benchmarks import composed
from tests.processes.conftest import ROOT, Installation
from tests.processes.servers import Redis, broker
from tests.processes.test_celery import RING
from tests.waiting import PATIENCE_SECONDS, wait_for

__all__ = ["broker"]  # a fixture
pytestmark = [
    pytest.mark.processes,
    pytest.mark.real_time,
    pytest.mark.skipif(
        not os.environ.get("DATABASE_URL", "").startswith("postgresql"),
        reason="NOT POSTGRESQL: no child of a Celery worker was killed",
    ),
]
WAITING = """
    SELECT client_port FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
"""
RUN = "SELECT state, attempts FROM metrics_scorerun"


def test_what_a_killed_child_had_in_hand_is_done_once(installation: Installation, broker: Redis):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    settings = {"DJANGO_SETTINGS_MODULE": "visage_app.settings", "PATH": path}
    installation.env |= {"CELERY_BROKER_URL": broker.url, **settings}
    [enrolment] = installation.act("set_up", 2, 1, "any")
    installation.act("annotate_together", enrolment, 1, installation.env["VAR_DIR"], 0)
    installation.run("-c", RING)
    started: list[psutil.Popen] = []

    def start(service: str) -> psutil.Popen:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started.append(psutil.Popen(composed.command(service), cwd=ROOT, env=installation.env, **quiet))
        return started[-1]

    url = installation.env["DATABASE_URL"]
    try:
        with psycopg.connect(url, autocommit=True) as watch, psycopg.connect(url) as holding:

            def run() -> tuple[str, int]:
                [found] = watch.execute(RUN).fetchall()
                return found

            # whoever computes waits here, with the run in hand
            holding.execute("LOCK TABLE annotation_judgement IN ACCESS EXCLUSIVE MODE")
            worker = start("worker")
            wait_for(lambda: run() == ("claimed", 1), "nobody took the run")
            [[port]] = wait_for(lambda: watch.execute(WAITING).fetchall(), "nobody computes it")
            children = worker.children()
            assert len(children) == 2
            [child] = [one for one in children if port in {each.laddr.port for each in one.net_connections()}]
            child.kill()
            watch.execute("UPDATE metrics_scorerun SET lease_expires_at = now()")
            holding.rollback()
            wait_for(
                lambda: {*worker.children()} != {*children} and len(worker.children()) == 2, "no new child"
            )
            assert run() == ("claimed", 1), "it was not in the hands of who was killed"
            start("beat")
            wait_for(lambda: run()[0] == "done", "nobody took it up again")
            assert run() == ("done", 2)
            assert watch.execute("SELECT count(*) FROM metrics_score").fetchone() > (0,)
        assert worker.is_running()
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(timeout=PATIENCE_SECONDS)
