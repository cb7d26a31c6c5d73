"""Messages that are sent once more, and messages that are forgotten."""

from datetime import timedelta
from unittest.mock import Mock

import pytest
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import AuditEvent, Delivery, Webhook
from annotation.webhooks.services import deliveries, subscriptions
from tests import factories
from tests.annotation.webhooks.test_delivery import NOW, Receiver, announce, deliver, listening

pytestmark = pytest.mark.django_db


@pytest.fixture
def webhook():
    return listening()


def test_redelivering_sends_the_same_message_once_more(webhook):
    message = announce(webhook)
    with pytest.raises(subscriptions.WebhookRefused, match="about to be sent"):
        deliveries.redeliver(delivery=message)
    first = Receiver(200)
    deliver(first)
    deliveries.redeliver(delivery=message)
    second = Receiver(200)
    assert deliver(second, now=NOW + timedelta(hours=1)) == 1
    assert first.got[0][1] == second.got[0][1], "the same bytes"
    signed = [receiver.got[0][2]["X-Visage-Signature"] for receiver in (first, second)]
    assert signed[0] != signed[1], "signed at another time"


def test_what_failed_for_good_is_sent_again_and_what_is_in_hand_is_not(webhook):
    message = announce(webhook)
    deliver(Receiver(500))

    def in_hand(url, body, headers):
        with pytest.raises(subscriptions.WebhookRefused, match="about to be sent"):
            deliveries.redeliver(delivery=message)
        return 500

    deliver(in_hand, now=NOW + timedelta(minutes=1))
    Delivery.objects.update(state=JobState.FAILED, not_before=None, finished_at=NOW)
    deliveries.redeliver(delivery=message)
    message.refresh_from_db()
    assert (message.state, message.attempts, message.finished_at) == (JobState.PENDING, 0, None)


def test_what_arrives_when_it_is_sent_again_ends_the_failing(webhook):
    message = announce(webhook)
    deliver(Receiver(500))
    deliveries.redeliver(delivery=message)
    deliver(Receiver(200), now=NOW + timedelta(seconds=1))
    webhook.refresh_from_db()
    assert (webhook.failing_since, webhook.rests_until) == (None, None)


def test_whoever_disables_a_webhook_while_it_is_told_has_disabled_it(webhook):
    announce(webhook)
    deliver(Receiver(500))

    def disabled(url, body, headers):
        subscriptions.switch(webhook=webhook, on=False, by=factories.user("other"))
        return 500

    deliver(disabled, now=NOW + deliveries.GIVE_UP_AFTER)
    webhook.refresh_from_db()
    assert (webhook.state, webhook.disabled_why) == ("off", "")
    assert not AuditEvent.objects.filter(what="webhook given up").exists()


def test_one_round_sends_the_oldest_twenty(webhook, monkeypatch):
    monkeypatch.setattr(deliveries, "time", Mock(monotonic=lambda: 0))
    keys = [str(announce(webhook).key) for _ in range(21)]
    receiver = Receiver(200)
    assert (deliver(receiver), deliver(receiver)) == (20, 1)
    assert [headers["X-Visage-Delivery"] for _, _, headers in receiver.got] == keys


def test_redelivering_does_not_wait_for_the_back_off(webhook):
    message = announce(webhook)
    deliver(Receiver(500))
    announce(webhook)
    later = NOW + timedelta(seconds=30)
    Delivery.objects.exclude(pk=message.pk).update(not_before=later)
    two = {"url": "https://two.example.org/", "secret": "s", "rests_until": later}
    other = Webhook.objects.create(study=webhook.study, **two)
    deliveries.redeliver(delivery=message)
    message.refresh_from_db()
    assert (message.status, message.error) == (None, ""), "there is no answer to this one yet"
    assert Delivery.objects.latest("pk").not_before == later, "no other message is sent"
    other.refresh_from_db()
    assert other.rests_until == later, "and no other receiver is called"
    assert deliver(Receiver(200), now=NOW + timedelta(seconds=1)) == 1


def test_nothing_is_sent_again_to_a_webhook_that_is_disabled(webhook):
    message = announce(webhook)
    deliver(Receiver(200))
    subscriptions.switch(webhook=webhook, on=False, by=factories.user("other"))
    message.refresh_from_db()
    with pytest.raises(subscriptions.WebhookRefused, match="disabled"):
        deliveries.redeliver(delivery=Delivery.objects.select_related("webhook").get(pk=message.pk))
    with pytest.raises(subscriptions.WebhookRefused, match="disabled"):
        subscriptions.ping(webhook=webhook)


def test_old_messages_are_forgotten_and_those_that_wait_are_not(webhook):
    old, waiting = announce(webhook), None
    deliver(Receiver(200))
    waiting = announce(webhook)
    later = NOW + deliveries.RETENTION + timedelta(seconds=1)
    told = (deliveries.RETENTION.days, deliveries.GIVE_UP_AFTER.days)
    assert told == (30, 3), "as docs/webhooks.md says"
    assert deliveries.forget_old(now=NOW + deliveries.RETENTION - timedelta(seconds=1)) == 0
    assert deliveries.forget_old(now=later) == 1
    assert list(Delivery.objects.values_list("pk", flat=True)) == [waiting.pk] != [old.pk]
    long_ago = timezone.now() - deliveries.RETENTION - timedelta(seconds=1)
    Delivery.objects.update(state=JobState.DONE, finished_at=long_ago)
    assert deliveries.forget_old() == 1, "by the clock"
