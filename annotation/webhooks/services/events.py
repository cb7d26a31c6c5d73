"""Answers for webhooks, found after they were given: giving one costs no query more.

Each webhook has a cursor, the id of the last answer looked at. It goes no
further than the highest safe id (core/committed_ids.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q

from annotation.core.committed_ids import TIMEOUT_SECONDS, highest_safe_id
from annotation.events import FULLY_ANNOTATED, RESPONSE_CREATED
from annotation.models import Delivery, DeliveryState, Purpose, Response, Slot, SlotState, Unit, Webhook
from annotation.webhooks.services.subscriptions import newest_response

BATCH = 100
"""Answers, or items, in one message."""
# A receiver that is away: the cursor waits, so that what is kept for it does not grow.
_MOST_WAITING = 20
# How far a cursor may lag where nothing happened in its own study.
_LAG = 10_000


def find(*, timeout: float = TIMEOUT_SECONDS) -> int:
    """Write messages about answers that came in since the last look; returns how many messages.

    Never misses an answer and never tells it twice, however many processes look at the same time.
    """
    interested = [
        webhook
        for webhook in Webhook.objects.filter(disabled_at__isnull=True).order_by("pk")
        if {RESPONSE_CREATED, FULLY_ANNOTATED} & set(webhook.events)
    ]
    newest = newest_response() if interested else 0
    behind = [webhook for webhook in interested if webhook.seen_response < newest]
    if not behind:
        return 0
    reached = highest_safe_id(Response, timeout=timeout)
    if reached is None:
        return 0
    return sum(_look(webhook, reached) for webhook in behind)


def _look(webhook: Webhook, reached: int) -> int:
    """Tell one webhook of the next answers, up to `reached`."""
    waiting = Delivery.objects.filter(
        webhook=webhook, state__in=[DeliveryState.PENDING, DeliveryState.CLAIMED]
    )
    if reached <= webhook.seen_response or waiting.count() >= _MOST_WAITING:
        return 0
    since = Response.objects.filter(
        pk__gt=webhook.seen_response,
        pk__lte=reached,
        unit__task__study=webhook.study_id,
        unit__purpose=Purpose.DATA,
    )
    answers = list(since.select_related("unit").order_by("pk")[:BATCH])
    if not answers and reached - webhook.seen_response < _LAG:
        return 0
    upto = answers[-1].pk if len(answers) == BATCH else reached
    messages: list[tuple[str, dict[str, Any]]] = []
    told = [_answer(answer) for answer in answers if answer.withdrawn_at is None]
    if RESPONSE_CREATED in webhook.events and told:
        messages.append((RESPONSE_CREATED, {"responses": told}))
    if FULLY_ANNOTATED in webhook.events and (units := _full(answers)):
        messages.append((FULLY_ANNOTATED, {"units": units}))
    with transaction.atomic():
        # of two who looked at the same answers, one moves the cursor and tells
        moved = Webhook.objects.filter(
            pk=webhook.pk, seen_response=webhook.seen_response, disabled_at__isnull=True
        ).update(seen_response=upto)
        if not moved:
            return 0
        Delivery.objects.bulk_create(
            Delivery(webhook=webhook, event=event, payload=data) for event, data in messages
        )
    return len(messages)


def _answer(answer: Response) -> dict[str, Any]:
    return {
        "id": answer.pk,
        "task": answer.unit.task_id,
        "unit": answer.unit_id,
        "revision": answer.revision,
        "surplus": answer.slot_id is None,
        "submitted_at": answer.submitted_at.isoformat() if answer.submitted_at else None,
    }


def _full(answers: Iterable[Response]) -> list[dict[str, Any]]:
    """The units whose last wanted answer is among `answers`.

    The one that was last is the largest id of those that filled a slot, a change of mind left out: so each
    unit is told of with that answer and no other, in whatever parts the answers are looked at.
    """
    looked_at = {answer.pk: answer.unit_id for answer in answers}
    wanting = Slot.objects.filter(unit=OuterRef("pk")).exclude(state=SlotState.FILLED)
    first_given = Q(responses__slot__isnull=False, responses__revision=1)
    full = (
        Unit.objects.filter(pk__in=set(looked_at.values()))
        .exclude(Exists(wanting))
        .annotate(last=Max("responses__pk", filter=first_given))
        .order_by("pk")
        .values_list("pk", "task", "last")
    )
    return [{"id": unit, "task": task} for unit, task, last in full if last in looked_at]


__all__ = ["BATCH", "find"]
