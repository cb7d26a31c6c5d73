"""What the webhook pages and the API read."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from annotation.models import Delivery, DeliveryState, Study, Webhook

PER_PAGE = 50
STATES = ("on", "failing", "given up", "off")
_WAITING = [DeliveryState.PENDING, DeliveryState.CLAIMED]


@dataclass(frozen=True)
class Row:
    """A webhook as the list shows it, with how many messages wait and how many failed for good."""

    webhook: Webhook
    waiting: int
    failed: int

    @property
    def state(self) -> str:
        return state_of(self.webhook)


def state_of(webhook: Webhook) -> str:
    """One of STATES: *on*, *failing* (the last try failed, and it goes on), *given up* (the program stopped)
    or *off*."""
    if webhook.disabled_at is not None:
        return "given up" if webhook.disabled_why else "off"
    return "failing" if webhook.failing_since is not None else "on"


def of_study(study: Study) -> list[Row]:
    """The webhooks of `study`, newest first."""
    found = (
        Webhook.objects.filter(study=study)
        .annotate(
            waiting=Count("deliveries", filter=Q(deliveries__state__in=_WAITING)),
            failed=Count("deliveries", filter=Q(deliveries__state=DeliveryState.FAILED)),
        )
        .order_by("-pk")
    )
    return [Row(webhook=each, waiting=each.waiting, failed=each.failed) for each in found]


def webhook(study: Study, *, pk: int) -> Webhook | None:
    """One webhook of `study`; None if it is another's, or there is none."""
    return Webhook.objects.select_related("study", "created_by").filter(study=study, pk=pk).first()


def messages(webhook: Webhook) -> QuerySet[Delivery]:
    """What was sent to `webhook` or waits to be, newest first."""
    return Delivery.objects.select_related("webhook__study").filter(webhook=webhook).order_by("-pk")


def page_of_messages(webhook: Webhook, *, page: str | int = 1) -> Page[Delivery]:
    """A page of them; a `page` that there is not is the nearest one there is."""
    return Paginator(messages(webhook), PER_PAGE).get_page(page)


def message(webhook: Webhook, *, pk: int) -> Delivery | None:
    return Delivery.objects.select_related("webhook").filter(webhook=webhook, pk=pk).first()
