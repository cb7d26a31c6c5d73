"""Celery task for score runs. The message only wakes a worker; the database row decides what is done."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings
from django.db import transaction

from annotation.core import broker
from metrics.models import RunState, ScoreRun
from metrics.score_runs import services as score_runs

QUEUE = "default"


@shared_task(name="metrics.tasks.compute_score_run")  # the name stands in messages in the broker
def compute_score_run(run_id: int) -> None:
    """Compute one run, if it is still waiting, and those that wait beside it for the same answers."""
    score_runs.compute_with_waiting(run_id=run_id)


def enqueue(run: ScoreRun) -> None:
    """Tell a worker of a waiting run, once it is committed. Without a broker there is nobody to tell: the
    embedded worker looks for waiting rows by itself. If the broker is away, `sweep` sends it later."""

    def tell() -> None:
        compute_score_run.delay(run.pk)

    if settings.CELERY_BROKER_URL and run.state == RunState.PENDING:
        transaction.on_commit(tell, robust=True)


def sweep() -> int:
    """Send messages for waiting runs that have none any more; returns how many were sent. A run whose try
    failed is waiting, too, and nothing else sends its next message."""
    return broker.ring_again(
        compute_score_run, score_runs.waiting().values_list("pk", flat=True), queue=QUEUE
    )
