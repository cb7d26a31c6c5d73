"""Celery's door to score runs. The row is the truth; a message that was lost is rung again (`sweep`)."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings
from django.db import transaction

from annotation.core import broker
from metrics.models import RunState, ScoreRun
from metrics.services import score_runs

QUEUE = "default"


@shared_task
def compute_score_run(run_id: int) -> None:
    """Compute one run, if it is still waiting, and those that wait beside it for the same answers."""
    score_runs.compute_with_waiting(run_id=run_id)


def ring(run: ScoreRun) -> None:
    """Tell a worker of a waiting run, once it is committed. Without a broker there is nobody to tell: the
    embedded worker looks for waiting rows by itself. If the broker is away, `sweep` rings later."""

    def tell() -> None:
        compute_score_run.delay(run.pk)

    if settings.CELERY_BROKER_URL and run.state == RunState.PENDING:
        transaction.on_commit(tell, robust=True)


def sweep() -> int:
    """Ring for the runs that wait, if no message does any more; returns how many were rung for. A try that
    failed is waiting, too, and nobody else rings for the next."""
    return broker.ring_again(
        compute_score_run, score_runs.waiting().values_list("pk", flat=True), queue=QUEUE
    )


__all__ = ["compute_score_run", "ring", "sweep"]
