"""What a worker does when something goes wrong: with a job, the memory, the model, the disk, the database."""

from __future__ import annotations

import errno
import gc
import weakref
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.core.files.storage import default_storage
from django.db import OperationalError, connection
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.images import files as image_files
from annotation.models import Image
from generation import backends
from generation.backends.base import BackendError
from generation.jobs.services import (
    batch_sizes,
    handlers,
    loaded_model,
    pauses,
    retries,
    session,
    sickness,
    work,
    workers,
)
from generation.jobs.services.image_handler import ImageHandler
from generation.models import BatchSize, Run, RunState
from generation.recipes.recipes import EmbeddingRecipe
from tests.generation.jobs.world import (
    RECIPE,
    Moody,
    again,
    counted,
    nobody_is_disturbed,
    run_of_pictures,
    run_over,
    state,
)

backends_load = backends.load


def test_a_poisoned_prompt_stops_only_itself(model):
    run = run_of_pictures(20)
    poisoned = run.jobs.get(number=6)
    model.fails[poisoned.seed] = RuntimeError("the tokens overflow")
    assert again(run) == 19
    while counted(run).get("pending"):
        again(run)
    poisoned.refresh_from_db()
    assert (poisoned.state, poisoned.attempts) == (JobState.FAILED, 3)
    assert poisoned.error == "RuntimeError: the tokens overflow"
    assert set(run.jobs.filter(state=JobState.DONE).values_list("attempts", flat=True)) == {1}
    assert state(run) == (RunState.DONE, "")
    nobody_is_disturbed(run)


def test_a_model_that_returns_too_few_fails_and_misplaces_nothing(model, monkeypatch):
    run = run_of_pictures(4)
    draw = model.generate
    monkeypatch.setattr(model, "generate", lambda wanted: draw(wanted)[: 1 if len(wanted) == 1 else -1])
    assert work.work(run_id=run.pk) == 4
    nobody_is_disturbed(run)


def test_out_of_memory_is_no_failure_halves_the_batch_and_is_remembered(model):
    model.batch, model.holds = 16, 5
    run = run_of_pictures(20)
    BatchSize.objects.create(run=run, device="a large card", size=64)
    assert work.work(run_id=run.pk) == 20
    run.refresh_from_db()
    assert (run.state, model.batch) == (RunState.DONE, 4)
    assert list(run.batch_sizes.values_list("device", "size")) == [("a large card", 64), ("cpu", 4)]
    assert set(run.jobs.values_list("attempts", flat=True)) == {1}
    nobody_is_disturbed(run)
    assert model.asked[:3] == [16, 8, 4]
    # another process begins with what was remembered
    other = Moody(batch=16, holds=5)
    loaded_model._loaded[:] = [loaded_model.Loaded(RECIPE, other, 16)]
    run.jobs.update(state=JobState.PENDING, attempts=0)
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    Image.objects.filter(image_set=run.image_set).delete()
    work.work(run_id=run.pk)
    assert max(other.asked, default=0) <= 4


def test_a_model_that_took_less_by_itself_is_not_given_more(model, monkeypatch):
    draw = model.generate

    def generate(wanted):
        if len(wanted) > 1:
            model.batch = 1
        return draw(wanted)

    model.batch, model.holds = 16, 1
    monkeypatch.setattr(model, "generate", generate)
    run = run_of_pictures(3)
    assert work.work(run_id=run.pk) == 3
    assert model.asked == [3, 1, 1, 1]


def test_a_model_is_freed_before_another_is_loaded(monkeypatch):
    """Its parts refer to each other, so it would stay where it is, and two do not fit on most cards."""
    before = Moody()
    before.parts = [before]
    gone, found = weakref.ref(before), []
    loaded_model._loaded[:] = [loaded_model.Loaded(replace(RECIPE, backend="diffusers"), before, 8)]
    del before
    gc.freeze()  # as after each load
    monkeypatch.setattr(loaded_model, "gc", gc)
    monkeypatch.setattr(backends, "load", lambda recipe, device: found.append(gone()) or Moody())
    loaded_model.load(RECIPE)
    gc.freeze()  # what was in memory before stays, as for all tests (tests/conftest.py)
    assert found == [None]


def test_a_small_card_does_not_slow_a_large_one(model):
    run, other = run_of_pictures(20), run_of_pictures(1)
    model.batch = 16
    BatchSize.objects.create(run=run, device="a small card", size=2)
    BatchSize.objects.create(run=other, device="cpu", size=2)
    work.work(run_id=run.pk)
    assert model.asked == [16, 4]


def test_a_batch_that_was_halved_grows_again_after_many_full_ones_and_later_each_time(model):
    model.batch, model.holds = 8, 4
    run = run_of_pictures(12)
    work.work(run_id=run.pk)
    assert model.asked == [8, 4, 4, 4], "memory is short"
    loaded = loaded_model._loaded[0]
    assert (loaded.grow_after, loaded.full_batches) == (200, 1)
    loaded.grow_after, model.holds = 2, 8
    more = run_of_pictures(20)
    for device, size in (("a small card", 1), ("cpu", 4)):
        BatchSize.objects.create(run=more, device=device, size=size)
    work.work(run_id=more.pk)
    assert model.asked[4:] == [4, 4, 8, 4], "there is room again"
    assert list(more.batch_sizes.values_list("device", "size")) == [("a small card", 1), ("cpu", 8)]


def test_a_device_that_holds_not_even_one_pauses_the_run_and_uses_up_no_try(model):
    model.holds = 0
    run = run_of_pictures(3)
    assert work.work(run_id=run.pk) == 0
    assert state(run)[0] == RunState.PAUSED
    assert "too small even for one" in run.error
    assert set(run.jobs.values_list("attempts", "state")) == {(0, JobState.PENDING)}


def test_what_a_person_has_to_mend_pauses_the_run_and_uses_up_no_try(model, monkeypatch):
    run = run_of_pictures(20)
    model.fails[run.jobs.get(number=12).seed] = BackendError("The device was unplugged. Plug it in.")
    assert work.work(run_id=run.pk) == 8
    assert state(run) == (RunState.PAUSED, "The device was unplugged. Plug it in.")
    assert counted(run) == {"done": 8, "pending": 12}
    assert set(run.jobs.filter(state=JobState.PENDING).values_list("attempts", flat=True)) == {0}
    nobody_is_disturbed(run)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (BackendError("No weights at /models. Fetch them."), "No weights at /models. Fetch them."),
        (OSError("config.json is no JSON"), "could not be loaded: OSError: config.json is no JSON"),
        (MemoryError("9 GB"), "does not fit into memory"),
    ],
)
def test_a_model_that_cannot_be_loaded_pauses_the_run_with_the_reason(monkeypatch, error, told):
    run = run_of_pictures(3)

    def load(recipe, device):
        raise error

    monkeypatch.setattr(backends, "load", load)
    workers.report(queue="gpu")
    assert work.work_pending() == 0
    assert state(run)[0] == RunState.PAUSED
    assert told in run.error
    assert workers.runs_in_hand() == set(), "it loads nothing any more"
    assert counted(run) == {"pending": 3}
    assert work.work_pending() == 0


def test_a_recipe_of_another_version_pauses_the_run():
    run = run_of_pictures(1)
    Run.objects.filter(pk=run.pk).update(recipe={**run.recipe, "version": 99})
    work.work(run_id=run.pk)
    assert state(run) == (
        RunState.PAUSED,
        "recipe: version: 99 was written by another version of the program.",
    )


def test_why_a_run_was_paused_stays_though_its_last_batch_ends_well(monkeypatch):
    run = run_of_pictures(3)
    Run.objects.filter(pk=run.pk).update(error="It was resumed after this.")
    finish = ImageHandler.finish

    def paused(handler, claim, results):
        Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED, error="The server is away.")
        finish(handler, claim, results)

    monkeypatch.setattr(ImageHandler, "finish", paused)
    work.work(run_id=run.pk)
    assert run.jobs.filter(state=JobState.DONE).count() == 3
    assert state(run) == (RunState.PAUSED, "The server is away.")


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EIO, "Input/output error"),
        OSError(errno.ESTALE, "Stale file handle"),
        TimeoutError("timed out"),
        ConnectionError("The S3 server does not answer"),
    ],
)
def test_what_was_computed_is_kept_while_the_storage_is_away_and_stored_when_it_is_back(
    model, monkeypatch, error
):
    monkeypatch.setattr(pauses, "STORAGE_SECONDS", 0.05)
    run = run_of_pictures(20)
    works = iter([True] * 5 + [False] * 9)
    write = image_files._write
    seen = []

    def away(path, data):
        if not next(works, True):
            raise error
        write(path, data)

    def rest(worker):
        seen.append(
            run.jobs.filter(state=JobState.CLAIMED, error__contains="tried again every minute").count()
        )

    monkeypatch.setattr(image_files, "_write", away)
    monkeypatch.setattr(session.Session, "_rest", rest)
    assert work.work(run_id=run.pk) == 20
    assert seen
    assert all(seen), "the run's page says what it waits for"
    assert sum(model.asked) == 20, "nothing is computed twice"
    assert set(run.jobs.values_list("attempts", "state", "error")) == {(1, JobState.DONE, "")}
    nobody_is_disturbed(run)


def test_a_worker_that_is_stopped_while_the_storage_is_away_gives_its_jobs_back_untried(model, monkeypatch):
    monkeypatch.setattr(pauses, "STORAGE_SECONDS", 0.05)
    run = run_of_pictures(20)

    def broken(path, data):
        raise OSError(errno.EIO, "Input/output error")

    rested = []
    monkeypatch.setattr(image_files, "_write", broken)
    monkeypatch.setattr(session.Session, "_rest", lambda worker: rested.append(1))
    assert work.work(run_id=run.pk, stopping=lambda: bool(rested)) == 0
    assert set(run.jobs.values_list("attempts", "state")) == {(0, JobState.PENDING)}
    assert "Input/output error" in run.jobs.order_by("pk").first().error


@pytest.mark.parametrize(
    ("missed", "left"), [(2, {"done": 1, "pending": 2}), (3, {"pending": 3})], ids=["some", "whole batch"]
)
def test_images_that_the_storage_does_not_give_are_tried_again_and_use_up_no_try(
    model, monkeypatch, missed, left
):
    monkeypatch.setattr(sickness, "BATCHES_IN_A_ROW", 1)  # it is no failure of the model, and nobody is ill
    pictures, rested = run_of_pictures(3), []
    work.work(run_id=pictures.pk)
    monkeypatch.setattr(session.Session, "_rest", lambda worker: rested.append(1))
    monkeypatch.setattr(backends, "load", backends_load)
    run = run_over(list(Image.objects.all()), EmbeddingRecipe(backend="fake", model="fake"))
    opened = []

    def away(name, *mode):
        opened.append(name)
        if len(opened) <= missed:
            raise ConnectionError("The S3 server does not answer")
        return default_storage.open(name, *mode)

    monkeypatch.setattr(handlers, "default_storage", SimpleNamespace(open=away))
    before = timezone.now()
    again(run)
    assert counted(run) == left
    assert rested == [1]
    waiting = run.jobs.filter(state=JobState.PENDING)
    assert min(waiting.values_list("not_before", flat=True)) >= before + timedelta(seconds=60)
    waiting.update(not_before=None)
    again(run)
    assert counted(run) == {"done": 3}
    assert set(run.jobs.values_list("attempts", flat=True)) == {1}


def test_a_picture_whose_place_is_taken_is_refused_and_the_others_are_loaded(model):
    run = run_of_pictures(3)
    job = run.jobs.get(number=2)
    Image.objects.create(
        image_set=run.image_set, group=job.group, index=2, width=8, height=8, reference="somebody.png"
    )
    for _ in range(5):
        again(run)
    assert counted(run) == {"done": 2, "failed": 1}
    assert "its place is already taken" in run.jobs.get(number=2).error


@pytest.fixture
def closed(monkeypatch):
    """How often the connection was closed. In a transaction of a test nothing would be tried again."""
    found = []

    class Connection:
        in_atomic_block = False

        def close(self):
            found.append(True)

    monkeypatch.setattr(retries, "_PAUSES", (0, 0, 0))
    monkeypatch.setattr(retries, "connection", Connection())
    return found


@pytest.mark.parametrize("which", range(1, 37))
def test_a_connection_that_is_lost_at_any_statement_of_a_run_costs_nothing(model, closed, which):
    run = run_of_pictures(2)
    sent = []

    def lose(execute, *said):
        sent.append(said)
        if len(sent) == which:
            raise OperationalError("terminating connection due to administrator command")
        return execute(*said)

    with connection.execute_wrapper(lose):
        assert work.work(run_id=run.pk) == 2
    assert len(sent) > which
    assert len(closed) == 1
    assert state(run) == (RunState.DONE, "")
    nobody_is_disturbed(run)


def test_a_database_that_is_away_for_a_moment_costs_nothing(closed):
    answers = [OperationalError("server closed the connection"), OperationalError("again"), 5]

    def ask():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert retries.with_retries(ask) == 5
    assert len(closed) == 2
    answers[:] = [OperationalError("gone")] * 4
    with pytest.raises(OperationalError, match="gone"):
        retries.with_retries(ask)
    assert answers == []
    # half a transaction is not tried again
    retries.connection.in_atomic_block = True
    answers[:] = [OperationalError("gone"), 5]
    with pytest.raises(OperationalError, match="gone"):
        retries.with_retries(ask)
    assert len(closed) == 5


def test_a_batch_grows_to_what_the_model_allows_and_only_full_ones_count():
    run, model = run_of_pictures(0), Moody(batch=4)
    loaded = loaded_model.Loaded(RECIPE, model, 6, grow_after=2)
    for jobs in (4, 3, 3):
        assert not batch_sizes.update(run, loaded, before=4, jobs=jobs)
    assert (loaded.full_batches, run.batch_sizes.count()) == (1, 0)
    batch_sizes.update(run, loaded, before=4, jobs=4)
    loaded_model.run_on_device(int).result()  # after what it was told to do
    assert (model.batch, run.batch_sizes.get().size) == (6, 6)
    # one that never ran out of memory is not written down
    run.batch_sizes.all().delete()
    for _ in range(3):
        batch_sizes.update(run, loaded, before=6, jobs=6)
    assert not run.batch_sizes.exists()
