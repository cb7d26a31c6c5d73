"""Bells: a message more when the queue is empty, none for what does not run, and none lost with an error."""

from __future__ import annotations

import pytest
from django.conf import settings as configured
from django.db import transaction

from generation.jobs import tasks
from generation.models import RunState
from tests.generation.jobs.world import run_of_pictures


@pytest.fixture
def rung(db, settings, monkeypatch):
    """What was rung for; the queue holds as many."""
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    messages: list[int] = []
    monkeypatch.setattr(tasks, "waiting", lambda: len(messages))
    monkeypatch.setattr(tasks.work_slice, "delay", messages.append)
    return messages


def test_the_work_of_models_has_its_own_queue():
    assert configured.CELERY_TASK_ROUTES[tasks.work_slice.name] == {"queue": tasks.QUEUE}


def test_a_slice_that_leaves_work_rings_again_and_once_more_where_nobody_waits(rung, settings):
    settings.JOB_SLICE_SECONDS = 0
    run = run_of_pictures(3)
    tasks.work_slice(run.pk)
    assert rung == [run.pk, run.pk], "one for an idle worker, one for what is left"
    taken = rung.pop()
    tasks.work_slice(taken)
    assert rung == [run.pk, run.pk], "messages multiply"


def test_a_slice_that_leaves_nothing_is_silent(rung):
    run = run_of_pictures(3)
    rung.append(0)
    tasks.work_slice(run.pk)
    assert rung == [0]
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_a_message_of_a_run_that_is_gone_or_paused_does_nothing(rung):
    tasks.work_slice(4711)
    tasks.work_slice(run_of_pictures(2, state=RunState.PAUSED).pk)
    assert rung == []


@pytest.mark.parametrize("state", [RunState.PLANNED, RunState.PAUSED, RunState.DONE])
def test_a_run_that_does_not_run_is_not_rung_for(rung, state, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        tasks.ring(run_of_pictures(1, state=state))
    assert rung == []


def test_it_rings_when_the_run_is_committed(rung, django_capture_on_commit_callbacks):
    run = run_of_pictures(1)
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        tasks.ring(run)
        assert rung == []
    assert rung == [run.pk]


def test_a_broker_that_is_away_fails_nobody_who_starts_a_run(
    rung, monkeypatch, django_capture_on_commit_callbacks, caplog
):
    def away(run_id):
        raise ConnectionError("no broker")

    monkeypatch.setattr(tasks.work_slice, "delay", away)
    with django_capture_on_commit_callbacks(execute=True):
        tasks.ring(run_of_pictures(1))
    assert "no broker" in caplog.text


def test_without_a_broker_nobody_is_rung_for(rung, settings, django_capture_on_commit_callbacks):
    settings.CELERY_BROKER_URL = ""
    with django_capture_on_commit_callbacks(execute=True):
        tasks.ring(run_of_pictures(1))
    assert rung == []


def test_a_sweep_rings_once_for_each_run_with_work_and_only_into_an_empty_queue(rung):
    first, second = run_of_pictures(1), run_of_pictures(1)
    run_of_pictures(1, state=RunState.PAUSED)
    assert tasks.sweep() == 2
    assert rung == [first.pk, second.pk]
    assert tasks.sweep() == 0
    assert len(rung) == 2
