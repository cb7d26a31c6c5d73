"""Celery task for lists of associations. The message only wakes a worker; the database row decides."""

from celery import shared_task
from django.conf import settings
from django.db import transaction

from annotation.core import broker
from annotation.core.leases import JobState
from metrics.associations.services import lists
from metrics.models import AssociationList

QUEUE = "default"


@shared_task(name="metrics.tasks.find_associations")  # the name is part of messages in the broker
def find_associations(list_id: int) -> None:
    """Find the associations of a waiting list."""
    lists.compute(list_id=list_id)


def enqueue(found: AssociationList) -> None:
    """Send a message for a waiting list after the commit. Without a broker, the embedded worker polls; if the
    broker is down, `sweep` sends the message later."""

    def send() -> None:
        find_associations.delay(found.pk)

    if settings.CELERY_BROKER_URL and found.state == JobState.PENDING:
        transaction.on_commit(send, robust=True)


def sweep() -> int:
    """Send messages again for waiting lists. Returns how many were sent."""
    return broker.resend_messages(
        find_associations, lists.waiting().values_list("pk", flat=True), queue=QUEUE
    )
