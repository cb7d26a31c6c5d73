"""Celery's door to exports: a message rings, the row decides."""

from __future__ import annotations

import threading
from typing import Any

from celery import shared_task
from celery.signals import worker_shutting_down
from django.conf import settings
from django.db import transaction

from annotation.core import broker
from annotation.exports.services import jobs as export_jobs
from annotation.models import ExportJob, ExportState

QUEUE = "default"
_stopping = threading.Event()


@worker_shutting_down.connect
def _stop(**_: Any) -> None:
    """A worker that is asked to end gives back what it has not finished."""
    _stopping.set()


@shared_task(name="annotation.tasks.make_export")
def make_export(job_id: int) -> None:
    """Make one export, if it is still waiting."""
    job = export_jobs.make(job_id=job_id, stopping=_stopping.is_set)
    if job is not None and job.state == ExportState.PENDING:
        make_export.delay(job_id)


def ring(job: ExportJob) -> None:
    """Tell a worker of a waiting export, once it is committed. Without a broker there is nobody to tell: the
    embedded worker looks for waiting rows by itself. If the broker is away, `sweep` rings later."""

    def tell() -> None:
        make_export.delay(job.pk)

    if settings.CELERY_BROKER_URL and job.state == ExportState.PENDING:
        transaction.on_commit(tell, robust=True)


def sweep() -> int:
    """Ring for the exports that wait, if no message does any more; returns how many were rung for."""
    return broker.resend_messages(
        make_export, export_jobs.waiting().values_list("pk", flat=True), queue=QUEUE
    )


__all__ = ["make_export", "ring", "sweep"]
