"""How far each webhook has been told: its own cursor, its own messages, its own limit."""

import pytest
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.events import FULLY_ANNOTATED, RESPONSE_CREATED
from annotation.models import Delivery, Webhook
from annotation.webhooks import queries
from annotation.webhooks.services import events as webhook_events
from annotation.webhooks.services import subscriptions
from tests import factories
from tests.annotation.webhooks.test_events import hook, told, units

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.rating_study(name="words")


@pytest.fixture
def webhook(study):
    return hook(study)


def test_a_receiver_that_is_away_holds_up_no_other(study, webhook, monkeypatch):
    monkeypatch.setattr(webhook_events, "_MAX_WAITING", 1)
    hook(study, url="https://other.example.org/")
    factories.response(units(study)[0])
    assert webhook_events.queue_messages() == 2


def test_answers_beyond_what_is_safe_to_read_wait(study, webhook):
    first, _ = (factories.response(unit) for unit in units(study)[:2])
    assert webhook_events._queue_for(webhook, first.pk) == 1
    assert told(RESPONSE_CREATED, "responses") == [first.pk]
    webhook.refresh_from_db()
    assert webhook.seen_response == first.pk


def test_what_was_disabled_since_it_was_looked_at_is_told_nothing(study, webhook):
    factories.response(units(study)[0])
    seen = Webhook.objects.get()
    subscriptions.switch(webhook=webhook, on=False, by=factories.user())
    assert webhook_events._queue_for(seen, subscriptions.newest_response_id()) == 0
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(("behind", "moved"), [(2, False), (3, True)])
def test_a_cursor_without_news_moves_only_when_it_lags_far_behind(study, webhook, behind, moved, monkeypatch):
    monkeypatch.setattr(webhook_events, "_MAX_LAG", 3)
    factories.response(units(factories.rating_study(name="other"))[0])
    newest = subscriptions.newest_response_id()
    Webhook.objects.update(seen_response=newest - behind)
    assert webhook_events.queue_messages() == 0
    assert (Webhook.objects.get().seen_response == newest) is moved


def test_other_events_than_before_lose_no_answer_that_was_to_be_told(study, webhook):
    given = factories.response(units(study)[0])
    subscriptions.change_events(webhook=webhook, events=[RESPONSE_CREATED], by=factories.user())
    assert webhook_events.queue_messages() == 1
    assert told(RESPONSE_CREATED, "responses") == [given.pk]


def test_a_list_counts_what_waits_and_what_failed_of_each_webhook_of_the_study(study, webhook):
    newer = hook(study, [FULLY_ANNOTATED], url="https://newer.example.org/")
    hook(factories.rating_study(name="other"))
    now = timezone.now()
    for state in (JobState.PENDING, JobState.FAILED, JobState.FAILED, JobState.DONE):
        ended = None if state == JobState.PENDING else now
        error = "x" if state == JobState.FAILED else ""
        Delivery.objects.create(webhook=webhook, event="ping", state=state, error=error, finished_at=ended)
    listed = queries.webhooks_of_study(study)
    assert [(one.pk, one.waiting, one.failed) for one in listed] == [(newer.pk, 0, 0), (webhook.pk, 1, 2)]
    ids = [message.pk for message in queries.messages(webhook)]
    assert ids == sorted(ids, reverse=True)
