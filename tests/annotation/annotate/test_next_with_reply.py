"""What to show next comes with the reply to an answer (docs/annotating.md)."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from annotation.assignment.services import slots
from annotation.models import Consent, Enrolment, EnrolmentStatus, Response, Slot, SlotState, Study
from tests import connections, factories
from tests.annotation.annotate.test_endpoints import check_unit, enrolment, items, post, rated, study

__all__ = ["enrolment", "study"]
pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


@pytest.fixture
def another_connection():
    with connections.another() as theirs:
        yield theirs


def sent(client, item, *, have=(), wanted=3, **more):
    """The reply to an answer that asks for what comes next."""
    reply = post(client, "answers", {**rated(item, **more), "next": {"have": list(have), "wanted": wanted}})
    assert reply.status_code == 200, reply.content
    return reply.json()


def keys(items):
    return [item["client_key"] for item in items]


def test_it_is_what_they_would_be_told_if_they_asked_after_it(client, enrolment):
    first = items(client)["items"]
    result = sent(client, first[0], have=keys(first[1:]))
    assert result["outcome"] == "kept"
    assert [item["attribute"] for item in result["next"]["items"]] == ["turban"]
    assert result["next"]["progress"] == {"answered": 1}
    assert result["next"] == items(client) | {"items": result["next"]["items"]}
    # all of it was given out and counted once
    assert Slot.objects.filter(state=SlotState.LEASED).count() == 3
    assert Enrolment.objects.get().answered == 1


def test_it_is_cheaper_than_to_ask(client, enrolment, django_assert_num_queries):
    first, second, *_ = items(client)["items"]
    items(client)
    trips_are_dear = connection.vendor == "postgresql"  # there some are made together
    with django_assert_num_queries(17 if trips_are_dear else 22):
        post(client, "answers", rated(first))
        items(client)
    with django_assert_num_queries(12 if trips_are_dear else 16):
        sent(client, second)


def test_sent_again_it_comes_again(client, enrolment):
    first = items(client)["items"]
    once = sent(client, first[0])
    again = sent(client, first[0], value=1)
    assert (once["outcome"], again["outcome"]) == ("kept", "repeat")
    assert once["next"] == again["next"]


def test_nothing_comes_unasked(client, enrolment):
    assert post(client, "answers", rated(items(client)["items"][0])).json() == {"outcome": "kept"}


@pytest.mark.parametrize(
    "wish", [5, "x", [], None, {"have": 5}, {"have": ["x"]}, {"wanted": -1}, {"wanted": True}]
)
def test_nonsense_in_what_is_asked_for_loses_no_answer(client, enrolment, wish):
    item = items(client)["items"][0]
    assert post(client, "answers", {**rated(item), "next": wish}).json() == {"outcome": "kept"}
    assert Response.objects.count() == 1


def test_a_refused_answer_brings_nothing(client, enrolment):
    item = items(client, wanted=1)["items"][0]
    reply = post(client, "answers", {**rated(item, value=77), "next": {"wanted": 3}})
    assert reply.status_code == 422
    assert "next" not in reply.json()
    assert Slot.objects.filter(state=SlotState.LEASED).count() == 1


def held_too_long(study):
    """Who has had a slot of every unit for too long; of all units but the first there is no other slot."""
    other = factories.enrolment(study)
    for unit in study.tasks.get().units.exclude(position=1):
        unit.slots.exclude(index=0).delete()
    leased = slots.lease(enrolment=other, wanted=5)
    Slot.objects.filter(pk__in=[slot.pk for slot in leased]).update(
        lease_expires_at=timezone.now() - timedelta(minutes=1)
    )
    return other


def test_that_nothing_is_left_is_not_told_by_the_way(client, enrolment, study):
    """What others hold for too long is only taken back by who asks: it locks the study."""
    other = held_too_long(study)
    (item,) = items(client, wanted=1)["items"]
    assert sent(client, item) == {"outcome": "kept"}
    assert Slot.objects.filter(state=SlotState.LEASED, annotator=other.annotator).count() == 5
    assert len(items(client)["items"]) == 3  # there was something left


def test_why_nothing_comes_is_told(client, enrolment, study):
    first, second, third = items(client)["items"]
    Study.objects.update(session_cap=1)
    assert sent(client, first)["next"]["state"] == "cap"
    Enrolment.objects.update(status=EnrolmentStatus.BLOCKED)
    assert sent(client, second)["next"] == {
        "state": "blocked",
        "held": [],
        "items": [],
        "progress": {"answered": 2},
    }
    Consent.objects.all().delete()
    assert sent(client, third)["next"]["state"] == "no_consent"
    assert Response.objects.count() == 3


def test_a_check_that_is_due_with_this_answer_comes_with_it(client, enrolment, study):
    Study.objects.update(gold_rate=0.5)
    gold = check_unit(study, "gold", text="hat", expected=[5])
    first, second, _ = items(client)["items"]
    assert gold.pk not in {item["unit"] for item in sent(client, first)["next"]["items"]}
    assert sent(client, second)["next"]["items"][0]["unit"] == gold.pk


def test_the_last_practice_item_brings_the_first_real_one(client, enrolment, study):
    check_unit(study, "training", text="hat", expected=[5], feedback="A hat can be seen.")
    Enrolment.objects.update(status=EnrolmentStatus.TRAINING)
    (practice,) = items(client)["items"]
    result = sent(client, practice)
    assert (result["correct"], result["feedback"]) == (True, "A hat can be seen.")
    assert [item["attribute"] for item in result["next"]["items"]] == ["sombrero", "kind", "poor"]
    assert Enrolment.objects.get().status == EnrolmentStatus.QUALIFIED


def test_who_fails_practice_is_told_with_the_answer(client, enrolment, study):
    Study.objects.update(training_pass=0.5)
    check_unit(study, "training", text="hat", expected=[5])
    Enrolment.objects.update(status=EnrolmentStatus.TRAINING)
    (practice,) = items(client)["items"]
    result = sent(client, practice, value=1)
    assert (result["correct"], result["next"]["state"]) == (False, "screened_out")


@pytest.mark.django_db(transaction=True)
def test_an_answer_whose_next_item_cannot_be_given_is_kept_when_it_is_sent_without(
    client, enrolment, monkeypatch
):
    item = items(client)["items"][0]
    client.raise_request_exception = False

    def broken(**wanted):
        raise OperationalError("no more slots today")

    with monkeypatch.context() as patched:
        patched.setattr(slots, "lease", broken)
        for _ in range(2):
            assert post(client, "answers", {**rated(item), "next": {"wanted": 3}}).status_code == 500
        assert post(client, "answers", rated(item)).json()["outcome"] in {"kept", "repeat"}
    assert Response.objects.count() == 1
    assert Response.objects.get().slot.state == SlotState.FILLED
    assert Enrolment.objects.get().answered == 1
    assert len(items(client)["items"]) == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="NOT POSTGRESQL: no locks of rows were tried")
def test_it_waits_for_nobody_who_returns_slots(client, enrolment, study, another_connection):
    """Who returns slots has the study locked and waits for slots, of which an answer has some locked."""
    held_too_long(study)
    (item,) = items(client, wanted=1)["items"]
    another_connection.execute("SELECT 1 FROM annotation_study WHERE id = %s FOR NO KEY UPDATE", [study.pk])
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '2s'")  # waiting is what must not happen
    assert post(client, "answers", {**rated(item), "next": {}}).json() == {"outcome": "kept"}
    another_connection.rollback()
    connection.close()  # with its lock_timeout
