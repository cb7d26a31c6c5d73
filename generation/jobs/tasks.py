"""Celery task for runs. The message only wakes a worker; the rows decide (docs/adr/0007-generation.md)."""

from billiard import current_process
from celery import shared_task
from celery.worker import state as worker_state
from django.conf import settings
from django.db import transaction

from annotation.core import broker
from generation.jobs.services import work
from generation.jobs.services.sickness import WorkerIll
from generation.models import Run, RunState

QUEUE = "gpu"


# Brokers and settings know this name, so it stays when the function moves.
@shared_task(name="generation.tasks.work_slice")
def work_slice(run_id: int) -> None:
    """Work on a run for JOB_SLICE_SECONDS; then the next message has its turn.

    The run whose model is loaded goes on for a fair time, whichever run the message names. While work is
    left, each message is replaced by one. A worker that finds the queue empty sends one more before it
    starts: so a run reaches all idle workers, with at most one message too many.
    """
    if not queued_messages() and run_id in work.runs_needing_work():
        work_slice.delay(run_id)
    try:
        # a worker that is asked to stop does so after the current batch, not after the time slice
        work.work(
            run_id=work.next_run(run_id),
            seconds=settings.JOB_SLICE_SECONDS,
            stopping=broker.worker_stops.is_set,
        )
    except WorkerIll:
        _end_process()
    if run_id in work.runs_needing_work():
        work_slice.delay(run_id)


def _end_process() -> None:
    """End Celery's worker after this message, with an exit code that makes its supervisor start another."""
    if current_process().name != "MainProcess":
        raise SystemExit(1)  # of a pool: another process takes its place
    broker.worker_stops.set()
    worker_state.should_stop = 1  # type: ignore[assignment] # the exit code; the stubs know None alone


def enqueue(run: Run) -> None:
    """Send a message for a running run after the commit.

    Without a broker the embedded worker finds the rows itself. If the broker is down, `sweep` sends it later.
    """
    if settings.CELERY_BROKER_URL and run.state == RunState.RUNNING:
        transaction.on_commit(lambda: work_slice.delay(run.pk), robust=True)


def sweep() -> int:
    """Send messages for runs with work left, if the queue is empty; returns how many.

    Messages can be lost: a broker is emptied, or a worker is killed while it holds one.
    """
    if queued_messages():
        return 0
    runs = work.runs_needing_work()
    for run_id in runs:
        work_slice.delay(run_id)
    return len(runs)


def queued_messages() -> int:
    """How many messages no worker has taken yet."""
    return broker.message_count(QUEUE)
