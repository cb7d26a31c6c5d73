"""Messages that are sent once more, and messages that are forgotten."""

from datetime import timedelta

import pytest

from annotation.models import Delivery
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


def test_redelivering_does_not_wait_for_the_back_off(webhook):
    message = announce(webhook)
    deliver(Receiver(500))
    deliveries.redeliver(delivery=message)
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
    assert deliveries.forget_old(now=NOW + deliveries.RETENTION - timedelta(seconds=1)) == 0
    assert deliveries.forget_old(now=later) == 1
    assert list(Delivery.objects.values_list("pk", flat=True)) == [waiting.pk] != [old.pk]
