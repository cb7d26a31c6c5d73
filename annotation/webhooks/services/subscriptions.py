"""Webhook subscriptions (docs/webhooks.md)."""

import logging
import secrets
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.events import EVENTS, FULLY_ANNOTATED, PING, RESPONSE_CREATED
from annotation.models import AuditEvent, Delivery, Response, Study, Webhook
from annotation.webhooks import safe_requests

logger = logging.getLogger(__name__)
MAX_WEBHOOKS = 10


class WebhookRefused(ValueError):
    """A change of a webhook that is refused. The message says what to do."""


def request_rules() -> safe_requests.Rules:
    """Which URLs this installation may call."""
    return safe_requests.Rules(
        allow_http=settings.WEBHOOK_ALLOW_HTTP, hosts=frozenset(settings.WEBHOOK_ALLOWED_HOSTS)
    )


def add(*, study: Study, url: str, events: Collection[str], by: User) -> Webhook:
    """Send `events` to `url` from now on. The returned webhook's `secret` is for the receiver: show it once.

    Raises WebhookRefused for a URL that may not be called or is in use already, for unknown events, and if
    the study has MAX_WEBHOOKS.
    """
    try:
        safe_requests.parse_url(url, request_rules())
    except safe_requests.AddressRefused as refused:
        raise WebhookRefused(str(refused)) from refused
    if len(url) > 500:
        raise WebhookRefused(_("The URL is longer than 500 characters."))
    chosen = _chosen(events)
    try:
        with transaction.atomic():
            # Concurrent calls wait here, so that the limit holds
            Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            if Webhook.objects.filter(study=study).count() >= MAX_WEBHOOKS:
                raise WebhookRefused(
                    _("A study can have at most %(most)d webhooks. Delete one first.")
                    % {"most": MAX_WEBHOOKS}
                )
            webhook = Webhook.objects.create(
                study=study,
                url=url,
                secret=_new_secret(),
                events=chosen,
                created_by=by,
                seen_response=newest_response_id(),
            )
            _record("webhook added", webhook, by=by, events=chosen)
    except IntegrityError as error:
        raise WebhookRefused(_("The study already has a webhook for this URL. Change its events.")) from error
    return webhook


def change_events(*, webhook: Webhook, events: Collection[str], by: User) -> None:
    """Send these events to `webhook` and no others. Raises WebhookRefused."""
    chosen = _chosen(events)
    with transaction.atomic():
        locked = Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
        if locked.events == chosen:
            return
        if not wants_responses(locked):
            # Responses from before the subscription are not sent
            locked.seen_response = newest_response_id()
        locked.events = webhook.events = chosen
        locked.save(update_fields=["events", "seen_response"])
        _record("webhook changed", locked, by=by, events=chosen)


def rotate_secret(*, webhook: Webhook, by: User) -> str:
    """Give `webhook` a new secret and return it. The old one is invalid at once."""
    webhook.secret = _new_secret()
    with transaction.atomic():
        webhook.save(update_fields=["secret"])
        _record("webhook secret changed", webhook, by=by)
    return webhook.secret


def switch(*, webhook: Webhook, on: bool, by: User) -> bool:
    """Enable or disable `webhook`; False if it was so already.

    Pending messages are kept while it is disabled. Once enabled, they and events from now on are sent.
    """
    changes: dict[str, Any] = {"disabled_at": None if on else timezone.now(), "disabled_why": ""}
    if on:
        changes |= {"failing_since": None, "rests_until": None, "seen_response": newest_response_id()}
    with transaction.atomic():
        changed = Webhook.objects.filter(pk=webhook.pk, disabled_at__isnull=not on).update(**changes)
        if changed:
            _record("webhook enabled" if on else "webhook disabled", webhook, by=by)
    webhook.refresh_from_db()
    return bool(changed)


def remove(*, webhook: Webhook, by: User) -> None:
    """Delete `webhook` and its messages."""
    with transaction.atomic():
        _record("webhook deleted", webhook, by=by)
        webhook.delete()


def ping(*, webhook: Webhook) -> Delivery:
    """Queue a test message. Raises WebhookRefused while the webhook is disabled."""
    if webhook.disabled_at is not None:
        raise WebhookRefused(_("The webhook is disabled. Enable it first."))
    return Delivery.objects.create(
        webhook=webhook, event=PING, payload={"webhook": webhook.pk, "events": webhook.events}
    )


def newest_response_id() -> int:
    """The id of the newest response, 0 if there is none."""
    return Response.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def wants_responses(webhook: Webhook) -> bool:
    return bool({RESPONSE_CREATED, FULLY_ANNOTATED} & set(webhook.events))


def _chosen(events: Collection[str]) -> list[str]:
    unknown = sorted(set(events) - EVENTS.keys())
    if unknown:
        raise WebhookRefused(
            _("There is no event '%(event)s'. Choose from: %(events)s.")
            % {"event": unknown[0], "events": ", ".join(EVENTS)}
        )
    if not events:
        raise WebhookRefused(_("Choose at least one event."))
    return [event for event in EVENTS if event in events]


def _new_secret() -> str:
    return f"whsec_{secrets.token_urlsafe(32)}"


def _record(what: str, webhook: Webhook, *, by: User, **details: object) -> None:
    # The host only: the path may contain a secret of the receiver
    host = urlsplit(webhook.url).hostname
    AuditEvent.objects.create(what=what, study_id=webhook.study_id, by=by, details={"host": host, **details})
    logger.info("%s: %s by %s", what, webhook.pk, by.pk)
