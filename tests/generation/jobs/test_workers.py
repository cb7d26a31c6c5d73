"""Workers report while they live: that they do, and what of their card's memory is used."""

import os
import socket
import sys
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone

from generation.jobs.services import workers
from generation.models import Worker
from tests.generation.jobs.world import run_of_pictures

pytestmark = pytest.mark.django_db


def torch(*, initialized=True, free=30, total=80):
    return SimpleNamespace(
        cuda=SimpleNamespace(
            is_initialized=lambda: initialized,
            mem_get_info=lambda number: (free + number, total),
            get_device_name=lambda number: "NVIDIA H100",
        )
    )


def test_a_worker_is_one_row_however_often_it_reports():
    begun = timezone.now() - timedelta(hours=1)
    workers.report(queue="gpu", now=begun)
    workers.report(queue="gpu")
    [worker] = Worker.objects.all()
    assert worker.started_at == begun
    assert timezone.now() - worker.seen_at < timedelta(minutes=1)
    assert (worker.queue, worker.device, worker.memory_used) == ("gpu", "", None)
    assert worker.version


def test_one_that_has_long_been_gone_is_forgotten():
    now = timezone.now()
    for name, hours in (("killed today", 23), ("killed yesterday", 25)):
        seen = now - timedelta(hours=hours)
        Worker.objects.create(name=name, queue="default", host="a", started_at=seen, seen_at=seen)
    workers.report(queue="default")
    names = set(Worker.objects.values_list("name", flat=True))
    assert "killed today" in names
    assert "killed yesterday" not in names


def test_one_that_was_killed_is_missed_until_another_took_its_place():
    now = timezone.now()
    here = {"host": socket.gethostname()[:120], "queue": "gpu", "started_at": now - timedelta(hours=1)}
    Worker.objects.create(name="killed", seen_at=now, **here)
    Worker.objects.create(name="elsewhere", seen_at=now, **here | {"host": "another"})
    Worker.objects.create(name="of another queue", seen_at=now, **here | {"queue": "default"})
    Worker.objects.create(name="ill", seen_at=now, ill_at=now, error="It broke.", **here)
    workers.report(queue="gpu", now=now + timedelta(seconds=1))
    assert Worker.objects.filter(name="killed").exists(), "it may live yet"
    workers.report(queue="gpu", now=now + timedelta(minutes=3))
    assert not Worker.objects.filter(name="killed").exists()
    assert Worker.objects.filter(name__in=["elsewhere", "of another queue", "ill"]).count() == 3


def test_one_that_fell_silent_since_this_one_started_is_missed():
    now, host = timezone.now(), socket.gethostname()[:120]
    workers.report(queue="gpu", now=now - timedelta(hours=1))
    seen = now - timedelta(minutes=30)
    Worker.objects.create(name="beside", queue="gpu", host=host, started_at=seen, seen_at=seen)
    workers.report(queue="gpu", now=now)
    assert Worker.objects.filter(name="beside").exists()


def elsewhere(name, *, minutes=0, queue="gpu", **fields):
    seen = timezone.now() - timedelta(minutes=minutes)
    if fields.pop("ill", False):
        fields |= {"ill_at": seen, "error": "It broke."}
    return Worker.objects.create(name=name, queue=queue, host=name, started_at=seen, seen_at=seen, **fields)


def test_others_are_those_that_are_there_and_well_and_can_do_jobs_of_runs():
    workers.report(queue="gpu")
    elsewhere("silent", minutes=5)
    elsewhere("ill", ill=True)
    elsewhere("of pages", queue="default")
    # numbers of processes are those of one machine
    well = elsewhere(f"well {os.getpid()}")
    assert list(workers.others()) == [well]


def test_a_model_is_being_loaded_until_a_worker_that_is_there_and_well_has_it():
    run, other = run_of_pictures(1), run_of_pictures(1)
    since = timezone.now() - timedelta(minutes=1)
    elsewhere("silent", minutes=5, run=run)
    elsewhere("ill", ill=True, run=run)
    elsewhere("of another run", run=other)
    elsewhere("loads", run=run, loading_since=since)
    assert workers.loading(run) == since
    elsewhere("has it", run=run)
    assert workers.loading(run) is None


def test_the_memory_of_the_card_is_what_all_use_of_it(monkeypatch, settings):
    monkeypatch.setitem(sys.modules, "torch", torch())
    settings.MODEL_DEVICE = "cuda:1"
    worker = workers.report(queue="gpu")
    assert (worker.device, worker.memory_used, worker.memory_total) == ("cuda:1 NVIDIA H100", 49, 80)


@pytest.mark.parametrize(
    "wrong",
    [
        {"device": "cuda:0"},
        {"memory_used": 1, "memory_total": 2},
        {"device": "cuda:0", "memory_used": 3, "memory_total": 2},
        {"device": "cuda:0", "memory_total": 2},
    ],
)
def test_memory_is_that_of_a_device_and_no_more_than_it_has(wrong):
    now = timezone.now()
    fields = {"queue": "gpu", "host": "a", "started_at": now, "seen_at": now}
    Worker.objects.create(name="one", device="cuda:0", memory_used=2, memory_total=2, **fields)
    with pytest.raises(IntegrityError, match="worker_memory_of_a_device"), transaction.atomic():
        Worker.objects.create(name="other", **fields, **wrong)


@pytest.mark.parametrize(
    ("library", "asked"), [(None, ""), (torch(initialized=False), ""), (torch(), "cpu"), (torch(), "mps")]
)
def test_looking_loads_nothing_and_a_processor_has_no_such_memory(monkeypatch, library, asked):
    if library is None:
        monkeypatch.delitem(sys.modules, "torch", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "torch", library)
    assert workers.device_memory(asked) == ("", None, None)
    assert library is not None or "torch" not in sys.modules


@pytest.mark.django_db(transaction=True)
def test_who_ends_as_told_is_off_the_list_and_a_database_that_is_away_ends_nobody(monkeypatch):
    now = timezone.now()
    other = Worker.objects.create(
        name="gpu elsewhere 7", queue="gpu", host="elsewhere", started_at=now, seen_at=now
    )
    with workers.reporting(queue="default"):
        assert Worker.objects.filter(queue="default").count() == 1
    assert list(Worker.objects.all()) == [other]

    def away(**_):
        raise OperationalError("connection refused")

    monkeypatch.setattr(workers, "report", away)
    with workers.reporting(queue="default"):
        pass


def test_a_child_notes_its_run_in_the_row_of_its_parent_for_models_on_this_machine_alone():
    now, run = timezone.now(), run_of_pictures(1)
    host = socket.gethostname()[:120]
    for queue, of in (("gpu", host), ("default", host), ("default,gpu", host), ("gpu", "another")):
        name = f"{queue} {of} {os.getppid()}"
        Worker.objects.create(name=name, queue=queue, host=of, started_at=now, seen_at=now)
    workers.note(run=run)
    noted = Worker.objects.filter(run=run).values_list("queue", "host")
    assert set(noted) == {("gpu", host), ("default,gpu", host)}


def test_an_ill_worker_is_remembered_with_its_run_and_error_and_loads_nothing_any_more():
    earlier, run = run_of_pictures(1), run_of_pictures(1)
    workers.report(queue="gpu")
    workers.note(run=earlier, loading=True)
    workers.note_illness(run, "CUDA error: an illegal memory access")
    ill = Worker.objects.get()
    assert (ill.run, ill.error) == (run, "CUDA error: an illegal memory access")
    assert (ill.loading_since, ill.ill_at is None) == (None, False)
