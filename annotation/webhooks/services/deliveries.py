"""Delivering the messages of webhooks (docs/webhooks.md).

Whoever delivers claims a message by a conditional update that counts the try first, sends outside any
transaction, and writes down what came of it if the message is still theirs. Killed anywhere in between, the
message is sent again after the lease, under the same key: a receiver gets each at least once, in no certain
order.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from uuid import uuid4

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import AuditEvent, Delivery, DeliveryState, Webhook
from annotation.webhooks import safe_requests
from annotation.webhooks.services.subscriptions import WebhookRefused, rules

logger = logging.getLogger(__name__)

BACK_OFF = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=12),
)
"""The pause after each try that failed; there is one try more than pauses."""
TRIES = len(BACK_OFF) + 1
LEASE = timedelta(minutes=2)
"""Longer than a try can take (http_guard.ANSWER_SECONDS)."""
GIVE_UP_AFTER = timedelta(days=3)
"""A webhook that failed for so long without a single success is disabled."""
KEPT = timedelta(days=30)
"""How long a message that is done or failed stays listed."""
# A receiver that failed is left alone for so long, whatever waits for it: it must not hold up the others.
_REST = timedelta(minutes=1)

Post = Callable[[str, bytes, Mapping[str, str]], int]


def body(delivery: Delivery) -> bytes:
    """What is sent, as JSON: the same bytes at every try."""
    return json.dumps(
        {
            "event": delivery.event,
            "delivery": str(delivery.key),
            "study": delivery.webhook.study.name,
            "created_at": delivery.created_at.isoformat(),
            "data": delivery.payload,
        },
        sort_keys=True,
        separators=(",", ":"),
    ).encode()


def signature(*, secret: str, body: bytes, at: int) -> str:
    """`X-Visage-Signature`: the time in Unix seconds, and HMAC-SHA256 of `<time>.<body>` in hexadecimal."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def send(url: str, content: bytes, headers: Mapping[str, str]) -> int:
    """POST to an address that may be called; its status. Raises http_guard's AddressRefused, NotDelivered."""
    return safe_requests.post(url, body=content, headers=headers, rules=rules())


def waiting(now: datetime) -> QuerySet[Delivery]:
    """What could be tried now, oldest first."""
    return Delivery.objects.filter(
        Q(state=DeliveryState.PENDING) & (Q(not_before__isnull=True) | Q(not_before__lte=now))
        | Q(state=DeliveryState.CLAIMED, lease_expires_at__lt=now),
        Q(webhook__rests_until__isnull=True) | Q(webhook__rests_until__lte=now),
        webhook__disabled_at__isnull=True,
    ).order_by("created_at", "pk")


def deliver_pending(
    *, limit: int = 20, seconds: float = 5.0, now: datetime | None = None, post: Post = send
) -> int:
    """Try up to `limit` messages, for about `seconds`; returns how many were tried.

    Any number of processes may do so at the same time.
    """
    tried = 0
    until = time.monotonic() + seconds
    while tried < limit and time.monotonic() < until:
        moment = now or timezone.now()
        delivery = _claim_next(moment)
        if delivery is None:
            break
        tried += 1
        _try(delivery, now=moment, post=post)
    return tried


def redeliver(*, delivery: Delivery, now: datetime | None = None) -> None:
    """Have a message sent once more, under its old key, as if it had not been tried.

    Raises WebhookRefused while its webhook is disabled, or while it waits to be sent anyway.
    """
    if delivery.webhook.disabled_at is not None:
        raise WebhookRefused(_("The webhook is disabled. Enable it first."))
    put_back = Delivery.objects.filter(
        Q(state__in=[DeliveryState.DONE, DeliveryState.FAILED])
        | Q(state=DeliveryState.PENDING, not_before__isnull=False),
        pk=delivery.pk,
    ).update(
        state=DeliveryState.PENDING,
        attempts=0,
        not_before=None,
        status=None,
        error="",
        finished_at=None,
    )
    if not put_back:
        raise WebhookRefused(_("This message is about to be sent already."))
    # somebody says that the receiver is there again
    Webhook.objects.filter(pk=delivery.webhook_id).update(rests_until=None)


def forget_old(*, now: datetime | None = None) -> int:
    """Delete messages that were done with long ago; returns how many."""
    old = Delivery.objects.filter(finished_at__lt=(now or timezone.now()) - KEPT)
    return old.delete()[0]


def _claim_next(now: datetime) -> Delivery | None:
    """Take one message for the length of a lease; None if there is nothing to do. The try is counted here,
    before it begins: a message that kills who sends it is parked in the end."""
    while True:
        found = waiting(now).values_list("pk", "attempts", "claim").first()
        if found is None:
            return None
        pk, attempts, claim = found
        mine = Delivery.objects.filter(pk=pk, attempts=attempts, claim=claim).exclude(
            state__in=[DeliveryState.DONE, DeliveryState.FAILED]
        )
        if attempts >= TRIES:  # claimed for the last time, by somebody who was killed
            mine.update(
                state=DeliveryState.FAILED,
                claim=None,
                lease_expires_at=None,
                finished_at=now,
                error="Whoever sent it for the last time did not come back. It may have arrived.",
            )
            continue
        taken = mine.update(
            state=DeliveryState.CLAIMED,
            claim=uuid4(),
            lease_expires_at=now + LEASE,
            attempts=F("attempts") + 1,
            not_before=None,
        )
        if taken:
            return Delivery.objects.select_related("webhook__study").get(pk=pk)


def _try(delivery: Delivery, *, now: datetime, post: Post) -> None:
    content = body(delivery)
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "visage-webhooks/1",
        "X-Visage-Event": delivery.event,
        "X-Visage-Delivery": str(delivery.key),
        "X-Visage-Signature": signature(
            secret=delivery.webhook.secret, body=content, at=int(now.timestamp())
        ),
    }
    status: int | None = None
    try:
        status = post(delivery.webhook.url, content, headers)
        error = "" if 200 <= status < 300 else _complaint(status)
    except (safe_requests.AddressRefused, safe_requests.NotDelivered) as failed:
        error = str(failed)
    except Exception as failed:  # whatever it was must not stop what waits behind it
        logger.exception("message %s failed", delivery.key)
        error = f"{type(failed).__name__}: {failed}"
    if error:
        _failed(delivery, status=status, error=error, now=now)
    else:
        _done(delivery, status=status, now=now)


def _complaint(status: int) -> str:
    if 300 <= status < 400:
        return f"The answer was {status}: a redirect, and none is followed. Give the address it leads to."
    return f"The answer was {status}."


def _mine(delivery: Delivery) -> QuerySet[Delivery]:
    """The message, if it is still under the key that it was claimed with."""
    return Delivery.objects.filter(pk=delivery.pk, claim=delivery.claim, state=DeliveryState.CLAIMED)


def _done(delivery: Delivery, *, status: int | None, now: datetime) -> None:
    with transaction.atomic():
        _mine(delivery).update(
            state=DeliveryState.DONE,
            claim=None,
            lease_expires_at=None,
            status=status,
            error="",
            finished_at=now,
        )
        Webhook.objects.filter(
            Q(failing_since__isnull=False) | Q(rests_until__isnull=False), pk=delivery.webhook_id
        ).update(failing_since=None, rests_until=None)


def _failed(delivery: Delivery, *, status: int | None, error: str, now: datetime) -> None:
    last = delivery.attempts >= TRIES
    with transaction.atomic():
        mine = _mine(delivery).update(
            state=DeliveryState.FAILED if last else DeliveryState.PENDING,
            claim=None,
            lease_expires_at=None,
            not_before=None if last else now + BACK_OFF[delivery.attempts - 1],
            status=status,
            error=error[:500],
            finished_at=now if last else None,
        )
        if not mine:
            return
        webhook = Webhook.objects.select_for_update(no_key=True).get(pk=delivery.webhook_id)
        webhook.failing_since = webhook.failing_since or now
        webhook.rests_until = now + _REST
        if webhook.disabled_at is None and now - webhook.failing_since >= GIVE_UP_AFTER:
            webhook.disabled_at = now
            webhook.disabled_why = (
                f"Nothing arrived since {webhook.failing_since:%Y-%m-%d %H:%M} UTC. Last: {error[:300]}"
            )
            AuditEvent.objects.create(
                what="webhook given up", study_id=webhook.study_id, details={"webhook": webhook.pk}
            )
            transaction.on_commit(partial(logger.warning, "webhook %s was disabled: it failed", webhook.pk))
        webhook.save(update_fields=["failing_since", "rests_until", "disabled_at", "disabled_why"])


__all__ = [
    "BACK_OFF",
    "GIVE_UP_AFTER",
    "KEPT",
    "LEASE",
    "TRIES",
    "body",
    "deliver_pending",
    "forget_old",
    "redeliver",
    "send",
    "signature",
    "waiting",
]
