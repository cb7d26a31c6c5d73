"""Everybody, through the API: found, given roles, merged, erased, and each of it in the audit trail."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from annotation.assignment.services import slots
from annotation.models import Annotator, AuditEvent, EnrolmentStatus, Response, SlotState
from tests import factories
from tests.annotation.api.calls import Program, is_problem

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin():
    return factories.user("root", admin=True)


@pytest.fixture
def program(admin):
    return Program(admin)


@pytest.fixture
def study():
    return factories.rating_study(name="words")


def noted() -> list[str]:
    return list(
        AuditEvent.objects.exclude(what="api token made").order_by("pk").values_list("what", flat=True)
    )


def test_everybody_is_listed_with_roles_and_what_they_hold(program, admin, study):
    lead = factories.user("lena")
    study.leads.add(lead)
    enrolment = factories.enrolment(study, user=factories.user("amal"), pseudonym="a-amal")
    slots.lease_next(enrolment=enrolment)
    factories.enrolment(study, pseudonym="a-lone", simulated=True)
    rows = {row["account"]["username"]: row for row in program.get("accounts").json()["results"]}
    assert sorted(rows) == ["amal", "lena", "root"]
    assert rows["lena"]["leads"] == ["words"]
    assert rows["root"]["account"]["admin"]
    assert (rows["amal"]["pseudonym"], rows["amal"]["parts"][0]["held"]) == ("a-amal", 1)
    (lone,) = program.get("accounts?kind=no_account").json()["results"]
    assert (lone["account"], lone["pseudonym"], lone["simulated"]) == (None, "a-lone", True)
    for query, wanted in (("role=lead", "lena"), ("text=a-am", "amal"), ("state=qualified", "amal")):
        (found,) = program.get(f"accounts?{query}").json()["results"]
        assert found["account"]["username"] == wanted


def test_the_list_costs_the_same_number_of_queries_however_many_there_are(
    program, study, django_assert_max_num_queries
):
    for number in range(4):
        factories.enrolment(study, user=factories.user(f"u{number}"))
    program.get("accounts?limit=2")
    seen = []
    address = "accounts?limit=2"
    while address:
        with django_assert_max_num_queries(13):
            page = program.get(address).json()
        seen += [row["who"] for row in page["results"]]
        address = page["next"] and page["next"].partition("/api/v1/")[2]
    assert len(seen) == len(set(seen)) == get_user_model().objects.count()


def test_roles_are_given_and_taken_together_or_not_at_all(program, admin, study):
    user = factories.user("lena")
    who = f"accounts/u{user.pk}"
    told = program("PATCH", who, {"creates_studies": True, "admin": True}).json()
    assert (told["creates_studies"], told["account"]["admin"]) == (True, True)
    program("PATCH", who, {"admin": False})
    assert program("PUT", f"{who}/leads/words").json()["leads"] == ["words"]
    assert program("DELETE", f"{who}/leads/words").json()["leads"] == []
    assert noted() == ["may set up studies", "admin made", "admin unmade", "lead made", "lead unmade"]
    # oneself cannot be switched off, so neither is the other role taken
    before = AuditEvent.objects.count()
    is_problem(program("PATCH", f"accounts/u{admin.pk}", {"creates_studies": True, "active": False}), 409)
    assert AuditEvent.objects.count() == before
    factories.user("other", admin=True)
    assert (
        program("PATCH", f"accounts/u{admin.pk}", {"creates_studies": True, "admin": False}).status_code
        == 200
    )
    admin.is_superuser = True
    admin.save()
    is_problem(program("PATCH", who, {"admin": 1}), 400)
    is_problem(program("PATCH", "accounts/u999999", {}), 404)


def test_who_has_no_account_has_no_roles(program, study):
    lone = factories.enrolment(study, pseudonym="a-lone").annotator
    said = is_problem(program("PATCH", f"accounts/a{lone.pk}", {"admin": True}), 409)
    assert said["state"] == "no_account"


def test_an_account_is_made_with_its_roles_and_gets_a_link(program):
    body = {"username": "lena", "email": "lena@example.org"}
    made = program("POST", "accounts", body)
    assert made.status_code == 201
    said = made.json()
    assert (said["account"]["username"], said["account"]["admin"]) == ("lena", False)
    assert (said["creates_studies"], said["leads"]) == (True, [])
    assert noted() == ["account made", "may set up studies"]
    assert program.post(f"accounts/{said['who']}/password-link").status_code == 201
    is_problem(program("POST", "accounts", {"username": "LENA", "admin": True}), 409)
    is_problem(program("POST", "accounts", {"username": "two words"}), 400)


def test_a_password_link_works_once(program, client):
    user = factories.user("lena")
    made = program.post(f"accounts/u{user.pk}/password-link")
    assert (made.status_code, made["Cache-Control"]) == (201, "private, no-store")
    path = made.json()["url"].removeprefix("http://testserver")
    form = client.get(path, follow=True)
    new = {"new_password1": "a-new-long-one", "new_password2": "a-new-long-one"}
    client.post(form.request["PATH_INFO"], new)
    user.refresh_from_db()
    assert user.check_password("a-new-long-one")
    assert "new_password1" not in Client().get(path, follow=True).text
    assert noted() == ["password link made"]


def test_blocked_and_released_everywhere(program, study):
    enrolment = factories.enrolment(study, user=factories.user("amal"))
    who = f"accounts/u{enrolment.annotator.user_id}"
    slots.lease_next(enrolment=enrolment)
    assert program.post(f"{who}/release").json()["changed"] == 1
    slots.lease_next(enrolment=enrolment)
    told = program.post(f"{who}/block").json()
    assert (told["changed"], told["person"]["parts"][0]["status"]) == (1, EnrolmentStatus.BLOCKED)
    assert not study.slots.filter(state=SlotState.LEASED).exists()
    is_problem(program.post(f"accounts/u{factories.user('none').pk}/block"), 409)


def test_what_merging_would_do_is_what_it_does(program, study):
    kept = factories.enrolment(study, pseudonym="a-kept").annotator
    twin = factories.enrolment(study, pseudonym="a-twin").annotator
    first, second, _ = study.tasks.get().units.order_by("position")
    factories.response(first, who=kept)
    factories.response(first, who=twin)
    factories.response(second, who=twin)
    address = f"accounts/a{kept.pk}/merge"
    would = program.get(f"{address}?duplicate=a-twin").json()
    assert (would["studies"][0]["answers"], would["studies"][0]["twice"], would["account"]) == (2, 1, "none")
    assert Annotator.objects.count() == 2
    assert program.post(address, {"duplicate": "a-twin"}).json() == would
    assert Response.objects.filter(annotator=kept).count() == 3
    assert noted() == ["annotators merged"]
    is_problem(program.post(address, {"duplicate": "a-twin"}), 422)
    is_problem(program.post(address, {"duplicate": "a-kept"}), 409)


def test_what_erasing_would_delete_is_what_it_deletes(program, admin, study):
    enrolment = factories.enrolment(study, user=factories.user("amal"))
    factories.response(study.tasks.get().units.earliest("pk"), who=enrolment.annotator)
    address = f"accounts/u{enrolment.annotator.user_id}/erasure"
    would = program.get(address).json()
    assert (would["answers"], would["account"]) == (1, True)
    assert Response.objects.count() == 1
    assert program.post(address).json() == would
    assert not Response.objects.exists()
    assert noted()[-1] == "person erased"
    is_problem(program.post(address), 404)
    is_problem(program.post(f"accounts/u{admin.pk}/erasure"), 409)


def test_a_lead_and_a_token_for_other_things_see_nobody(admin, study):
    lead = factories.user("lena")
    study.leads.add(lead)
    is_problem(Program(lead).get("accounts"), 403)
    client = Client()
    client.force_login(lead)
    is_problem(client.get("/api/v1/accounts"), 404)
    said = is_problem(Program(admin, "read", "manage", "export").get("accounts"), 403)
    assert "'accounts'" in said["detail"]
