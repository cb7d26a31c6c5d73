"""A lead's webhooks: adding, showing the secret once, steering, and what is announced where it happens."""

from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation import events as annotation_events
from annotation.core.leases import JobState
from annotation.events import EVENTS
from annotation.models import AuditEvent, Delivery, StudyStatus, Webhook
from annotation.participation.services import withdrawals
from annotation.studies.errors import StudyRefused
from annotation.studies.services import studies
from annotation.webhooks.services import deliveries, subscriptions
from tests import factories

pytestmark = pytest.mark.django_db
URL = "https://hooks.example.org/in?key=receiver-secret"


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    return factories.rating_study(name="words", leads=[lead])


@pytest.fixture
def webhook(study, lead):
    return subscriptions.add(study=study, url=URL, events=list(EVENTS), by=lead)


def send(client, name, *args, **data):
    return client.post(reverse(name, args=args), data)


def test_a_lead_adds_an_address_and_sees_its_secret_this_one_time(client, lead, study):
    client.force_login(lead)
    answer = send(client, "webhooks", "words", url=URL, events=["study.paused", "response.created"])
    made = Webhook.objects.get()
    assert made.secret.startswith("whsec_")
    assert len(made.secret) > 40
    assert made.secret in answer.text
    assert made.events == ["response.created", "study.paused"]
    assert "no-store" in answer["Cache-Control"]
    for page in (reverse("webhooks", args=["words"]), reverse("webhook", args=["words", made.pk])):
        assert made.secret not in client.get(page).text
    event = AuditEvent.objects.get(what="webhook added")
    assert event.by == lead
    assert event.details == {"host": "hooks.example.org", "events": made.events}, "a path may be secret"


@pytest.mark.parametrize(
    ("url", "events", "words"),
    [
        ("http://hooks.example.org/", ["study.paused"], "must begin with https://"),
        ("https://me:pass@hooks.example.org/", ["study.paused"], "user name or a password"),
        ("https://hooks.example.org:6379/", ["study.paused"], "Port 6379 is not allowed"),
        ("javascript:alert(1)", ["study.paused"], "begin with https://"),
        ("", ["study.paused"], "This field is required"),
        ("https://x.example.org/" + "a" * 600, ["study.paused"], "at most 500"),
        ("https://hooks.example.org/", [], "Choose at least one event"),
        ("https://hooks.example.org/", ["study.exploded"], "study.exploded is not one of the"),
    ],
)
def test_what_cannot_be_told_is_refused_with_the_cure(client, lead, study, url, events, words):
    client.force_login(lead)
    answer = send(client, "webhooks", "words", url=url, events=events)
    assert answer.status_code == 422
    assert words in answer.text
    assert not Webhook.objects.exists()


def test_the_service_refuses_what_no_form_has_looked_at(study, lead):
    for url, events, words in (
        (URL, ["no.such"], "no event 'no.such'"),
        (URL, [], "at least one"),
        ("https://x.example.org/" + "a" * 600, ["study.paused"], "longer than 500"),
    ):
        with pytest.raises(subscriptions.WebhookRefused, match=words):
            subscriptions.add(study=study, url=url, events=events, by=lead)
    longest = "https://x.example.org/".ljust(500, "a")
    assert subscriptions.add(study=study, url=longest, events=["study.paused"], by=lead).url == longest


def test_the_same_address_twice_and_more_than_enough_are_refused(study, lead, webhook):
    with pytest.raises(subscriptions.WebhookRefused, match="already has a webhook"):
        subscriptions.add(study=study, url=URL, events=["study.paused"], by=lead)
    for number in range(subscriptions.MAX_WEBHOOKS - 1):
        subscriptions.add(
            study=study, url=f"https://h{number}.example.org/", events=["study.paused"], by=lead
        )
    with pytest.raises(subscriptions.WebhookRefused, match="at most 10 webhooks"):
        subscriptions.add(study=study, url="https://more.example.org/", events=["study.paused"], by=lead)
    assert Webhook.objects.count() == AuditEvent.objects.count() == subscriptions.MAX_WEBHOOKS
    other = factories.rating_study(name="other")
    assert subscriptions.add(study=other, url=URL, events=["study.paused"], by=lead).study == other


def test_a_laboratory_can_allow_more(study, lead, settings):
    settings.WEBHOOK_ALLOW_HTTP = True
    settings.WEBHOOK_ALLOWED_HOSTS = ["receiver"]
    subscriptions.add(study=study, url="http://receiver:9000/", events=["study.paused"], by=lead)


def test_a_new_secret_replaces_the_old_one(client, lead, webhook):
    client.force_login(lead)
    old = webhook.secret
    answer = send(client, "webhook_action", "words", webhook.pk, "rotate")
    webhook.refresh_from_db()
    assert webhook.secret != old
    assert webhook.secret in answer.text
    assert old not in answer.text


def test_disabling_enabling_changing_and_deleting(client, lead, webhook):
    client.force_login(lead)
    send(client, "webhook_action", "words", webhook.pk, "disable")
    webhook.refresh_from_db()
    assert webhook.disabled_at is not None
    assert (
        "disabled"
        in client.post(reverse("webhook_action", args=["words", webhook.pk, "ping"]), follow=True).text
    )
    assert not Delivery.objects.exists()
    send(client, "webhook_action", "words", webhook.pk, "enable")
    for _ in range(2):
        send(client, "webhook", "words", webhook.pk, events=["study.closed"])
    webhook.refresh_from_db()
    assert (webhook.disabled_at, webhook.events) == (None, ["study.closed"])
    send(client, "webhook_action", "words", webhook.pk, "ping")
    assert Delivery.objects.get().event == "ping"
    send(client, "webhook_action", "words", webhook.pk, "delete")
    assert not Webhook.objects.exists()
    assert list(AuditEvent.objects.order_by("pk").values_list("what", flat=True)) == [
        "webhook added",
        "webhook disabled",
        "webhook enabled",
        "webhook changed",
        "webhook deleted",
    ]


def test_disabling_and_enabling_twice_is_doing_it_once(webhook, lead):
    assert subscriptions.switch(webhook=webhook, on=False, by=lead)
    assert not subscriptions.switch(webhook=webhook, on=False, by=lead)
    assert subscriptions.switch(webhook=webhook, on=True, by=lead)
    assert not subscriptions.switch(webhook=webhook, on=True, by=lead)
    assert AuditEvent.objects.exclude(what="webhook added").count() == 2


def test_enabling_forgets_that_it_failed_and_that_it_was_given_up(webhook, lead):
    now = timezone.now()
    failing = {"failing_since": now, "rests_until": now, "disabled_why": "Nothing arrived"}
    Webhook.objects.filter(pk=webhook.pk).update(disabled_at=now, **failing)
    subscriptions.switch(webhook=webhook, on=True, by=lead)
    assert (webhook.state, webhook.failing_since, webhook.rests_until) == ("on", None, None)
    subscriptions.switch(webhook=webhook, on=False, by=lead)
    assert webhook.state == "off"


def test_the_page_lists_what_was_sent_and_what_went_wrong(client, lead, webhook):
    client.force_login(lead)
    subscriptions.ping(webhook=webhook)
    deliveries.deliver_pending(post=lambda url, body, headers: 503)
    page = client.get(reverse("webhook", args=["words", webhook.pk])).text
    message = Delivery.objects.get()
    for words in (
        "ping",
        "1/6",
        "503",
        "The response was 503.",
        str(message.key),
        "Nothing has arrived since",
    ):
        assert words in page
    send(client, "webhook_redeliver", "words", webhook.pk, message.pk)
    message.refresh_from_db()
    assert (message.attempts, message.not_before, message.error) == (0, None, "")


def test_the_pages_ask_as_many_queries_for_many_as_for_few(
    client, lead, study, webhook, django_assert_max_num_queries
):
    client.force_login(lead)
    urls = [reverse("webhooks", args=["words"]), reverse("webhook", args=["words", webhook.pk])]
    for number in range(8):
        subscriptions.add(
            study=study, url=f"https://h{number}.example.org/", events=["study.paused"], by=lead
        )
    Delivery.objects.bulk_create(Delivery(webhook=webhook, event="ping") for _ in range(120))
    for url in urls:
        with django_assert_max_num_queries(8):
            assert client.get(url).status_code == 200
    assert "Page 3 of 3" in client.get(urls[1], {"page": "99"}).text
    assert client.get(urls[1]).context["page"][0] == Delivery.objects.latest("pk"), "newest first"


def test_another_studys_webhooks_and_messages_are_not_there(client, lead, webhook):
    stranger = factories.user("stranger")
    factories.rating_study(name="theirs", leads=[stranger])
    message = subscriptions.ping(webhook=webhook)
    client.force_login(stranger)
    for name, *more in (
        ("webhook",),
        ("webhook_action", "delete"),
        ("webhook_redeliver", message.pk),
    ):
        for study in ("theirs", "words"):
            assert send(client, name, study, webhook.pk, *more).status_code == 404
    client.force_login(lead)
    other = subscriptions.add(
        study=webhook.study, url="https://two.example.org/", events=["study.paused"], by=lead
    )
    assert send(client, "webhook_redeliver", "words", other.pk, message.pk).status_code == 404
    assert send(client, "webhook_action", "words", webhook.pk, "explode").status_code == 404
    assert Webhook.objects.count() == 2


def test_opening_pausing_and_closing_are_announced_once_and_only_if_they_happened(study, webhook):
    for to in (StudyStatus.PAUSED, StudyStatus.PAUSED, StudyStatus.OPEN, StudyStatus.CLOSED):
        studies.change_status(study=study, to=to, by=None)
    with pytest.raises(StudyRefused):
        studies.change_status(study=study, to=StudyStatus.OPEN, by=None)
    said = Delivery.objects.order_by("pk").values_list("event", "payload")
    assert list(said) == [
        ("study.paused", {"status": "paused"}),
        ("study.opened", {"status": "open"}),
        ("study.closed", {"status": "closed"}),
    ]


def test_a_withdrawal_is_announced_with_counts_and_without_the_person(study, webhook):
    who = factories.enrolment(study, consented=True, pseudonym="a-gone")
    factories.response(study.tasks.get().units.first(), who=who.annotator)
    withdrawals.withdraw(annotator=who.annotator, study=study, by=None)
    withdrawals.withdraw(annotator=who.annotator, study=study, by=None)
    message = Delivery.objects.get()
    assert (message.event, message.payload) == (
        "annotator.withdrew",
        {"responses": 1, "slots_reopened": 1},
    )


def test_who_did_not_ask_is_not_told(study, lead):
    subscriptions.add(study=study, url=URL, events=["study.closed"], by=lead)
    studies.change_status(study=study, to=StudyStatus.PAUSED, by=None)
    assert not Delivery.objects.exists()


def test_an_event_that_there_is_not_cannot_be_announced(study):
    with pytest.raises(ValueError, match="not an event"):
        annotation_events.announce(study_id=study.pk, event="study.exploded", data={})


def test_the_list_says_how_each_is(client, lead, webhook):
    client.force_login(lead)
    url = reverse("webhooks", args=["words"])
    now = timezone.now()
    for fields, words in (
        ({}, ">on<"),
        ({"failing_since": now}, ">failing<"),
        ({"disabled_at": now, "disabled_why": "Nothing arrived"}, ">given up<"),
        ({"disabled_at": now, "disabled_why": ""}, ">off<"),
    ):
        Webhook.objects.filter(pk=webhook.pk).update(**fields)
        assert words in client.get(url).text
    ended = {"webhook": webhook, "event": "ping", "finished_at": now}
    Delivery.objects.create(**ended, state=JobState.FAILED, error="x")
    for _ in range(3):
        Delivery.objects.create(**ended, state=JobState.DONE)
    for claim in ({}, {"state": JobState.CLAIMED, "claim": uuid4(), "lease_expires_at": now}):
        Delivery.objects.create(webhook=webhook, event="ping", **claim)
    newer = subscriptions.add(
        study=webhook.study, url="https://two.example.org/", events=["study.paused"], by=lead
    )
    page = client.get(url)
    assert [(each, each.waiting, each.failed) for each in page.context["rows"]] == [
        (newer, 0, 0),
        (webhook, 2, 1),
    ]
    assert '<td class="number">1</td>' in page.text
