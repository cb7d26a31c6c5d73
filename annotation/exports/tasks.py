"""Celery task for exports. The message only wakes a worker; the database row decides what is done."""

from celery import shared_task
from django.conf import settings
from django.db import transaction

from annotation.core import broker
from annotation.core.leases import JobState
from annotation.exports.services import jobs as export_jobs
from annotation.models import ExportJob

QUEUE = "default"


@shared_task(name="annotation.tasks.make_export")
def make_export(job_id: int) -> None:
    """Make one export, if it is still waiting."""
    job = export_jobs.make(job_id=job_id, stopping=broker.worker_stops.is_set)
    if job is not None and job.state == JobState.PENDING:
        make_export.delay(job_id)


def enqueue(job: ExportJob) -> None:
    """Send a message for a pending export, once it is committed.

    Without a broker no message is needed: the embedded worker polls for pending rows. If the broker is down,
    `enqueue_waiting` sends the message later.
    """
    if settings.CELERY_BROKER_URL and job.state == JobState.PENDING:
        transaction.on_commit(lambda: make_export.delay(job.pk), robust=True)


def enqueue_waiting() -> int:
    """Send messages for pending exports if the queue has none left; returns how many."""
    return broker.resend_messages(
        make_export, export_jobs.claimable().values_list("pk", flat=True), queue=QUEUE
    )
