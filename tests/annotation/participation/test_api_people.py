"""People and invitations through the API."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.annotate.services import items
from annotation.models import AuditEvent, EnrolmentStatus, Invitation, Slot, SlotState, StudyStatus
from tests import factories
from tests.annotation.api.calls import Program, is_problem

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    return factories.rating_study(name="words", leads=[lead])


@pytest.fixture
def program(lead, study):
    return Program(lead)


def test_people_are_known_by_pseudonym_only(program, study):
    account = factories.user("jane.doe")
    factories.enrolment(study, who=factories.annotator(user=account, pseudonym="a-heron"))
    answer = program.get("studies/words/people")
    (row,) = answer.json()["results"]
    assert row["pseudonym"] == "a-heron"
    assert "jane" not in answer.text


def test_who_withdrew_is_not_listed(program, study):
    gone = factories.enrolment(study)
    gone.status = EnrolmentStatus.WITHDRAWN
    gone.save()
    assert program.get("studies/words/people").json()["results"] == []
    is_problem(program.get(f"studies/words/people/{gone.pk}"), 404)
    is_problem(program.post(f"studies/words/people/{gone.pk}/block"), 404)


def test_people_by_status(program, study):
    kept = factories.enrolment(study)
    blocked = factories.enrolment(study)
    assert program.post(f"studies/words/people/{blocked.pk}/block").json()["changed"] is True
    found = program.get("studies/words/people?status=blocked").json()["results"]
    assert [row["id"] for row in found] == [blocked.pk]
    found = program.get("studies/words/people?status=qualified").json()["results"]
    assert [row["id"] for row in found] == [kept.pk]


def test_blocking_and_letting_go_on(program, study, lead):
    enrolment = factories.enrolment(study, consented=True)
    assert items.next_items(enrolment=enrolment, wanted=2).items
    path = f"studies/words/people/{enrolment.pk}"
    assert program.get(path).json()["held"] == 2
    said = program.post(f"{path}/block").json()
    assert (said["changed"], said["person"]["status"], said["person"]["held"]) == (True, "blocked", 0)
    assert program.post(f"{path}/block").json()["changed"] is False
    assert program.post(f"{path}/unblock").json()["person"]["status"] == "qualified"
    assert program.post(f"{path}/release").json()["changed"] is False
    whats = set(AuditEvent.objects.filter(by=lead, study=study).values_list("what", flat=True))
    assert whats == {"annotator blocked", "annotator unblocked"}


def test_open_work_is_given_to_others(program, study):
    enrolment = factories.enrolment(study, consented=True)
    items.next_items(enrolment=enrolment, wanted=2)
    assert program.post(f"studies/words/people/{enrolment.pk}/release").json()["changed"] is True
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()


def test_who_was_screened_out_cannot_be_blocked(program, study):
    enrolment = factories.enrolment(study)
    enrolment.status = EnrolmentStatus.SCREENED_OUT
    enrolment.save()
    is_problem(program.post(f"studies/words/people/{enrolment.pk}/block"), 409)


def test_a_link_is_made_read_and_taken_back(program, study, client):
    ends = timezone.now() + timedelta(days=3)
    body = {"label": "pilot", "max_uses": 5, "expires_at": ends.isoformat()}
    answer = program.post("studies/words/invitations", body)
    assert answer.status_code == 201
    made = answer.json()
    assert (made["label"], made["max_uses"], made["state"], made["uses"]) == ("pilot", 5, "open", 0)
    assert client.get(made["url"]).status_code == 200
    path = f"studies/words/invitations/{made['id']}"
    assert program.get(path).json() == made
    assert program("DELETE", path).json()["state"] == "taken back"
    assert program("DELETE", path).status_code == 200
    assert client.get(made["url"]).status_code == 410


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({"max_uses": 0}, 400, "/max_uses"),
        ({"max_uses": "many"}, 400, "/max_uses"),
        ({"label": "x" * 121}, 400, "/label"),
        ({"label": "a\x00b"}, 400, None),
        ({"code": "mine"}, 400, "/code"),
        ({"uses": 3, "label": "x"}, 400, "/uses"),
        ({"expires_at": "soon"}, 400, "/expires_at"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, 409, None),
    ],
)
def test_a_link_that_cannot_be_made(program, body, status, pointer):
    said = is_problem(program.post("studies/words/invitations", body), status)
    assert [error["pointer"] for error in said.get("errors", [])] == ([pointer] if pointer else [])
    assert not Invitation.objects.exists()


def test_nobody_is_invited_to_a_closed_study(program, study):
    type(study).objects.update(status=StudyStatus.CLOSED, closed_at=timezone.now())
    is_problem(program.post("studies/words/invitations", {}), 409)


def test_lists_ask_the_database_as_often_for_many_as_for_one(program, study, django_assert_max_num_queries):
    for number in range(15):
        enrolment = factories.enrolment(study, consented=True)
        if number < 3:
            factories.response(study.tasks.get().units.first(), who=enrolment.annotator)
        Invitation.objects.create(study=study, code=f"code{number}")
    program.get("studies/words")
    for path, most in (("people", 9), ("invitations", 3)):
        with django_assert_max_num_queries(most):
            assert len(program.get(f"studies/words/{path}").json()["results"]) == 15
