"""Claims: a job is one worker's at a time, a try is counted before it begins, and the key is the fence."""

from __future__ import annotations

from datetime import timedelta
from threading import Barrier, Event, Thread

import pytest
from django.db import connection, transaction
from django.utils import timezone

from annotation.core.leases import JobState
from generation.jobs.services import claims
from generation.models import Job, Run, RunState
from tests.generation.jobs.world import run_of_pictures
from tests.waiting import PATIENCE_SECONDS

NOW = timezone.now()


def claim(run, limit=4, *, now=NOW, worker="here 1"):
    return claims.claim(run_id=run.pk, limit=limit, worker=worker, now=now)


def states(run):
    return [job.state for job in run.jobs.order_by("pk")]


@pytest.fixture
def run(db):
    return run_of_pictures(6)


@pytest.mark.parametrize("state", [RunState.PLANNED, RunState.PAUSED, RunState.CANCELLED, RunState.DONE])
def test_nothing_is_claimed_of_a_run_that_does_not_run(db, state):
    assert claim(run_of_pictures(1, state=state)) is None


def test_a_failed_try_is_made_again_after_a_pause_that_doubles_and_parked_after_the_third(run, settings):
    settings.JOB_RETRY_SECONDS = 10
    Job.objects.exclude(number=1).delete()
    now = NOW
    for pause in (10, 20):
        mine = claim(run, now=now)
        mine.fail({mine.jobs[0].pk: "it rained"}, now=now)
        job = run.jobs.get()
        assert (job.state, job.error, job.not_before) == (
            JobState.PENDING,
            "it rained",
            now + timedelta(seconds=pause),
        )
        assert claim(run, now=now + timedelta(seconds=pause - 1)) is None
        now += timedelta(seconds=pause)
    mine = claim(run, now=now)
    mine.fail({mine.jobs[0].pk: "it rained"}, now=now)
    job = run.jobs.get()
    assert (job.state, job.error, job.not_before, job.attempts) == (JobState.FAILED, "it rained", None, 3)
    assert claim(run, now=now + timedelta(days=1)) is None


def test_a_run_is_done_when_nothing_is_open_and_not_before(run):
    mine = claim(run, 6)
    assert not claims.close_run(run_id=run.pk)
    mine.fail({job.pk: "no" for job in mine.jobs})
    assert not claims.close_run(run_id=run.pk), "what waits for another try is open"
    run.jobs.update(state=JobState.FAILED, not_before=None)
    assert claims.close_run(run_id=run.pk)
    assert not claims.close_run(run_id=run.pk)
    run.refresh_from_db()
    assert (run.state, run.finished_at is not None) == (RunState.DONE, True)


def test_a_paused_run_is_not_closed_and_is_not_paused_again(db):
    run = run_of_pictures(0, state=RunState.PAUSED)
    assert not claims.close_run(run_id=run.pk)
    assert not claims.pause_run(run_id=run.pk, error="no weights")
    assert Run.objects.get(pk=run.pk).error == ""


@pytest.mark.django_db(transaction=True)
def test_many_who_claim_at_once_never_get_the_same_job():
    run = run_of_pictures(60)
    taken, barrier = [], Barrier(6)

    def take():
        barrier.wait()
        try:
            # who finds everything locked by the others asks again
            for _ in range(40):
                if mine := claim(run, 4):
                    taken.append([job.pk for job in mine.jobs])
        finally:
            connection.close()

    threads = [Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flat = [pk for part in taken for pk in part]
    assert len(flat) == len(set(flat)) == 60
    assert set(run.jobs.values_list("attempts", flat=True)) == {1}


@pytest.mark.django_db(transaction=True)
def test_a_renewal_passes_over_what_is_being_completed():
    """Else the thread that completes and the one that renews wait for each other's rows for ever."""
    if not connection.features.has_select_for_update_skip_locked:
        pytest.skip("NO ROW LOCKS: SQLite has one writer at a time, so none can wait for another's row")
    run = run_of_pictures(6)
    mine = claim(run, 6)
    held, let_go = Event(), Event()

    def complete():
        try:
            with transaction.atomic():
                list(mine.held([job.pk for job in mine.jobs[2:4]]).select_for_update())
                held.set()
                assert let_go.wait(PATIENCE_SECONDS)
        finally:
            connection.close()

    thread = Thread(target=complete)
    thread.start()
    assert held.wait(PATIENCE_SECONDS)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '5s'")
    try:
        assert mine.renew() == 4
    finally:
        let_go.set()
        thread.join()


def test_the_cost_of_a_claim_does_not_grow_with_the_run(db, django_assert_num_queries):
    for size in (10, 300):
        run = run_of_pictures(size)
        run.jobs.filter(number__lte=size - 5).update(attempts=1, state=JobState.FAILED, error="no")
        with django_assert_num_queries(7):
            assert len(claim(run, 5).jobs) == 5
