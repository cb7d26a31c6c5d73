"""Queries of the webhook pages and the API."""

from django.db.models import Count, Q, QuerySet

from annotation.core.leases import OPEN, JobState
from annotation.models import Delivery, Study, Webhook


def webhooks_of_study(study: Study) -> QuerySet[Webhook]:
    """The webhooks of `study`, newest first, with the number of `waiting` and of `failed` messages."""
    return (
        Webhook.objects.filter(study=study)
        .annotate(
            waiting=Count("deliveries", filter=Q(deliveries__state__in=OPEN)),
            failed=Count("deliveries", filter=Q(deliveries__state=JobState.FAILED)),
        )
        .order_by("-pk")
    )


def messages(webhook: Webhook) -> QuerySet[Delivery]:
    """The messages of `webhook`, sent or pending, newest first."""
    return Delivery.objects.select_related("webhook__study").filter(webhook=webhook).order_by("-pk")
