"""Celery task for imports. The message only wakes a worker; the database row decides what is done."""

from celery import shared_task
from django.conf import settings
from django.db import transaction

from annotation.core import broker
from annotation.core.leases import JobState
from annotation.imports.services import jobs
from annotation.models import CatalogueImport

QUEUE = "default"


@shared_task(name="annotation.tasks.import_catalogue")
def import_catalogue(job_id: int) -> None:
    """Do one import, if it is still waiting."""
    job = jobs.work(job_id=job_id, stopping=broker.worker_stops.is_set)
    if job is not None and job.state == JobState.PENDING:
        import_catalogue.delay(job_id)


def enqueue(job: CatalogueImport) -> None:
    """Send a message for a pending import, once it is committed. Without a broker the embedded worker polls;
    if the broker is down, `enqueue_waiting` sends the message later."""
    if settings.CELERY_BROKER_URL and job.state == JobState.PENDING:
        transaction.on_commit(lambda: import_catalogue.delay(job.pk), robust=True)


def enqueue_waiting() -> int:
    """Send messages for pending imports if the queue has none left; returns how many."""
    waiting = jobs.claimable().values_list("pk", flat=True)
    return broker.resend_messages(import_catalogue, waiting, queue=QUEUE)
