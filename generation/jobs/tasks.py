"""Celery's door to runs: a message rings, the rows decide (docs/adr/0007-generation.md)."""

from __future__ import annotations

import threading
from typing import Any

from celery import shared_task
from celery.signals import worker_shutting_down
from django.conf import settings
from django.db import transaction

from annotation.core import broker
from generation.jobs.services import work
from generation.models import Run, RunState

QUEUE = "gpu"
_stopping = threading.Event()


@worker_shutting_down.connect
def _stop(**_: Any) -> None:
    """A worker that is asked to end does so after the batch at hand, not after the slice."""
    _stopping.set()


# The name is in brokers and settings, wherever the function lies.
@shared_task(name="generation.tasks.work_slice")
def work_slice(run_id: int) -> None:
    """Work on a run for JOB_SLICE_SECONDS; then it is the next message's turn.

    While something is left, the number of messages stays as it is. A worker that finds the queue empty
    rings once more before it begins: so a run reaches all idle workers, and there is never more than one
    message too many.
    """
    if not waiting() and run_id in work.runs_to_ring():
        work_slice.delay(run_id)
    work.work(run_id=run_id, seconds=settings.JOB_SLICE_SECONDS, stopping=_stopping.is_set)
    if run_id in work.runs_to_ring():
        work_slice.delay(run_id)


def ring(run: Run) -> None:
    """Tell a worker of a running run, once it is committed. Without a broker there is nobody to tell: the
    embedded worker looks for waiting rows by itself. If the broker is away, `sweep` rings later."""

    def tell() -> None:
        work_slice.delay(run.pk)

    if settings.CELERY_BROKER_URL and run.state == RunState.RUNNING:
        transaction.on_commit(tell, robust=True)


def sweep() -> int:
    """Ring for the runs that have work left, if no message waits any more; returns how many were rung for.

    Messages are lost: a broker is emptied, a worker is killed with one in hand.
    """
    if waiting():
        return 0
    runs = work.runs_to_ring()
    for run_id in runs:
        work_slice.delay(run_id)
    return len(runs)


def waiting() -> int:
    """The messages in the queue that no worker has taken yet."""
    return broker.message_count(QUEUE)


__all__ = ["ring", "sweep", "waiting", "work_slice"]
