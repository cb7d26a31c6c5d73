"""Webhooks, and hours and exposure, through the API."""

from __future__ import annotations

import pytest

from annotation.models import Delivery, Webhook
from annotation.webhooks.services import deliveries, subscriptions
from tests import factories
from tests.annotation.api.calls import Program, is_problem

pytestmark = pytest.mark.django_db
NEW = {"url": "https://hooks.example.org/in", "events": ["study.paused"]}
LIST = "studies/words/webhooks"


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    return factories.rating_study(name="words", leads=[lead])


@pytest.fixture
def program(lead, study):
    return Program(lead)


def test_the_secret_is_told_when_it_is_made_and_never_again(program):
    made = program.post(LIST, NEW)
    assert made.status_code == 201
    secret = made.json()["secret"]
    one = f"{LIST}/{made.json()['id']}"
    assert secret == Webhook.objects.get().secret
    assert "secret" not in program.get(one).json()
    assert secret not in program.get(LIST).text
    fresh = program.post(f"{one}/secret").json()["secret"]
    assert fresh == Webhook.objects.get().secret != secret


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({**NEW, "url": "http://hooks.example.org/"}, 422),
        ({**NEW, "url": "https://hooks.example.org:22/"}, 422),
        ({**NEW, "events": []}, 400),
        ({**NEW, "events": ["no.such"]}, 400),
        ({"url": NEW["url"]}, 400),
        ({**NEW, "secret": "mine"}, 400),
    ],
)
def test_what_cannot_be_told_is_a_problem(program, body, status):
    is_problem(program.post(LIST, body), status)
    assert not Webhook.objects.exists()


def test_changing_switching_and_deleting(program):
    one = f"{LIST}/{program.post(LIST, NEW).json()['id']}"
    said = program("PATCH", one, {"events": ["study.closed", "study.opened"], "enabled": False}).json()
    assert (said["events"], said["state"]) == (["study.opened", "study.closed"], "off")
    is_problem(program.post(f"{one}/ping"), 409)
    assert program("PATCH", one, {"enabled": True}).json()["state"] == "on"
    assert program("DELETE", one).status_code == 204
    is_problem(program.get(one), 404)


def test_messages_are_listed_and_sent_once_more(program):
    one = f"{LIST}/{program.post(LIST, NEW).json()['id']}"
    ping = program.post(f"{one}/ping")
    assert ping.status_code == 202
    again = f"{one}/deliveries/{ping.json()['id']}/redeliver"
    is_problem(program.post(again), 409)
    deliveries.deliver_pending(post=lambda url, body, headers: 500)
    (row,) = program.get(f"{one}/deliveries?state=pending").json()["results"]
    assert (row["event"], row["status"], row["attempts"]) == ("ping", 500, 1)
    assert row["key"] == str(Delivery.objects.get().key)
    assert program.get(f"{one}/deliveries?state=done").json()["results"] == []
    assert program.post(again).json()["attempts"] == 0
    assert program.get(one).json()["state"] == "failing"


def test_another_leads_webhooks_are_not_there(program, study):
    stranger = factories.user("stranger")
    theirs = factories.rating_study(name="theirs", leads=[stranger])
    hook = subscriptions.add(study=theirs, url=NEW["url"], events=["study.paused"], by=stranger)
    message = subscriptions.ping(webhook=hook)
    for name in ("theirs", "words"):
        one = f"studies/{name}/webhooks/{hook.pk}"
        is_problem(program.get(one), 404)
        is_problem(program("DELETE", one), 404)
        is_problem(program("PATCH", one, {"enabled": False}), 404)
        for call in ("secret", "ping", f"deliveries/{message.pk}/redeliver"):
            is_problem(program.post(f"{one}/{call}"), 404)
    hook.refresh_from_db()
    assert hook.disabled_at is None


def test_a_token_that_may_only_read_changes_nothing(lead, study):
    reader = Program(lead, "read")
    assert reader.get(LIST).status_code == 200
    is_problem(reader.post(LIST, NEW), 403)


def test_hours_of_a_study_are_for_its_lead_and_those_of_all_for_admins(program, study):
    who = factories.enrolment(study, pseudonym="a-one").annotator
    factories.enrolment(study, pseudonym="a-two")
    factories.response(study.tasks.get().units.first(), who=who, active_ms=1_800_000)
    first, second = program.get("studies/words/hours").json()["results"]
    assert (first["annotator"], first["active_hours"], first["answered"]) == ("a-one", 0.5, 1)
    assert (second["annotator"], second["active_hours"], second["first"]) == ("a-two", 0.0, None)
    page = program.get("studies/words/hours?limit=1").json()
    assert page["next"]
    is_problem(program.get("hours"), 404)
    admin = Program(factories.user("root", admin=True))
    (first, _) = admin.get("hours").json()["results"]
    assert (first["active_hours"], first["studies"], first["status"]) == (0.5, 1, "")
