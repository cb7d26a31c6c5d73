"""`manage.py worker`: finds waiting jobs in the database, survives errors, stops when told to."""

import logging
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.assignment.services import slots
from annotation.core.leases import JobState
from annotation.models import SlotState
from generation.jobs import tasks
from metrics.models import ScoreRun
from metrics.score_runs import services as score_runs
from metrics.score_runs import tasks as score_tasks
from tests import factories
from tests.generation.jobs.world import run_of_pictures
from tests.processes.conftest import copy_file, embedded, migrated_file
from tests.waiting import PATIENCE_SECONDS
from visage_app.management.commands import worker

__all__ = ["migrated_file"]  # a fixture


@pytest.fixture
def waiting_run(db):
    study = factories.study()
    return score_runs.request(study=study, metric="tendency", variant="corrected")


def test_a_waiting_score_run_is_computed(waiting_run):
    call_command("worker", "--once")
    assert ScoreRun.objects.get().state == JobState.DONE


def test_a_running_run_is_worked_on(db):
    run = run_of_pictures(3)
    call_command("worker", "--once")
    run.refresh_from_db()
    assert (run.state, run.jobs.filter(state="done").count()) == ("done", 3)


def test_each_queue_leaves_the_others_work_alone(waiting_run):
    run = run_of_pictures(3)
    call_command("worker", "--once", "--queue", "default")
    run.refresh_from_db()
    assert (run.state, ScoreRun.objects.get().state) == ("running", JobState.DONE)
    ScoreRun.objects.update(state=JobState.PENDING, finished_at=None)
    call_command("worker", "--once", "--queue", "gpu")
    run.refresh_from_db()
    assert (run.state, ScoreRun.objects.get().state) == ("done", JobState.PENDING)


def test_with_a_broker_there_is_no_embedded_worker_of_models(db, settings):
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    with pytest.raises(CommandError, match="celery -A visage_app worker -Q gpu"):
        call_command("worker", "--once", "--queue", "gpu")


def test_with_a_broker_it_rings_for_runs_and_a_broker_that_is_away_costs_nothing(
    db, settings, monkeypatch, caplog
):
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    run = run_of_pictures(3)
    rung = []
    monkeypatch.setattr(tasks, "queued_messages", lambda: 0)
    monkeypatch.setattr(tasks.work_slice, "delay", rung.append)
    call_command("worker", "--once")
    assert rung == [run.pk]
    assert run.jobs.filter(state="pending").count() == 3

    def away():
        raise ConnectionError("no broker")

    monkeypatch.setattr(tasks, "queued_messages", away)
    with caplog.at_level(logging.ERROR):
        call_command("worker", "--once")
    assert "sending lost messages again failed" in caplog.text


def test_an_expired_lease_goes_back_to_the_queue(db):
    study = factories.study()
    factories.attribute_unit(factories.task(study))
    enrolment = factories.enrolment(study)
    slot = slots.lease_next(enrolment=enrolment, now=timezone.now() - timedelta(days=1))
    assert slot.state == SlotState.LEASED
    call_command("worker", "--once")
    slot.refresh_from_db()
    assert slot.state == SlotState.OPEN


def test_what_a_killed_writer_left_is_deleted(db, settings):
    left = Path(settings.MEDIA_ROOT) / "images" / ".part-x"
    left.parent.mkdir(parents=True, exist_ok=True)
    left.touch()
    os.utime(left, (0, 0))
    call_command("worker", "--once")
    assert not left.exists()


def test_with_a_broker_it_leaves_the_scores_to_celery_and_says_so(waiting_run, settings, capsys, monkeypatch):
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    rung = []
    monkeypatch.setattr("annotation.core.broker.message_count", lambda queue: 0)
    monkeypatch.setattr(score_tasks.compute_score_run, "delay", rung.append)
    call_command("worker", "--once")
    assert ScoreRun.objects.get().state == JobState.PENDING
    assert rung == [waiting_run.pk]
    assert "Celery's workers" in capsys.readouterr().out


def test_a_duty_that_fails_is_logged_and_the_others_are_done(waiting_run, monkeypatch, caplog):
    def broken():
        raise RuntimeError("no such luck")

    monkeypatch.setattr(worker, "_release", broken)
    with caplog.at_level(logging.ERROR):
        call_command("worker", "--once")
    assert "returning expired leases failed" in caplog.text
    assert ScoreRun.objects.get().state == JobState.DONE


def test_it_rests_only_when_nothing_was_done(db, monkeypatch):
    command, done, rested = worker.Command(), [2, 1, 0], []

    def rest(seconds):
        rested.append(done.copy())
        command._stopping = True

    monkeypatch.setattr(worker, "time", SimpleNamespace(sleep=rest))
    monkeypatch.setattr(worker.workers, "reporting", lambda queue: nullcontext())
    command._repeat([("counting", lambda: done.pop(0))], queue="default", once=False)
    assert rested == [[]]


def test_a_run_that_always_fails_does_not_keep_the_worker_from_the_next(db, monkeypatch):
    bad = score_runs.request(study=factories.study(), metric="tendency", variant="corrected")
    good = score_runs.request(study=factories.study(), metric="tendency", variant="corrected")
    evaluate = score_runs.evaluate

    def sometimes(**arguments):
        if arguments["study"].pk == bad.study_id:
            raise RuntimeError("cannot be computed")
        return evaluate(**arguments)

    monkeypatch.setattr(score_runs, "evaluate", sometimes)
    for _ in range(4):
        call_command("worker", "--once")
    assert ScoreRun.objects.get(pk=good.pk).state == JobState.DONE
    assert ScoreRun.objects.get(pk=bad.pk).state == JobState.FAILED


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_told_to(tmp_path, migrated_file, number):
    copy_file(migrated_file, tmp_path)
    broker = "redis://127.0.0.1:1/0"
    environment = {**embedded(tmp_path), "PYTHONUNBUFFERED": "1", "CELERY_BROKER_URL": broker}
    manage = [sys.executable, str(django_settings.BASE_DIR / "manage.py")]
    process = subprocess.Popen([*manage, "worker"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert "Celery's workers" in process.stdout.readline()
        process.send_signal(number)
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
    assert "The worker has stopped." in said
    assert process.returncode == 0
