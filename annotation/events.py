"""What happens in a study, as messages to its webhooks (docs/webhooks.md).

A message holds ids, counts and times, and nothing of anybody: who needs more fetches it by the API, with a
token that says what they may see. What happens seldom is announced where it happens, in the same transaction;
answers are found afterwards (webhooks/services/events.py), so that giving one costs no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_noop

from annotation.models import Delivery, Study, Webhook

PING = "ping"


RESPONSE_CREATED = "response.created"


FULLY_ANNOTATED = "item.fully_annotated"


EVENTS: dict[str, str] = {
    RESPONSE_CREATED: gettext_noop("answers came in, up to 100 a message"),
    FULLY_ANNOTATED: gettext_noop("items got the last answer that was wanted of them, up to 100 a message"),
    "annotator.withdrew": gettext_noop("somebody took their answers back: how many, not who"),
    "study.opened": gettext_noop("the study was opened, or opened again after a break"),
    "study.paused": gettext_noop("the study has a break"),
    "study.closed": gettext_noop("the study was closed for good"),
    "scores.finished": gettext_noop("scores were computed"),
    "export.finished": gettext_noop("an export that was made in the background is ready, or failed"),
    "run.finished": gettext_noop("a generation run of images that the study shows came to its end"),
}
"""Event -> what it says. `ping` is sent on request only."""


_STATUS_EVENTS = {"open": "study.opened", "paused": "study.paused", "closed": "study.closed"}


def announce(*, study_id: int, event: str, data: Mapping[str, Any]) -> int:
    """Tell the webhooks of a study that `event` happened, once the surrounding transaction is committed;
    returns how many. `data` holds ids, counts and times only."""
    if event not in EVENTS:
        raise ValueError(f"'{event}' is not an event. Add it to EVENTS.")
    listening = Webhook.objects.filter(study=study_id, disabled_at__isnull=True)
    made = [
        Delivery(webhook=webhook, event=event, payload=dict(data))
        for webhook in listening
        if event in webhook.events
    ]
    Delivery.objects.bulk_create(made)
    return len(made)


def announce_status(*, study: Study) -> int:
    """Tell the webhooks of `study` that it was opened, paused or closed."""
    return announce(study_id=study.pk, event=_STATUS_EVENTS[study.status], data={"status": study.status})
