"""Finding what webhooks are told of answers: nothing missed, nothing told twice, nothing of anybody."""

import json
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.annotate.services import responses
from annotation.annotate.services.answer_rules import Answer
from annotation.assignment.services import slots
from annotation.core.leases import JobState
from annotation.events import FULLY_ANNOTATED, RESPONSE_CREATED
from annotation.models import Delivery, Purpose, Response, Slot, SlotState, Unit, Webhook
from annotation.participation.services import withdrawals
from annotation.webhooks.services import events as webhook_events
from annotation.webhooks.services import subscriptions
from tests import factories

BOTH = [RESPONSE_CREATED, FULLY_ANNOTATED]


@pytest.fixture
def study(db):
    return factories.rating_study(name="words", leads=[factories.user("lead")])


@pytest.fixture
def webhook(study):
    return hook(study)


def hook(study, events=BOTH, url="https://hooks.example.org/"):
    return subscriptions.add(study=study, url=url, events=events, by=factories.user())


def units(study):
    return list(study.tasks.get().units.order_by("position"))


def told(event, key, webhook=None):
    """Ids of what was told of `event`, in order."""
    found = Delivery.objects.filter(event=event).order_by("pk")
    if webhook:
        found = found.filter(webhook=webhook)
    return [each["id"] for message in found for each in message.payload[key]]


def test_while_it_cannot_be_known_which_answers_are_there_nothing_is_told(study, webhook, monkeypatch):
    factories.response(units(study)[0])
    monkeypatch.setattr(webhook_events, "highest_safe_id", lambda model, *, timeout: None)
    assert webhook_events.queue_messages() == 0
    monkeypatch.undo()
    assert webhook_events.queue_messages() == 1


@pytest.mark.parametrize("event", BOTH)
def test_a_webhook_is_told_what_it_asked_for_alone(study, event):
    hook(study, events=[event])
    for _ in range(3):
        factories.response(units(study)[0])
    assert webhook_events.queue_messages() == 1
    assert Delivery.objects.get().event == event


def test_answers_are_told_once_and_full_items_with_their_last_answer(study, webhook):
    first, second, _ = units(study)
    given = [factories.response(first).pk, factories.response(first).pk, factories.response(second).pk]
    assert webhook_events.queue_messages() == 1
    assert told(RESPONSE_CREATED, "responses") == given
    assert told(FULLY_ANNOTATED, "units") == []
    assert webhook_events.queue_messages() == 0
    given.append(factories.response(first).pk)
    assert webhook_events.queue_messages() == 2
    assert told(RESPONSE_CREATED, "responses") == given
    assert told(FULLY_ANNOTATED, "units") == [first.pk]
    assert webhook_events.queue_messages() == 0


def test_what_was_there_before_is_not_told(study):
    first, *_ = units(study)
    factories.response(first)
    hook(study)
    assert webhook_events.queue_messages() == 0
    factories.response(first)
    webhook_events.queue_messages()
    assert len(told(RESPONSE_CREATED, "responses")) == 1


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_in_whatever_parts_it_is_looked_at_each_is_told_once(study, webhook, size, monkeypatch):
    monkeypatch.setattr(webhook_events, "MESSAGE_SIZE", size)
    order = [0, 1, 0, 2, 1, 0, 2, 2, 1]
    of = units(study)
    given = [factories.response(of[place]).pk for place in order]
    while webhook_events.queue_messages():
        pass
    assert told(RESPONSE_CREATED, "responses") == given
    assert sorted(told(FULLY_ANNOTATED, "units")) == sorted(unit.pk for unit in of)


def test_a_message_holds_nothing_of_anybody(study, webhook):
    who = factories.annotator(pseudonym="a-secret-name", user=factories.user("maria"))
    answer = factories.response(units(study)[0], who=who, justification="because I live there")
    webhook_events.queue_messages()
    text = json.dumps(Delivery.objects.get().payload)
    assert Delivery.objects.get().payload == {
        "responses": [
            {
                "id": answer.pk,
                "task": study.tasks.get().pk,
                "unit": answer.unit_id,
                "revision": 1,
                "surplus": False,
                "submitted_at": answer.submitted_at.isoformat(),
            }
        ]
    }
    assert not any(word in text for word in ("a-secret-name", "maria", "because", "value"))


def test_training_gold_and_other_studies_are_not_told(study, webhook):
    gold, *_ = units(study)
    Unit.objects.filter(pk=gold.pk).update(purpose=Purpose.GOLD)
    factories.response(gold)
    factories.response(units(factories.rating_study(name="other"))[0])
    assert webhook_events.queue_messages() == 0


def test_a_change_of_mind_is_told_and_does_not_fill_an_item_again(study, webhook):
    first, *_ = units(study)
    answers = [factories.response(first) for _ in range(3)]
    webhook_events.queue_messages()
    last = answers[-1]
    Response.objects.filter(pk=last.pk).update(current=False)
    revised = Response.objects.create(
        unit=first,
        slot=last.slot,
        client_key="00000000-0000-0000-0000-000000000009",
        task_version=1,
        revision=2,
        submitted_at=timezone.now(),
    )
    assert webhook_events.queue_messages() == 1
    assert told(RESPONSE_CREATED, "responses")[-1] == revised.pk
    assert Delivery.objects.latest("pk").payload["responses"][0]["revision"] == 2
    assert told(FULLY_ANNOTATED, "units") == [first.pk]


def test_an_answer_more_than_needed_does_not_fill_an_item_again(study, webhook):
    first, *_ = units(study)
    last = [factories.response(first) for _ in range(3)][-1]
    webhook_events.queue_messages()
    surplus = Response.objects.create(
        unit=first, client_key=uuid4(), task_version=1, submitted_at=last.submitted_at
    )
    webhook_events.queue_messages()
    assert told(RESPONSE_CREATED, "responses")[-1] == surplus.pk
    assert told(FULLY_ANNOTATED, "units") == [first.pk]


def test_an_item_that_was_reopened_and_filled_again_is_told_again(study, webhook):
    first, *_ = units(study)
    leaver = factories.enrolment(study, consented=True)
    for who in (None, None, leaver.annotator):
        factories.response(first, who=who)
    webhook_events.queue_messages()
    withdrawals.withdraw(annotator=leaver.annotator, study=study, by=None)
    assert webhook_events.queue_messages() == 0
    factories.response(first)
    webhook_events.queue_messages()
    assert told(FULLY_ANNOTATED, "units") == [first.pk, first.pk]


def test_an_answer_that_was_withdrawn_meanwhile_is_not_told(study, webhook):
    leaver = factories.enrolment(study, consented=True)
    factories.response(units(study)[0], who=leaver.annotator)
    kept = factories.response(units(study)[0])
    withdrawals.withdraw(annotator=leaver.annotator, study=study, by=None)
    webhook_events.queue_messages()
    assert told(RESPONSE_CREATED, "responses") == [kept.pk]


def test_without_an_answer_that_is_left_there_is_no_message(study, webhook):
    leaver = factories.enrolment(study, consented=True)
    factories.response(units(study)[0], who=leaver.annotator)
    withdrawals.withdraw(annotator=leaver.annotator, study=study, by=None)
    assert webhook_events.queue_messages() == 0


def test_a_receiver_that_is_away_makes_no_heap(study, webhook, monkeypatch):
    monkeypatch.setattr(webhook_events, "_MAX_WAITING", 2)
    for place in range(3):
        factories.response(units(study)[place])
        webhook_events.queue_messages()
    assert len(told(RESPONSE_CREATED, "responses")) == 2
    Delivery.objects.update(state=JobState.DONE, finished_at=timezone.now())
    webhook_events.queue_messages()
    assert len(told(RESPONSE_CREATED, "responses")) == 3, "it was kept, not lost"


def test_what_happens_while_a_webhook_is_disabled_is_not_told(study, webhook):
    by = factories.user()
    subscriptions.switch(webhook=webhook, on=False, by=by)
    factories.response(units(study)[0])
    assert webhook_events.queue_messages() == 0
    subscriptions.switch(webhook=webhook, on=True, by=by)
    assert webhook_events.queue_messages() == 0
    subscriptions.change_events(webhook=webhook, events=["study.paused"], by=by)
    factories.response(units(study)[0])
    subscriptions.change_events(webhook=webhook, events=BOTH, by=by)
    assert webhook_events.queue_messages() == 0


def test_each_webhook_has_its_own_cursor_and_its_own_events(study, webhook):
    full_only = hook(study, [FULLY_ANNOTATED], url="https://other.example.org/")
    hook(study, ["study.closed"], url="https://third.example.org/")
    first, *_ = units(study)
    for _ in range(3):
        factories.response(first)
    assert webhook_events.queue_messages() == 3
    assert told(FULLY_ANNOTATED, "units", full_only) == [first.pk]
    assert told(RESPONSE_CREATED, "responses", full_only) == []


def test_without_news_a_look_costs_two_queries_and_without_webhooks_one(study, django_assert_num_queries):
    with django_assert_num_queries(1):
        webhook_events.queue_messages()
    hook(study)
    with django_assert_num_queries(2):
        webhook_events.queue_messages()


def test_giving_an_answer_knows_nothing_of_webhooks(study, webhook):
    enrolment = factories.enrolment(study, consented=True)

    def queries():
        slot = slots.lease_next(enrolment=enrolment)
        option = slot.unit.options.get()
        with CaptureQueriesContext(connection) as caught:
            responses.submit(
                enrolment=enrolment,
                unit_id=slot.unit_id,
                client_key=slot.lease_key,
                answers=[Answer(option_id=option.pk, value=5, position=1)],
            )
        return [query["sql"] for query in caught]

    asked = queries()
    assert asked
    assert not any("webhook" in sql or "delivery" in sql for sql in asked)
    Webhook.objects.all().delete()
    assert len(queries()) == len(asked)


def test_of_two_who_look_at_the_same_answers_one_tells(study, webhook):
    factories.response(units(study)[0])
    reached = subscriptions.newest_response_id()
    stale = [Webhook.objects.get(), Webhook.objects.get()]
    assert [webhook_events._queue_for(each, reached) for each in stale] == [1, 0]
    assert Delivery.objects.count() == 1


@pytest.mark.parametrize("state", [SlotState.OPEN, SlotState.LEASED])
def test_an_item_with_a_slot_that_is_not_filled_is_not_full(study, webhook, state):
    first, *_ = units(study)
    for _ in range(3):
        factories.response(first)
    slot = first.slots.first()
    Response.objects.filter(slot=slot).update(slot=None)
    lease = {"lease_key": "00000000-0000-0000-0000-000000000001", "leased_at": timezone.now()}
    lease["lease_expires_at"] = lease["leased_at"]
    Slot.objects.filter(pk=slot.pk).update(
        state=state,
        **(
            {**lease, "annotator": factories.annotator()}
            if state == SlotState.LEASED
            else {"annotator": None}
        ),
    )
    webhook_events.queue_messages()
    assert told(FULLY_ANNOTATED, "units") == []
