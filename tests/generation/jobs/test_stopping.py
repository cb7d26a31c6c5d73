"""When a worker stops, and what it keeps of what is no longer its own."""

from __future__ import annotations

from datetime import timedelta
from threading import Event, current_thread

import pytest
from django.db import connection
from django.utils import timezone

from annotation.core import heartbeat as pulse
from annotation.core import leases
from annotation.core.leases import JobState
from generation.jobs.services import claims, session, work
from generation.jobs.services.turn import Turn
from generation.models import Job, Run, RunState
from generation.runs import services as runs
from tests.generation.jobs.world import RECIPE, counted, nobody_is_disturbed, run_of_pictures, state
from tests.waiting import PATIENCE_SECONDS, wait_for


def test_who_overslept_keeps_nothing(model, monkeypatch):
    """The lease is over and the job another's by the time that the picture is made."""
    run = run_of_pictures(4)
    complete = leases.Claim.held
    took = []

    def oversleep(claimed, ids=None):
        if not took:
            late = timezone.now() + timedelta(days=1)
            took.append(claims.claim(run_id=run.pk, limit=1, worker="other", now=late))
        return complete(claimed, ids)

    monkeypatch.setattr(leases.Claim, "held", oversleep)
    assert work.work(run_id=run.pk) == 3
    [theirs] = took[0].jobs
    job = Job.objects.get(pk=theirs.pk)
    assert (job.state, job.claim, job.image) == (JobState.CLAIMED, took[0].key, None)
    nobody_is_disturbed(run)


def test_a_run_that_is_paused_in_the_middle_ends_after_the_batch(model, monkeypatch):
    run = run_of_pictures(80)
    wait = session.wait
    pauses = iter([False, True])

    def waiting(futures, timeout):
        # as a page would, elsewhere, while the device works
        if next(pauses, False):
            Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED)
        return wait(futures, timeout)

    monkeypatch.setattr(session, "wait", waiting)
    done = work.work(run_id=run.pk)
    assert 8 < done <= 24
    assert counted(run) == {"done": done, "pending": 80 - done}
    assert state(run)[0] == RunState.PAUSED
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    work.work(run_id=run.pk)
    assert set(run.jobs.values_list("attempts", "state")) == {(1, JobState.DONE)}
    nobody_is_disturbed(run)


def test_a_batch_that_was_not_begun_when_the_run_was_paused_goes_back(model, monkeypatch):
    run = run_of_pictures(16)
    slow, draw = Event(), model.generate

    def generate(wanted):
        assert slow.wait(PATIENCE_SECONDS)
        return draw(wanted)

    def waiting(futures, timeout):
        Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED)
        if counted(run) == {"claimed": 8, "pending": 8}:
            slow.set()
        return wait(futures, timeout)

    wait = session.wait
    model.generate = generate
    monkeypatch.setattr(session, "wait", waiting)
    assert work.work(run_id=run.pk) == 8
    assert set(run.jobs.values_list("attempts", "state")) == {(1, JobState.DONE), (0, JobState.PENDING)}


def test_a_run_that_is_cancelled_in_the_middle_keeps_what_was_in_hand_and_makes_no_more(model, monkeypatch):
    run = run_of_pictures(40)
    wait = session.wait

    def waiting(futures, timeout):
        run.refresh_from_db()
        if run.state == RunState.RUNNING:
            runs.cancel(run=run, by=None)
        return wait(futures, timeout)

    monkeypatch.setattr(session, "wait", waiting)
    assert work.work(run_id=run.pk) <= 16
    assert state(run)[0] == RunState.CANCELLED
    nobody_is_disturbed(run)


def test_what_was_made_of_a_job_that_is_gone_is_not_kept(model, monkeypatch):
    run = run_of_pictures(8)
    wait = session.wait

    def waiting(futures, timeout):
        run.jobs.filter(number__gt=3).delete()
        return wait(futures, timeout)

    monkeypatch.setattr(session, "wait", waiting)
    assert work.work(run_id=run.pk) == 3
    nobody_is_disturbed(run)


def test_it_stops_after_the_batch_when_asked_and_puts_back_what_was_not_begun(model):
    run = run_of_pictures(80)
    asked = []

    def stopping():
        asked.append(1)
        return len(asked) > 3

    done = work.work(run_id=run.pk, stopping=stopping)
    assert 0 < done < 80
    assert counted(run) == {"done": done, "pending": 80 - done}
    assert set(run.jobs.filter(state=JobState.PENDING).values_list("attempts", flat=True)) == {0}


def test_what_was_not_begun_goes_back_if_the_worker_has_to_end_or_its_run_no_longer_runs(model):
    _other, run = run_of_pictures(1), run_of_pictures(1)
    goes_on, ends = (
        Turn(run, RECIPE, until=None, batches=None, stopping=lambda stop=stop: stop) for stop in (False, True)
    )
    assert [goes_on.must_stop_now(), ends.must_stop_now()] == [False, True]
    Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED)
    assert goes_on.must_stop_now()


def test_it_ends_after_so_many_batches_or_seconds(model):
    run = run_of_pictures(80)
    assert work.work(run_id=run.pk, batches=2) == 16
    assert work.work(run_id=run.pk, seconds=0) == 0
    assert work.work(run_id=run.pk, seconds=60) == 64


@pytest.mark.django_db(transaction=True)
def test_the_leases_of_a_long_batch_are_renewed_by_a_thread_that_closes_its_own_connection(
    model, monkeypatch, settings
):
    settings.JOB_LEASE_SECONDS = 0.3
    run = run_of_pictures(8)
    closed = []

    class Watched:
        def close(self):
            closed.append(current_thread().name)
            connection.close()

    monkeypatch.setattr(pulse, "connection", Watched())
    mine = claims.claim(run_id=run.pk, limit=8, worker="me")
    ends = mine.jobs[0].lease_expires_at
    with leases.Heartbeat() as beat:
        beat.add(mine)
        wait_for(lambda: len(closed) > 2, "the heart does not beat")
        beat.remove(mine)
    assert set(closed) == {"heartbeat"}
    assert run.jobs.first().lease_expires_at > ends
