"""Messages: one more when the queue is empty, none for runs that do not run, none lost with an error."""

from __future__ import annotations

import pytest
from django.conf import settings as configured
from django.db import transaction

from generation.jobs import tasks
from generation.models import RunState
from tests.generation.jobs.world import run_of_pictures


@pytest.fixture
def sent(db, settings, monkeypatch):
    """The run ids that messages were sent for; the queue holds as many."""
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    messages: list[int] = []
    monkeypatch.setattr(tasks, "queued_messages", lambda: len(messages))
    monkeypatch.setattr(tasks.work_slice, "delay", messages.append)
    return messages


def test_the_work_of_models_has_its_own_queue():
    assert configured.CELERY_TASK_ROUTES[tasks.work_slice.name] == {"queue": tasks.QUEUE}


def test_a_slice_that_leaves_work_sends_a_message_and_one_more_into_an_empty_queue(sent, settings):
    settings.JOB_SLICE_SECONDS = 0
    run = run_of_pictures(3)
    tasks.work_slice(run.pk)
    assert sent == [run.pk, run.pk], "one for an idle worker, one for what is left"
    taken = sent.pop()
    tasks.work_slice(taken)
    assert sent == [run.pk, run.pk], "messages multiply"


def test_a_slice_that_leaves_nothing_is_silent(sent):
    run = run_of_pictures(3)
    sent.append(0)
    tasks.work_slice(run.pk)
    assert sent == [0]
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_a_message_of_a_run_that_is_gone_or_paused_does_nothing(sent):
    tasks.work_slice(4711)
    tasks.work_slice(run_of_pictures(2, state=RunState.PAUSED).pk)
    assert sent == []


@pytest.mark.parametrize("state", [RunState.PLANNED, RunState.PAUSED, RunState.DONE])
def test_no_message_is_sent_for_a_run_that_does_not_run(sent, state, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        tasks.enqueue(run_of_pictures(1, state=state))
    assert sent == []


def test_the_message_is_sent_when_the_run_is_committed(sent, django_capture_on_commit_callbacks):
    run = run_of_pictures(1)
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        tasks.enqueue(run)
        assert sent == []
    assert sent == [run.pk]


def test_a_broker_that_is_down_fails_nobody_who_starts_a_run(
    sent, monkeypatch, django_capture_on_commit_callbacks, caplog
):
    def away(run_id):
        raise ConnectionError("no broker")

    monkeypatch.setattr(tasks.work_slice, "delay", away)
    with django_capture_on_commit_callbacks(execute=True):
        tasks.enqueue(run_of_pictures(1))
    assert "no broker" in caplog.text


def test_without_a_broker_no_message_is_sent(sent, settings, django_capture_on_commit_callbacks):
    settings.CELERY_BROKER_URL = ""
    with django_capture_on_commit_callbacks(execute=True):
        tasks.enqueue(run_of_pictures(1))
    assert sent == []


def test_a_sweep_sends_one_message_for_each_run_with_work_and_only_into_an_empty_queue(sent):
    first, second = run_of_pictures(1), run_of_pictures(1)
    run_of_pictures(1, state=RunState.PAUSED)
    assert tasks.sweep() == 2
    assert sent == [first.pk, second.pk]
    assert tasks.sweep() == 0
    assert len(sent) == 2
