"""Delivering the messages of webhooks (docs/webhooks.md).

A worker claims a message by a conditional update that also counts the attempt, sends it outside any
transaction, and stores the result if it still has the claim. If it is killed in between, the message is sent
again after the lease, under the same key: a receiver gets each message at least once, in no fixed order.
"""

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
from annotation.webhooks.queries import WAITING
from annotation.webhooks.services.subscriptions import WebhookRefused, request_rules

logger = logging.getLogger(__name__)

BACKOFF = [timedelta(minutes=minutes) for minutes in (1, 5, 30, 2 * 60, 12 * 60)]
"""The pause after each failed attempt; there is one attempt more than pauses."""
MAX_ATTEMPTS = len(BACKOFF) + 1
LEASE = timedelta(minutes=2)
"""Longer than an attempt can take (safe_requests.RESPONSE_SECONDS)."""
GIVE_UP_AFTER = timedelta(days=3)
"""A webhook that failed for this long without a single success is disabled."""
RETENTION = timedelta(days=30)
"""How long a finished message stays listed."""
# After a failure nothing is sent to the receiver for this long, so that it does not hold up the others.
_PAUSE_AFTER_FAILURE = timedelta(minutes=1)

Post = Callable[[str, bytes, Mapping[str, str]], int]


def body(delivery: Delivery) -> bytes:
    """The body of the message, as JSON: the same bytes at every attempt."""
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
    """POST to a URL; returns the HTTP status. Raises AddressRefused and NotDelivered (`safe_requests`)."""
    return safe_requests.post(url, body=content, headers=headers, rules=request_rules())


def due(now: datetime) -> QuerySet[Delivery]:
    """The messages that can be sent now, oldest first."""
    return Delivery.objects.filter(
        Q(state=DeliveryState.PENDING) & (Q(not_before__isnull=True) | Q(not_before__lte=now))
        | Q(state=DeliveryState.CLAIMED, lease_expires_at__lt=now),
        Q(webhook__rests_until__isnull=True) | Q(webhook__rests_until__lte=now),
        webhook__disabled_at__isnull=True,
    ).order_by("created_at", "pk")


def deliver_pending(*, now: datetime | None = None, post: Post = send) -> int:
    """Send up to 20 messages, for about five seconds; returns how many were attempted.

    Any number of processes may do so at the same time.
    """
    attempted = 0
    until = time.monotonic() + 5
    while attempted < 20 and time.monotonic() < until:
        moment = now or timezone.now()
        delivery = _claim_next(moment)
        if delivery is None:
            break
        attempted += 1
        _attempt(delivery, now=moment, post=post)
    return attempted


def redeliver(*, delivery: Delivery) -> None:
    """Queue a message again, under its old key and with all attempts.

    Raises WebhookRefused while its webhook is disabled, or if the message is about to be sent anyway.
    """
    if delivery.webhook.disabled_at is not None:
        raise WebhookRefused(_("The webhook is disabled. Enable it first."))
    requeued = Delivery.objects.filter(
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
    if not requeued:
        raise WebhookRefused(_("This message is about to be sent anyway."))
    # An explicit request does not wait out the pause
    Webhook.objects.filter(pk=delivery.webhook_id).update(rests_until=None)


def forget_old(*, now: datetime | None = None) -> int:
    """Delete messages that finished long ago; returns how many."""
    old = Delivery.objects.filter(finished_at__lt=(now or timezone.now()) - RETENTION)
    return old.delete()[0]


def _claim_next(now: datetime) -> Delivery | None:
    """Claim one message for the length of a lease; None if there is nothing to do. The attempt is counted
    before it begins, so that a message that kills its sender fails in the end."""
    while True:
        first = due(now).first()
        if first is None:
            return None
        unchanged = Delivery.objects.filter(
            pk=first.pk, attempts=first.attempts, claim=first.claim, state__in=WAITING
        )
        if first.attempts >= MAX_ATTEMPTS:  # the worker of the last attempt was killed
            unchanged.update(
                state=DeliveryState.FAILED,
                claim=None,
                lease_expires_at=None,
                finished_at=now,
                error="The worker stopped during the last attempt. The message may have arrived.",
            )
            continue
        claimed = unchanged.update(
            state=DeliveryState.CLAIMED,
            claim=uuid4(),
            lease_expires_at=now + LEASE,
            attempts=F("attempts") + 1,
            not_before=None,
        )
        if claimed:
            return Delivery.objects.select_related("webhook__study").get(pk=first.pk)


def _attempt(delivery: Delivery, *, now: datetime, post: Post) -> None:
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
        error = "" if 200 <= status < 300 else f"The response was {status}."
        if 300 <= status < 400:
            error = f"The response was {status}, a redirect. Redirects are not followed: use the target URL."
    except (safe_requests.AddressRefused, safe_requests.NotDelivered) as failed:
        error = str(failed)
    except Exception as failed:  # one message must not hold up the others
        logger.exception("message %s failed", delivery.key)
        error = f"{type(failed).__name__}: {failed}"
    _store_result(delivery, status=status, error=error, now=now)


def _store_result(delivery: Delivery, *, status: int | None, error: str, now: datetime) -> None:
    """Store the result if the message still has this worker's claim, and what it says of the receiver."""
    if not error:
        state = DeliveryState.DONE
    elif delivery.attempts >= MAX_ATTEMPTS:
        state = DeliveryState.FAILED
    else:
        state = DeliveryState.PENDING
    again = state == DeliveryState.PENDING
    with transaction.atomic():
        claimed = Delivery.objects.filter(pk=delivery.pk, claim=delivery.claim, state=DeliveryState.CLAIMED)
        stored = claimed.update(
            state=state,
            claim=None,
            lease_expires_at=None,
            not_before=now + BACKOFF[delivery.attempts - 1] if again else None,
            status=status,
            error=error[:500],
            finished_at=None if again else now,
        )
        if not error:
            Webhook.objects.filter(
                Q(failing_since__isnull=False) | Q(rests_until__isnull=False), pk=delivery.webhook_id
            ).update(failing_since=None, rests_until=None)
        elif stored:
            _note_failure(delivery.webhook_id, error=error, now=now)


def _note_failure(pk: int, *, error: str, now: datetime) -> None:
    """Let the receiver rest; disable a webhook that has failed for too long."""
    webhook = Webhook.objects.select_for_update(no_key=True).get(pk=pk)
    webhook.failing_since = webhook.failing_since or now
    webhook.rests_until = now + _PAUSE_AFTER_FAILURE
    if webhook.disabled_at is None and now - webhook.failing_since >= GIVE_UP_AFTER:
        webhook.disabled_at = now
        webhook.disabled_why = (
            f"Nothing arrived since {webhook.failing_since:%Y-%m-%d %H:%M} UTC. Last error: {error[:300]}"
        )
        AuditEvent.objects.create(
            what="webhook given up", study_id=webhook.study_id, details={"webhook": webhook.pk}
        )
        transaction.on_commit(partial(logger.warning, "webhook %s was disabled: it failed", webhook.pk))
    webhook.save(update_fields=["failing_since", "rests_until", "disabled_at", "disabled_why"])
