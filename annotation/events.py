"""Events of a study, sent as messages to its webhooks (docs/webhooks.md).

Rare events are announced where they happen, in the same transaction. Responses are found afterwards
(webhooks/services/events.py), so that saving one costs no extra query.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_noop

from annotation.models import Delivery, Study, Webhook

PING = "ping"
RESPONSE_CREATED = "response.created"
FULLY_ANNOTATED = "item.fully_annotated"
EVENTS: dict[str, str] = {
    RESPONSE_CREATED: gettext_noop("new responses, up to 100 per message"),
    FULLY_ANNOTATED: gettext_noop("items received their last required response, up to 100 per message"),
    "annotator.withdrew": gettext_noop("an annotator withdrew their responses: how many, not who"),
    "study.opened": gettext_noop("the study was opened or resumed"),
    "study.paused": gettext_noop("the study was paused"),
    "study.closed": gettext_noop("the study was closed"),
    "scores.finished": gettext_noop("scores were computed"),
    "export.finished": gettext_noop("a background export is ready or failed"),
    "run.finished": gettext_noop(
        "a run finished that made or read images which the study shows, or that judged its items"
    ),
}
"""Event -> description. `ping` is sent on request only."""
_STATUS_EVENTS = {"open": "study.opened", "paused": "study.paused", "closed": "study.closed"}


def announce(*, study_id: int, event: str, data: Mapping[str, Any]) -> int:
    """Queue a message about `event` for each webhook of the study that subscribed to it; returns how many.

    The messages are sent once the surrounding transaction is committed. `data` holds ids, counts and times
    only.
    """
    if event not in EVENTS:
        raise ValueError(f"'{event}' is not an event. Add it to EVENTS.")
    webhooks = Webhook.objects.filter(study=study_id, disabled_at__isnull=True)
    deliveries = [
        Delivery(webhook=webhook, event=event, payload=dict(data))
        for webhook in webhooks
        if event in webhook.events
    ]
    Delivery.objects.bulk_create(deliveries)
    return len(deliveries)


def announce_status(*, study: Study) -> int:
    """Announce that `study` was opened, paused or closed."""
    return announce(study_id=study.pk, event=_STATUS_EVENTS[study.status], data={"status": study.status})
