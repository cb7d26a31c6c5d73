"""Delivering messages: signed, tried again, given up, and sent again after a kill."""

import hashlib
import hmac
import json
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import connection
from django.utils import timezone

from annotation import events
from annotation.core.leases import JobState
from annotation.models import AuditEvent, Delivery, Webhook
from annotation.webhooks import safe_requests
from annotation.webhooks.services import deliveries, subscriptions
from tests import factories

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def listening():
    """A webhook of the study `words`, told of `study.paused`."""
    lead = factories.user("lead")
    study = factories.rating_study(name="words", leads=[lead])
    return subscriptions.add(
        study=study, url="https://hooks.example.org/in", events=["study.paused"], by=lead
    )


@pytest.fixture
def webhook():
    return listening()


class Receiver:
    """Answers with `statuses` in turn (the last for ever), and keeps what it got."""

    def __init__(self, *statuses):
        self.statuses, self.got = list(statuses), []

    def __call__(self, url, body, headers):
        # a connection to somebody else must not hold a transaction of ours open
        assert not connection.in_atomic_block or connection.savepoint_ids == []
        self.got.append((url, body, dict(headers)))
        status = self.statuses[0] if len(self.statuses) == 1 else self.statuses.pop(0)
        if isinstance(status, Exception):
            raise status
        return status


def announce(webhook, **data):
    events.announce(study_id=webhook.study_id, event="study.paused", data=data)
    return Delivery.objects.latest("pk")


def deliver(receiver, *, now=NOW):
    return deliveries.deliver_pending(post=receiver, now=now)


def test_a_message_is_signed_so_that_its_receiver_can_tell_that_it_is_ours(webhook):
    receiver = Receiver(200)
    message = announce(webhook, status="paused")
    assert deliver(receiver) == 1
    ((url, body, headers),) = receiver.got
    assert url == "https://hooks.example.org/in"
    parts = dict(part.split("=", 1) for part in headers["X-Visage-Signature"].split(","))
    # as docs/webhooks.md says to check it
    expected = hmac.new(webhook.secret.encode(), f"{parts['t']}.".encode() + body, hashlib.sha256).hexdigest()
    assert parts["v1"] == expected
    assert int(parts["t"]) == int(NOW.timestamp())
    assert (headers["X-Visage-Event"], headers["X-Visage-Delivery"]) == ("study.paused", str(message.key))
    assert json.loads(body) == {
        "event": "study.paused",
        "delivery": str(message.key),
        "study": "words",
        "created_at": message.created_at.isoformat(),
        "data": {"status": "paused"},
    }
    message.refresh_from_db()
    assert (message.state, message.status, message.attempts) == (JobState.DONE, 200, 1)
    assert deliver(receiver) == 0, "what arrived is not sent again"


def test_a_round_ends_after_five_seconds_with_the_message_at_hand(webhook, monkeypatch):
    for _ in range(3):
        announce(webhook)
    clock = iter([0, 4, 5])
    monkeypatch.setattr(deliveries, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert deliver(Receiver(200)) == 1


def test_a_known_signature():
    """Worked out with openssl: printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac whsec_test"""
    assert deliveries.signature(secret="whsec_test", body=b'{"a":1}', at=1700000000) == (
        "t=1700000000,v1=38877139021993b830af32feea6e18a8da83eb2f6e49ee50bd9e4cf4ca4d3789"
    )


@pytest.mark.parametrize("status", [199, 300, 301, 304, 400, 404, 410, 429, 500, 503])
def test_whatever_is_not_2xx_is_tried_again(webhook, status):
    message = announce(webhook)
    deliver(Receiver(status))
    message.refresh_from_db()
    assert (message.state, message.status) == (JobState.PENDING, status)
    assert str(status) in message.error
    assert ("a redirect" in message.error) == (300 <= status < 400)
    assert message.not_before == NOW + timedelta(minutes=1)


@pytest.mark.parametrize(
    "failure",
    [
        safe_requests.NotDelivered("nobody"),
        safe_requests.AddressRefused("inside"),
        ZeroDivisionError("a bug"),
    ],
)
def test_whatever_goes_wrong_stands_on_the_message_and_stops_nothing(webhook, failure):
    message = announce(webhook)
    assert deliver(Receiver(failure)) == 1
    message.refresh_from_db()
    assert message.state == JobState.PENDING
    assert str(failure) in message.error
    assert message.status is None


def test_the_pauses_grow_and_the_last_try_is_the_last(webhook):
    receiver = Receiver(500)
    message = announce(webhook)
    now = NOW
    pauses = []
    for tried in range(deliveries.MAX_ATTEMPTS):
        if tried:
            assert deliver(receiver, now=now - timedelta(seconds=1)) == 0, "not before its time"
        assert deliver(receiver, now=now) == 1
        message.refresh_from_db()
        if message.not_before:
            pauses.append(message.not_before - now)
            now = message.not_before
    assert [pause.total_seconds() / 60 for pause in pauses] == [1, 5, 30, 120, 720]
    assert (message.state, message.attempts) == (JobState.FAILED, 6)
    assert deliver(receiver, now=now + timedelta(days=9)) == 0
    keys = {headers["X-Visage-Delivery"] for _, _, headers in receiver.got}
    bodies = {body for _, body, _ in receiver.got}
    assert len(receiver.got) == 6
    assert len(keys) == len(bodies) == 1, "the same message every time"


def test_a_receiver_that_failed_rests_and_does_not_hold_up_the_others(webhook):
    other_study = factories.rating_study(name="other")
    other = subscriptions.add(
        study=other_study, url="https://fine.example.org/", events=["study.paused"], by=factories.user()
    )
    for _ in range(5):
        announce(webhook)
    announce(other)
    calls = []

    def post(url, body, headers):
        calls.append(url)
        return 500 if "hooks" in url else 200

    assert deliveries.deliver_pending(post=post, now=NOW) == 2
    assert sorted(calls) == ["https://fine.example.org/", "https://hooks.example.org/in"]
    assert deliveries.deliver_pending(post=post, now=NOW + timedelta(seconds=61)) == 1


def test_a_success_ends_the_failing(webhook):
    announce(webhook)
    deliver(Receiver(500))
    webhook.refresh_from_db()
    assert webhook.failing_since == NOW
    deliver(Receiver(204), now=NOW + timedelta(minutes=1))
    webhook.refresh_from_db()
    assert (webhook.failing_since, webhook.rests_until) == (None, None)


def test_a_webhook_that_fails_for_days_is_disabled_and_says_why(webhook):
    announce(webhook)
    deliver(Receiver(500))
    announce(webhook)
    deliver(Receiver(500), now=NOW + deliveries.GIVE_UP_AFTER - timedelta(minutes=1))
    webhook.refresh_from_db()
    assert webhook.disabled_at is None
    announce(webhook)
    deliver(Receiver(500), now=NOW + deliveries.GIVE_UP_AFTER)
    webhook.refresh_from_db()
    assert webhook.disabled_at is not None
    assert "The response was 500." in webhook.disabled_why
    assert AuditEvent.objects.get(what="webhook given up").study_id == webhook.study_id
    assert events.announce(study_id=webhook.study_id, event="study.paused", data={}) == 0
    waiting = Delivery.objects.filter(state=JobState.PENDING).count()
    assert deliver(Receiver(200), now=NOW + timedelta(days=9)) == 0
    # what waits is sent once somebody has mended it
    assert subscriptions.switch(webhook=webhook, on=True, by=factories.user("mender"))
    assert deliver(Receiver(200), now=NOW + timedelta(days=9)) == waiting > 0


def test_two_who_deliver_at_the_same_time_send_a_message_once(webhook):
    announce(webhook)
    inner = Receiver(200)

    def post(url, body, headers):
        assert deliver(inner) == 0, "somebody else has it in hand"
        return inner(url, body, headers)

    assert deliveries.deliver_pending(post=post, now=NOW) == 1
    assert len(inner.got) == 1


class Killed(BaseException):
    """What a process does not survive."""


def test_killed_in_the_middle_it_is_sent_again_under_the_same_key(webhook):
    message = announce(webhook)
    got = []

    def killed(url, body, headers):
        got.append((body, headers["X-Visage-Delivery"]))
        raise Killed

    with pytest.raises(Killed):
        deliver(killed)
    message.refresh_from_db()
    assert (message.state, message.attempts) == (JobState.CLAIMED, 1), "the try was counted first"
    receiver = Receiver(200)
    assert deliver(receiver, now=NOW + deliveries.LEASE - timedelta(seconds=1)) == 0
    assert deliver(receiver, now=NOW + deliveries.LEASE + timedelta(seconds=1)) == 1
    ((_, body, headers),) = receiver.got
    assert (body, headers["X-Visage-Delivery"]) == got[0]


def test_a_message_that_kills_whoever_sends_it_is_parked(webhook):
    message = announce(webhook)

    def killed(url, body, headers):
        raise Killed

    now = NOW
    for _ in range(deliveries.MAX_ATTEMPTS):
        with pytest.raises(Killed):
            deliver(killed, now=now)
        now += deliveries.LEASE + timedelta(seconds=1)
    assert deliver(killed, now=now) == 0
    message.refresh_from_db()
    assert message.state == JobState.FAILED
    assert "stopped during the last attempt" in message.error


def test_who_overslept_the_lease_is_not_heard(webhook):
    message = announce(webhook)

    def slow(url, body, headers):
        assert deliver(Receiver(200), now=NOW + deliveries.LEASE + timedelta(seconds=1)) == 1
        return 500

    deliver(slow)
    message.refresh_from_db()
    assert (message.state, message.status, message.error) == (JobState.DONE, 200, "")
    webhook.refresh_from_db()
    assert webhook.failing_since is None


def test_who_overslept_ends_nothing_that_somebody_else_has_in_hand(webhook):
    message = announce(webhook)

    def killed(url, body, headers):
        raise Killed

    def slow(url, body, headers):
        with pytest.raises(Killed):
            deliver(killed, now=NOW + deliveries.LEASE + timedelta(seconds=1))
        return 200

    deliver(slow)
    message.refresh_from_db()
    assert (message.state, message.attempts, message.status) == (JobState.CLAIMED, 2, None)


def test_a_webhook_that_is_deleted_while_it_is_told_breaks_nothing(webhook):
    announce(webhook)

    def post(url, body, headers):
        Webhook.objects.all().delete()
        return 500

    assert deliveries.deliver_pending(post=post, now=NOW) == 1
