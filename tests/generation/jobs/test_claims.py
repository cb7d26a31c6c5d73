"""Claims: a job is one worker's at a time, a try is counted before it begins, and the key is the fence."""

from __future__ import annotations

from datetime import timedelta
from threading import Barrier, Event, Thread

import pytest
from django.db import connection, transaction
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import TaskKind
from generation.jobs.services import claims
from generation.models import Job, Run, RunState
from tests import factories
from tests.generation.answers.answered import a_run
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
    run_of_pictures(1)
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


def test_a_run_that_ends_is_announced_with_how_many_of_its_jobs_failed(run, monkeypatch):
    told = []
    monkeypatch.setattr(claims.events, "announce", lambda **said: told.append(said))
    study = factories.study()
    factories.task(study, kind=TaskKind.DEPICTION, image_set=run.image_set)
    run.jobs.filter(number__gt=2).delete()
    run_of_pictures(3).jobs.update(state=JobState.FAILED, error="no", finished_at=NOW)
    run.jobs.filter(number=1).update(state=JobState.FAILED, error="no", finished_at=NOW)
    run.jobs.filter(number=2).update(state=JobState.DONE, image=factories.image(), finished_at=NOW)
    assert claims.close_run(run_id=run.pk)
    data = {"run": run.pk, "kind": "images", "image_set": run.image_set_id, "failed_jobs": 1}
    assert told == [{"study_id": study.pk, "event": "run.finished", "data": data}]


def test_a_paused_run_is_not_closed_and_is_not_paused_again(db):
    run = run_of_pictures(0, state=RunState.PAUSED)
    assert not claims.close_run(run_id=run.pk)
    assert not claims.pause_run(run_id=run.pk, error="no weights")
    assert Run.objects.get(pk=run.pk).error == ""


def test_what_a_worker_gave_back_is_left_to_others_for_the_length_of_a_lease(run, settings):
    settings.JOB_LEASE_SECONDS = 60
    claim(run, 6).release(not_before=NOW)

    def mine(seconds):
        with transaction.atomic():
            found = claims.claim(
                run_id=run.pk, limit=6, worker="here 1", leave_own=True, now=NOW + timedelta(seconds=seconds)
            )
            transaction.set_rollback(True)
        return len(found.jobs) if found else 0

    assert [mine(59), mine(61)] == [0, 6]
    run.jobs.filter(number=1).update(not_before=None)
    assert mine(59) == 1, "it was not begun"


@pytest.mark.parametrize(
    ("failed", "waiting", "done", "fails"),
    [(10, 0, 9, True), (10, 0, 10, False), (9, 0, 0, False), (4, 6, 9, True)],
)
def test_a_run_mostly_fails_when_more_jobs_failed_than_are_done(db, failed, waiting, done, fails):
    run = a_run(state=RunState.RUNNING)
    states = [(JobState.FAILED, 3, "no")] * failed + [(JobState.PENDING, 1, "no")] * waiting
    states += [(JobState.DONE, 1, "")] * done
    # given back by a worker that was not to blame, or could not reach the storage: no failure
    states += [(JobState.PENDING, 0, "the storage is away"), (JobState.PENDING, 1, "")] * 5
    Job.objects.bulk_create(
        Job(
            run=run,
            key=str(n),
            number=1,
            state=state,
            attempts=attempts,
            error=error and f"{error} {n}",
            finished_at=NOW,
        )
        for n, (state, attempts, error) in enumerate(states)
    )
    other = run_of_pictures(20)
    other.jobs.update(state=JobState.FAILED, error="elsewhere")
    assert ("The first error: no 0 " in claims.mostly_fails(run.pk)) is fails
    assert bool(claims.mostly_fails(run.pk)) is fails


def test_who_holds_a_run_back_claims_nothing_earlier_and_touches_no_other_job(run):
    soon, late = NOW + timedelta(hours=1), NOW + timedelta(hours=2)
    held = claim(run, 1)
    run.jobs.filter(number=2).update(not_before=late)
    run.jobs.filter(number=3).update(not_before=NOW)
    run.jobs.filter(number=4).update(state=JobState.FAILED, error="no", finished_at=NOW)
    other = run_of_pictures(1)
    claims.hold_back(run_id=run.pk, until=soon)
    found = list(run.jobs.order_by("number").values_list("not_before", flat=True))
    assert found == [None, late, soon, None, soon, soon]
    assert held.held().count() == 1
    assert other.jobs.get().not_before is None


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
