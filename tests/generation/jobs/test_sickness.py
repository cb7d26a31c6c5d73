"""A sick worker stops itself and costs no job; a run of which most jobs fail pauses."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db.models import Q
from django.utils import timezone

from annotation.core.leases import JobState
from generation import backends
from generation.backends.base import is_device_error
from generation.jobs import tasks
from generation.jobs.services import claims, work, workers
from generation.jobs.services.sickness import WorkerIll
from generation.models import Run, RunState, Worker
from generation.runs import services as runs
from tests.generation.jobs.world import Moody, counted, nobody_is_disturbed, run_of_pictures, state

SICK = RuntimeError("CUDA error: an illegal memory access was encountered")


@pytest.fixture
def me():
    return workers.report(queue="gpu")


@pytest.fixture
def healthy():
    """Another worker, elsewhere."""
    now = timezone.now()
    where = {"name": "gpu elsewhere 1", "host": "elsewhere", "queue": "gpu"}
    return Worker.objects.create(**where, started_at=now, seen_at=now)


def fail_from(model, run, number, error):
    for seed in run.jobs.filter(number__gte=number).values_list("seed", flat=True):
        model.fails[seed] = error


def test_a_device_that_fails_ends_the_worker_and_costs_no_job(model, me):
    run = run_of_pictures(100)
    fail_from(model, run, 9, SICK)
    with pytest.raises(WorkerIll, match="illegal memory access"):
        work.work(run_id=run.pk)
    assert counted(run) == {"done": 8, "pending": 92}
    assert set(run.jobs.filter(state=JobState.PENDING).values_list("attempts", flat=True)) == {0}
    ill = Worker.objects.get()
    assert (ill.run, ill.ill_at is not None, "illegal memory access" in ill.error) == (run, True, True)
    assert ill.name.startswith(f"{me.name} "), "the next process may have the same number"
    assert state(run)[0] == RunState.RUNNING
    nobody_is_disturbed(run)
    # a healthy process finishes it
    model.fails.clear()
    assert work.work(run_id=run.pk) == 92


def test_a_device_that_fails_while_the_model_is_loaded_does_not_pause_the_run(monkeypatch, me):
    run = run_of_pictures(3)

    def load(recipe, device):
        raise SICK

    monkeypatch.setattr(backends, "load", load)
    with pytest.raises(WorkerIll):
        work.work(run_id=run.pk)
    assert (state(run), counted(run)) == ((RunState.RUNNING, ""), {"pending": 3})
    assert Worker.objects.get().loading_since is None


def test_whole_batches_that_fail_in_a_row_make_the_worker_ill_and_use_up_no_try(model, me, healthy):
    run = run_of_pictures(100)
    fail_from(model, run, 9, ValueError("the numbers are wrong"))
    with pytest.raises(WorkerIll, match="the numbers are wrong"):
        work.work(run_id=run.pk)
    assert counted(run) == {"done": 8, "pending": 92}
    assert set(run.jobs.exclude(state=JobState.DONE).values_list("attempts", flat=True)) == {0}
    assert Worker.objects.exclude(ill_at=None).count() == 1


def test_what_failed_in_a_batch_counts_once_the_worker_proves_to_be_well(model, me, healthy, settings):
    settings.JOB_RETRY_SECONDS = 60
    run = run_of_pictures(56)
    # two batches, one that is well, and two more
    bad = run.jobs.filter(Q(number__lte=16) | Q(number__gt=24, number__lte=40))
    for seed in bad.values_list("seed", flat=True):
        model.fails[seed] = ValueError("this prompt is too long")
    Run.objects.filter(pk=run.pk).update(failures_accepted=True)
    assert work.work(run_id=run.pk) == 24
    assert set(bad.values_list("attempts", "state")) == {(1, JobState.PENDING)}
    assert not Worker.objects.exclude(ill_at=None).exists()


def test_a_run_that_made_something_is_not_to_blame_though_its_worker_is_the_only_one(model, me):
    run = run_of_pictures(100)
    fail_from(model, run, 9, ValueError("the numbers are wrong"))
    with pytest.raises(WorkerIll):
        work.work(run_id=run.pk)
    assert state(run) == (RunState.RUNNING, "")


def test_jobs_that_failed_before_make_nobody_ill(model, me, healthy, settings):
    settings.JOB_RETRY_SECONDS = 60
    run = run_of_pictures(4)
    run.jobs.update(attempts=1)
    fail_from(model, run, 1, ValueError("this prompt is too long"))
    Run.objects.filter(pk=run.pk).update(failures_accepted=True)
    run_of_pictures(1)  # of which nobody accepted anything
    assert work.work(run_id=run.pk) == 0
    assert state(run) == (RunState.RUNNING, "")
    assert set(run.jobs.values_list("attempts", "state")) == {(2, JobState.PENDING)}


def test_a_job_that_a_sick_worker_gave_back_goes_to_another_worker_first(model, me, healthy):
    run = run_of_pictures(8)
    fail_from(model, run, 1, SICK)
    with pytest.raises(WorkerIll):
        work.work(run_id=run.pk)
    mine = f"{me.host} {me.name.rsplit(' ', 1)[1]}"
    assert claims.claim(run_id=run.pk, limit=8, worker=mine, leave_own=True) is None
    assert len(claims.claim(run_id=run.pk, limit=8, worker="elsewhere 1", leave_own=True).jobs) == 8


def test_a_job_that_makes_every_device_fail_is_not_tried_forever(model, settings):
    settings.JOB_RETRY_SECONDS = 0
    run = run_of_pictures(20)
    poison = run.jobs.get(number=5)
    model.fails[poison.seed] = SICK
    for _ in range(9):
        workers.report(queue="gpu")
        try:
            work.work(run_id=run.pk)
        except WorkerIll:
            runs.resume(run=run, by=None)
    poison.refresh_from_db()
    assert (poison.state, poison.attempts) == (JobState.FAILED, 3)
    assert counted(run) == {"done": 19, "failed": 1}


def test_a_run_on_which_three_workers_in_a_row_fall_ill_pauses(model):
    run, other = run_of_pictures(8), run_of_pictures(1)
    work.work(run_id=other.pk)
    fail_from(model, run, 1, SICK)
    for time in range(3):
        assert state(run)[0] == RunState.RUNNING, time
        other.jobs.update(finished_at=timezone.now())
        workers.report(queue="gpu")
        with pytest.raises(WorkerIll):
            work.work(run_id=run.pk)
    assert state(run)[0] == RunState.PAUSED
    assert "3 workers in a row" in run.error
    assert "illegal memory access" in run.error


def test_who_fell_ill_before_it_last_made_something_or_on_another_run_does_not_count(model, me):
    run, other = run_of_pictures(8), run_of_pictures(1)
    model.batch = 1
    work.work(run_id=run.pk, batches=1)
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(started_at=now - timedelta(hours=9))
    run.jobs.filter(state=JobState.DONE).update(finished_at=now - timedelta(hours=3))
    for hours, of in ((5, run), (4, run), (2, other), (1, other)):
        worker = {"name": f"gpu elsewhere {hours}", "host": "elsewhere", "queue": "gpu", "run": of}
        ill = now - timedelta(hours=hours)
        Worker.objects.create(**worker, started_at=ill, seen_at=ill, ill_at=ill, error="It broke.")
    fail_from(model, run, 1, SICK)
    with pytest.raises(WorkerIll):
        work.work(run_id=run.pk)
    assert state(run)[0] == RunState.RUNNING


def test_a_run_of_which_nothing_can_be_made_pauses_and_its_only_worker_goes_on(model, me):
    run = run_of_pictures(100)
    fail_from(model, run, 1, ValueError("no such layer"))
    assert work.work(run_id=run.pk) == 0
    assert state(run) == (RunState.PAUSED, "Every job fails. ValueError: no such layer")
    assert counted(run) == {"pending": 100}
    assert Worker.objects.get().ill_at is None


def test_a_run_of_which_nothing_was_made_is_not_to_blame_while_another_worker_can_try(model, me, healthy):
    run = run_of_pictures(100)
    fail_from(model, run, 1, ValueError("no such layer"))
    with pytest.raises(WorkerIll, match="no such layer"):
        work.work(run_id=run.pk)
    assert (state(run), counted(run)) == ((RunState.RUNNING, ""), {"pending": 100})


def test_a_run_of_which_most_jobs_fail_pauses_once_and_goes_on_when_resumed(model, settings):
    settings.JOB_RETRY_SECONDS = 60
    run = run_of_pictures(40)
    for seed in run.jobs.exclude(number__in=[1, 9, 17, 25, 33]).values_list("seed", flat=True):
        model.fails[seed] = ValueError("too dark")
    work.work(run_id=run.pk)
    assert state(run)[0] == RunState.PAUSED
    assert "Most jobs fail: 14 of 16 so far. The first error: ValueError: too dark" in run.error
    assert runs.resume(run=run, by=None)
    work.work(run_id=run.pk)
    assert state(run) == (RunState.RUNNING, ""), "whoever resumed it accepted that"
    assert counted(run) == {"done": 5, "pending": 35}


def test_celerys_worker_ends_after_the_message_and_sends_another_for_the_rest(
    model, me, settings, monkeypatch
):
    run = run_of_pictures(8)
    fail_from(model, run, 1, SICK)
    sent = []
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(tasks, "queued_messages", lambda: 1)
    monkeypatch.setattr(tasks.work_slice, "delay", sent.append)
    monkeypatch.setattr(tasks.worker_state, "should_stop", None)
    monkeypatch.setattr(tasks.broker, "worker_stops", threading.Event())
    tasks.work_slice(run.pk)
    assert tasks.worker_state.should_stop == 1
    assert sent == [run.pk]
    tasks.work_slice(run.pk)
    assert counted(run) == {"pending": 8}, "until it ends it takes no more"


def test_two_runs_at_once_load_two_models(model, monkeypatch, settings):
    """Not one each slice: loading takes longer than many slices."""
    settings.JOB_SLICE_SECONDS = 0
    loads = []

    def load(recipe, device):
        loads.append(recipe.seed)
        return Moody(batch=1)

    monkeypatch.setattr(backends, "load", load)
    first, second = run_of_pictures(5), run_of_pictures(5)
    Run.objects.filter(pk=second.pk).update(recipe={**second.recipe, "seed": 7})
    turn = [first.pk, second.pk]
    for number in range(30):
        work.work(run_id=work.next_run(turn[number % 2]), batches=1)
    assert (counted(first), counted(second)) == ({"done": 5}, {"done": 5})
    assert loads == [0, 7]


def test_after_a_fair_time_the_other_run_has_its_turn(model, monkeypatch):
    first, second = run_of_pictures(5), run_of_pictures(5)
    Run.objects.filter(pk=second.pk).update(recipe={**second.recipe, "seed": 7})
    work.work(run_id=first.pk, batches=0)
    assert work.next_run(second.pk) == first.pk
    monkeypatch.setattr(work, "FAIR_SECONDS", 0)
    assert work.next_run(second.pk) == second.pk
    assert work.next_run(4711) == first.pk, "a run that is gone has no turn"


def test_a_run_whose_recipe_cannot_be_read_holds_up_no_other(model):
    first, second = run_of_pictures(5), run_of_pictures(5)
    Run.objects.filter(pk=first.pk).update(recipe={**first.recipe, "version": 99})
    assert work.next_run(second.pk) == second.pk
    assert work.next_run(first.pk) == first.pk
    work.work(run_id=first.pk)
    assert state(first)[0] == RunState.PAUSED


def test_while_a_model_is_loaded_the_workers_row_says_so(monkeypatch, me, model):
    run = run_of_pictures(1)
    seen = []

    def load(recipe, device):
        seen.append(True)
        return model

    monkeypatch.setattr(backends, "load", load)
    note = workers.note

    def noted(**given):
        note(**given)
        seen.append(workers.loading(run) is not None)

    monkeypatch.setattr(workers, "note", noted)
    work.work(run_id=run.pk)
    assert seen == [True, True, False]


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("CUDA error: an illegal memory access was encountered", True),
        ("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", True),
        ("CUDA error: device-side assert triggered", True),
        ("HIP error: unspecified launch failure", True),
        ("CUDA out of memory. Tried to allocate 20.00 MiB", False),
        ("CUDA error: out of memory", False),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)", False),
        ("The size of tensor a (8) must match the size of tensor b (9)", False),
    ],
)
def test_errors_of_the_device_are_told_from_those_of_a_job(text, device):
    assert is_device_error(RuntimeError(text)) is device
