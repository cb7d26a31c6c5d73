"""Queries of the webhook pages and the API."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from annotation.models import Delivery, DeliveryState, Study, Webhook

PER_PAGE = 50
STATES = ("on", "failing", "given up", "off")
_WAITING = [DeliveryState.PENDING, DeliveryState.CLAIMED]


@dataclass(frozen=True)
class WebhookRow:
    """A webhook in the list, with the number of pending and of failed messages."""

    webhook: Webhook
    waiting: int
    failed: int

    @property
    def state(self) -> str:
        return state_of(self.webhook)


def state_of(webhook: Webhook) -> str:
    """One of STATES: *on*, *failing* (the last attempt failed, others follow), *given up* (disabled after
    failing too long) or *off* (disabled by an account)."""
    if webhook.disabled_at is not None:
        return "given up" if webhook.disabled_why else "off"
    return "failing" if webhook.failing_since is not None else "on"


def webhooks_of_study(study: Study) -> list[WebhookRow]:
    """The webhooks of `study`, newest first."""
    webhooks = (
        Webhook.objects.filter(study=study)
        .annotate(
            waiting=Count("deliveries", filter=Q(deliveries__state__in=_WAITING)),
            failed=Count("deliveries", filter=Q(deliveries__state=DeliveryState.FAILED)),
        )
        .order_by("-pk")
    )
    return [WebhookRow(webhook=each, waiting=each.waiting, failed=each.failed) for each in webhooks]


def webhook(study: Study, *, pk: int) -> Webhook | None:
    """One webhook of `study`; None if there is none with this id."""
    return Webhook.objects.select_related("study", "created_by").filter(study=study, pk=pk).first()


def messages(webhook: Webhook) -> QuerySet[Delivery]:
    """The messages of `webhook`, sent or pending, newest first."""
    return Delivery.objects.select_related("webhook__study").filter(webhook=webhook).order_by("-pk")


def message_page(webhook: Webhook, *, page: str | int = 1) -> Page[Delivery]:
    """One page of `messages`; the nearest page if `page` does not exist."""
    return Paginator(messages(webhook), PER_PAGE).get_page(page)


def message(webhook: Webhook, *, pk: int) -> Delivery | None:
    return Delivery.objects.select_related("webhook").filter(webhook=webhook, pk=pk).first()
