"""Servers restarted under workers: PostgreSQL as after a crash, Redis with all it held gone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.processes.conftest import Installation
from tests.processes.servers import Postgres, Redis, broker, migrated_postgres, postgres
from tests.processes.test_generation_celery import Workers, until_done, until_over
from tests.processes.test_generation_kills import act, check_whole

__all__ = ["broker", "migrated_postgres", "postgres"]  # fixtures

pytestmark = [
    pytest.mark.processes,
    pytest.mark.real_time,
    pytest.mark.timeout(480),  # each starts a PostgreSQL server of its own
    pytest.mark.skipif(
        not os.environ.get("CELERY_BROKER_URL"),
        reason="NO BROKER: CELERY_BROKER_URL is not set, no server was restarted",
    ),
]


@pytest.fixture
def served(tmp_path: Path, postgres: Postgres, broker: Redis) -> Installation:
    return Installation(
        {
            **os.environ,
            "VAR_DIR": str(tmp_path / "var"),
            "STATIC_MANIFEST": "no",
            "DATABASE_URL": postgres.url,
            "CELERY_BROKER_URL": broker.url,
            "DJANGO_SETTINGS_MODULE": "visage_app.settings",
            "JOB_LEASE_SECONDS": "5",
            "JOB_RETRY_SECONDS": "1",
            "JOB_SLICE_SECONDS": "2",
        }
    )


@pytest.fixture
def workers(served: Installation) -> Iterator[Workers]:
    made = Workers(served)
    yield made
    made.end()


def test_postgresql_that_crashes_and_comes_back_loses_nothing(served, postgres: Postgres, workers: Workers):
    run = act(served, "plan", 6000)
    both = [workers.start(), workers.start()]
    act(served, "ring", run)
    until_done(served, run, 100)
    for pause in (0.5, 3):
        postgres.crash()
        time.sleep(pause)
        postgres.start()
        time.sleep(1)
    with psycopg.connect(postgres.url) as connection:
        [(made,)] = connection.execute("SELECT count(*) FROM generation_job WHERE state = 'done'").fetchall()
    assert 0 < made < 6000, "the run was over before: nothing was tested"
    check_whole(until_over(served, run, sweep=True), 6000)
    assert [worker.poll() for worker in both] == [None, None], "a worker did not outlive its database"


def test_redis_that_is_killed_and_comes_back_empty_loses_nothing(served, broker: Redis, workers: Workers):
    run = act(served, "plan", 6000)
    both = [workers.start(), workers.start()]
    act(served, "ring", run)
    until_done(served, run, 100)
    broker.kill()
    time.sleep(3)
    broker.start()
    check_whole(until_over(served, run, sweep=True), 6000)
    assert [worker.poll() for worker in both] == [None, None], "a worker did not outlive its broker"
