"""Webhooks: addresses that are told what happens in a study (docs/webhooks.md).

What happens is announced in annotation/events.py; answers are found in webhooks/services/events.py.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.events import EVENTS, FULLY_ANNOTATED, PING, RESPONSE_CREATED
from annotation.models import AuditEvent, Delivery, Response, Study, Webhook
from annotation.webhooks import safe_requests

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger(__name__)


MOST = 10


class WebhookRefused(ValueError):
    """A webhook that cannot be kept as asked. The message says what to do."""


def rules() -> safe_requests.Rules:
    """What this installation may call."""
    return safe_requests.Rules(
        allow_http=settings.WEBHOOK_ALLOW_HTTP, hosts=frozenset(settings.WEBHOOK_ALLOWED_HOSTS)
    )


def add(*, study: Study, url: str, events: Collection[str], by: User) -> Webhook:
    """Tell `url` of `events` from now on. `secret` of what is returned is for the receiver; show it once.

    Raises WebhookRefused for an address that may not be called or is there already, for events that there
    are not, and where a study has enough.
    """
    try:
        safe_requests.checked(url, rules())
    except safe_requests.AddressRefused as refused:
        raise WebhookRefused(str(refused)) from refused
    if len(url) > 500:
        raise WebhookRefused(_("The address is longer than 500 signs."))
    chosen = _chosen(events)
    try:
        with transaction.atomic():
            # whoever adds one at the same time waits here, so that there are never more than allowed
            Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            if Webhook.objects.filter(study=study).count() >= MOST:
                raise WebhookRefused(
                    _("A study has %(most)d webhooks at most. Delete one first.") % {"most": MOST}
                )
            webhook = Webhook.objects.create(
                study=study,
                url=url,
                secret=_new_secret(),
                events=chosen,
                created_by=by,
                seen_response=newest_response(),
            )
            _record("webhook added", webhook, by=by, events=chosen)
    except IntegrityError as error:
        raise WebhookRefused(_("This address is told already. Change its events instead.")) from error
    return webhook


def choose(*, webhook: Webhook, events: Collection[str], by: User) -> None:
    """Tell `webhook` of these events and no others. Raises WebhookRefused."""
    chosen = _chosen(events)
    with transaction.atomic():
        held = _locked(webhook)
        if held.events == chosen:
            return
        listened = _wants_answers(held)
        held.events = webhook.events = chosen
        if not listened:
            # it asked for none until now: those of before are not sent
            held.seen_response = newest_response()
        held.save(update_fields=["events", "seen_response"])
        _record("webhook changed", held, by=by, events=chosen)


def rotate(*, webhook: Webhook, by: User) -> str:
    """Give `webhook` a new secret, and return it: the old one signs nothing from now on."""
    fresh = _new_secret()
    with transaction.atomic():
        held = _locked(webhook)
        held.secret = webhook.secret = fresh
        held.save(update_fields=["secret"])
        _record("webhook secret changed", held, by=by)
    return fresh


def disable(*, webhook: Webhook, by: User, now: datetime | None = None) -> bool:
    """Send nothing more to `webhook`; False if it was disabled before. What waits is kept."""
    with transaction.atomic():
        done = Webhook.objects.filter(pk=webhook.pk, disabled_at__isnull=True).update(
            disabled_at=now or timezone.now(), disabled_why=""
        )
        if done:
            _record("webhook disabled", webhook, by=by)
    webhook.refresh_from_db()
    return bool(done)


def enable(*, webhook: Webhook, by: User) -> bool:
    """Send to `webhook` again what waits and what happens from now on; False if it was not disabled."""
    with transaction.atomic():
        done = Webhook.objects.filter(pk=webhook.pk, disabled_at__isnull=False).update(
            disabled_at=None,
            disabled_why="",
            failing_since=None,
            rests_until=None,
            seen_response=newest_response(),
        )
        if done:
            _record("webhook enabled", webhook, by=by)
    webhook.refresh_from_db()
    return bool(done)


def remove(*, webhook: Webhook, by: User) -> None:
    """Forget `webhook` and what was sent to it."""
    with transaction.atomic():
        _record("webhook deleted", webhook, by=by)
        webhook.delete()


def ping(*, webhook: Webhook) -> Delivery:
    """Have a test message sent. Raises WebhookRefused while the webhook is disabled."""
    if webhook.disabled_at is not None:
        raise WebhookRefused(_("The webhook is disabled. Enable it first."))
    return Delivery.objects.create(
        webhook=webhook, event=PING, payload={"webhook": webhook.pk, "events": webhook.events}
    )


def newest_response() -> int:
    """The id of the newest answer there is, 0 without one."""
    return Response.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def _wants_answers(webhook: Webhook) -> bool:
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


def _locked(webhook: Webhook) -> Webhook:
    return Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)


def _record(what: str, webhook: Webhook, *, by: User, **details: object) -> None:
    # the host only: a path may hold a secret of the receiver's
    host = urlsplit(webhook.url).hostname
    AuditEvent.objects.create(what=what, study_id=webhook.study_id, by=by, details={"host": host, **details})
    logger.info("%s: %s by %s", what, webhook.pk, by.pk)


__all__ = [
    "MOST",
    "WebhookRefused",
    "add",
    "choose",
    "disable",
    "enable",
    "newest_response",
    "ping",
    "remove",
    "rotate",
    "rules",
]
