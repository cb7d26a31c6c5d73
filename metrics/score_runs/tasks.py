"""Celery task for score runs. The message only wakes a worker; the database row decides what is done."""

from celery import shared_task
from django.conf import settings
from django.db import transaction

from annotation.core import broker
from annotation.core.leases import JobState
from metrics.models import ScoreRun
from metrics.score_runs import services as score_runs

QUEUE = "default"


@shared_task(name="metrics.tasks.compute_score_run")  # the name is part of messages in the broker
def compute_score_run(run_id: int) -> None:
    """Compute a waiting run, and the other waiting runs of the same answers."""
    score_runs.compute_with_waiting(run_id=run_id)


def enqueue(run: ScoreRun) -> None:
    """Send a message for a waiting run after the commit. Without a broker, the embedded worker polls for
    waiting rows. If the broker is down, `sweep` sends the message later."""

    def send() -> None:
        compute_score_run.delay(run.pk)

    if settings.CELERY_BROKER_URL and run.state == JobState.PENDING:
        transaction.on_commit(send, robust=True)


def sweep() -> int:
    """Send messages again for waiting runs. Returns how many were sent. This includes runs whose last attempt
    failed: nothing else sends their next message."""
    return broker.resend_messages(
        compute_score_run, score_runs.waiting().values_list("pk", flat=True), queue=QUEUE
    )
