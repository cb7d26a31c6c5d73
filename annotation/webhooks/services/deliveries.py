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

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.core.leases import Claim, JobState, Leases
from annotation.models import AuditEvent, Delivery, Webhook
from annotation.webhooks import safe_requests
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

LEASES = Leases(
    Delivery,
    tries=MAX_ATTEMPTS,
    pause=lambda attempt: BACKOFF[attempt - 1],
    related=("webhook__study",),
    length=lambda: LEASE,
    abandoned="The worker stopped during the last attempt. The message may have arrived.",
)

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
    return LEASES.claimable(now).filter(_receivers(now)).order_by("created_at", "pk")


def deliver_pending(*, now: datetime | None = None, post: Post = send) -> int:
    """Send up to 20 messages, for about five seconds; returns how many were attempted.

    Any number of processes may do so at the same time.
    """
    attempted = 0
    until = time.monotonic() + 5
    while attempted < 20 and time.monotonic() < until:
        moment = now or timezone.now()
        # Asked first without a lock: most rounds find nothing.
        claim = due(moment).exists() and LEASES.claim(_waiting(moment), now=moment)
        if not claim:
            break
        attempted += 1
        _attempt(claim, now=moment, post=post)
    return attempted


def redeliver(*, delivery: Delivery) -> None:
    """Queue a message again, under its old key and with all attempts.

    Raises WebhookRefused while its webhook is disabled, or if the message is about to be sent anyway.
    """
    if delivery.webhook.disabled_at is not None:
        raise WebhookRefused(_("The webhook is disabled. Enable it first."))
    with transaction.atomic():
        # Only a message that waits for another attempt has `not_before`
        requeued = Delivery.objects.filter(
            Q(state__in=[JobState.DONE, JobState.FAILED]) | Q(not_before__isnull=False),
            pk=delivery.pk,
        ).update(
            state=JobState.PENDING,
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


def _receivers(now: datetime) -> Q:
    """Messages of webhooks that are on and do not rest."""
    ready = Webhook.objects.filter(Q(rests_until__isnull=True) | Q(rests_until__lte=now), disabled_at=None)
    return Q(webhook__in=ready)


def _waiting(now: datetime) -> QuerySet[Delivery]:
    return Delivery.objects.filter(_receivers(now)).order_by("created_at", "pk")


def _attempt(claim: Claim[Delivery], *, now: datetime, post: Post) -> None:
    [delivery] = claim.jobs
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
    _store_result(claim, status=status, error=error, now=now)


def _store_result(claim: Claim[Delivery], *, status: int | None, error: str, now: datetime) -> None:
    """Store the result if the message still has this worker's claim, and what it says of the receiver."""
    [delivery] = claim.jobs
    with transaction.atomic():
        if not error:
            claim.finish(now=now, status=status)
            Webhook.objects.filter(
                Q(failing_since__isnull=False) | Q(rests_until__isnull=False), pk=delivery.webhook_id
            ).update(failing_since=None, rests_until=None)
        elif claim.held().exists():
            claim.fail({delivery.pk: error[:500]}, now=now, status=status)
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
