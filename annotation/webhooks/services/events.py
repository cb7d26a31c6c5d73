"""Messages about new responses, found after they were saved: saving a response costs no extra query.

Each webhook has a cursor, the id of the last response it covers. The cursor stops at the highest id below
which no new response can appear (core/committed_ids.py).
"""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q

from annotation.core.committed_ids import TIMEOUT_SECONDS, highest_safe_id
from annotation.core.leases import OPEN
from annotation.events import FULLY_ANNOTATED, RESPONSE_CREATED
from annotation.models import Delivery, Purpose, Response, Slot, SlotState, Unit, Webhook
from annotation.webhooks.services.subscriptions import newest_response_id, wants_responses

MESSAGE_SIZE = 100
"""Responses, or units, in one message."""
# If a receiver is down the cursor waits, so that its pending messages do not pile up.
_MAX_WAITING = 20
# How far a cursor may lag behind if nothing happens in its own study.
_MAX_LAG = 10_000


def queue_messages(*, timeout: float = TIMEOUT_SECONDS) -> int:
    """Queue messages about responses that came in since the last call; returns how many messages.

    Every response is sent exactly once, however many processes call this at the same time.
    """
    enabled = Webhook.objects.filter(disabled_at__isnull=True).order_by("pk")
    subscribed = [webhook for webhook in enabled if wants_responses(webhook)]
    newest = newest_response_id() if subscribed else 0
    behind = [webhook for webhook in subscribed if webhook.seen_response < newest]
    if not behind:
        return 0
    reached = highest_safe_id(Response, timeout=timeout)
    if reached is None:
        return 0
    return sum(_queue_for(webhook, reached) for webhook in behind)


def _queue_for(webhook: Webhook, reached: int) -> int:
    """Queue messages about the next responses, up to the id `reached`, for one webhook."""
    waiting = Delivery.objects.filter(webhook=webhook, state__in=OPEN)
    if reached <= webhook.seen_response or waiting.count() >= _MAX_WAITING:
        return 0
    since = Response.objects.filter(
        pk__gt=webhook.seen_response,
        pk__lte=reached,
        unit__task__study=webhook.study_id,
        unit__purpose=Purpose.DATA,
    )
    responses = list(since.select_related("unit").order_by("pk")[:MESSAGE_SIZE])
    if not responses and reached - webhook.seen_response < _MAX_LAG:
        return 0
    last = responses[-1].pk if len(responses) == MESSAGE_SIZE else reached
    messages: list[Delivery] = []
    rows = [
        {
            "id": response.pk,
            "task": response.unit.task_id,
            "unit": response.unit_id,
            "revision": response.revision,
            "surplus": response.slot_id is None,
            "submitted_at": response.submitted_at.isoformat() if response.submitted_at else None,
        }
        for response in responses
        if response.withdrawn_at is None
    ]
    if RESPONSE_CREATED in webhook.events and rows:
        messages.append(Delivery(webhook=webhook, event=RESPONSE_CREATED, payload={"responses": rows}))
    if FULLY_ANNOTATED in webhook.events and (units := _fully_annotated(responses)):
        messages.append(Delivery(webhook=webhook, event=FULLY_ANNOTATED, payload={"units": units}))
    with transaction.atomic():
        # If two processes read the same responses, only the one that moves the cursor queues them
        moved = Webhook.objects.filter(
            pk=webhook.pk, seen_response=webhook.seen_response, disabled_at__isnull=True
        ).update(seen_response=last)
        if not moved:
            return 0
        Delivery.objects.bulk_create(messages)
    return len(messages)


def _fully_annotated(responses: Iterable[Response]) -> list[dict[str, Any]]:
    """The units whose last required response is among `responses`.

    The last one has the largest id of the first revisions that filled a slot. So each unit is reported once,
    with that response, however the responses are split into batches.
    """
    unit_of = {response.pk: response.unit_id for response in responses}
    open_slots = Slot.objects.filter(unit=OuterRef("pk")).exclude(state=SlotState.FILLED)
    first_revisions = Q(responses__slot__isnull=False, responses__revision=1)
    full = (
        Unit.objects.filter(pk__in=set(unit_of.values()))
        .exclude(Exists(open_slots))
        .annotate(last=Max("responses__pk", filter=first_revisions))
        .order_by("pk")
        .values_list("pk", "task", "last")
    )
    return [{"id": unit, "task": task} for unit, task, last in full if last in unit_of]
