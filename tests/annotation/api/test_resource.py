"""What all resources share: authentication, errors, pagination, conditional requests, rate limits."""

from __future__ import annotations

import json

import pytest
from django import forms
from django.test import Client
from django.utils import timezone
from rest_framework import exceptions

from annotation.api import errors, resource, tokens
from annotation.models import StudyStatus
from tests import factories
from tests.annotation.api.calls import PROBLEM, Program, expired, is_problem

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def program(lead):
    return Program(lead)


@pytest.mark.parametrize("keyword", ["Bearer", "Token", "bearer"])
def test_a_token_stands_for_its_account(program, lead, keyword):
    factories.study("mine", leads=[lead])
    factories.study("theirs")
    answer = Client().get("/api/v1/studies", headers={"Authorization": f"{keyword} {program.secret}"})
    assert [one["name"] for one in answer.json()["results"]] == ["mine"]


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer  ", "Bearer vsg_nothing", "Basic bGVhZDpsZWFk", "Bearer ü"]
)
def test_without_a_token_that_holds_nobody_is_let_in(given):
    answer = Client().get("/api/v1/studies", headers={"Authorization": given})
    is_problem(answer, 401)
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_token_ends(program, lead):
    assert program.get("studies").status_code == 200
    lead.is_active = False
    lead.save()
    is_problem(program.get("studies"), 401)
    lead.is_active = True
    lead.save()
    tokens.revoke(token=program.made.token, by=lead)
    is_problem(program.get("studies"), 401)
    is_problem(expired(Program(lead)).get("studies"), 401)


def test_a_token_opens_only_what_it_was_made_for(lead):
    said = is_problem(Program(lead, "annotate").get("studies"), 403)
    assert "'read'" in said["detail"]


def test_who_is_logged_in_needs_no_token_but_the_csrf_token(lead):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(lead)
    assert browser.get("/api/v1/studies").status_code == 200
    is_problem(browser.post("/api/v1/studies", {}, content_type="application/json"), 403)


@pytest.mark.parametrize("path", ["", "nothing", "studies/", "studies/no such", "studies/a/b/c", "schema/x"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_what_there_is_not_is_a_problem_too(program, path, method):
    is_problem(program(method, path), 404)


def test_errors_of_reading_a_request(program, lead):
    factories.study("mine", leads=[lead])
    is_problem(program("DELETE", "studies"), 405)
    is_problem(program.get("studies", Accept="text/html"), 406)
    answer = Client().get("/api/v1/studies", HTTP_HOST="elsewhere.example")
    is_problem(answer, 400)


def test_a_list_says_which_parameters_it_has(program):
    said = is_problem(program.get("studies?state=open&limit=0"), 400)
    assert said["errors"] == [
        {
            "parameter": "state",
            "detail": "There is no such parameter. Known parameters: status, order, limit, cursor.",
        }
    ]
    assert said["detail"] == f"state: {said['errors'][0]['detail']}"
    said = is_problem(program.get("studies?" + "&".join(f"{letter}=1" for letter in "fbdace")), 400)
    assert [error["parameter"] for error in said["errors"]] == list("abcdef")
    said = is_problem(program.get("studies?order=age&limit=0&status=new"), 400)
    assert {error["parameter"] for error in said["errors"]} == {"order", "limit", "status"}
    is_problem(program.get("studies?status=open&status=draft"), 400)


def test_what_is_wrong_with_a_form_is_told_by_field_and_else_of_the_whole():
    form = forms.Form({})
    form.fields["name"] = forms.CharField()
    form.is_valid()
    form.add_error(None, "Too much.")
    said = errors.refused_form(form).detail
    assert said == {"name": ["This field is required."], "non_field_errors": ["Too much."]}


def test_a_query_without_parameters_says_that_it_knows_none():
    query = resource.Query(data={"a": "b"})
    assert not query.is_valid()
    assert query.errors == {"a": ["There is no such parameter. Known parameters: none."]}


def test_where_an_error_is_stands_in_a_pointer():
    said = errors._errors({"a/b~c": [{}, {"d": ["x"]}], "non_field_errors": ["y"]}, query=False)
    assert list(said) == [{"detail": "x", "pointer": "/a~1b~0c/1/d"}, {"detail": "y", "pointer": ""}]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((400, "bad-request"), (401, "not-authenticated"), (403, "not-permitted"), (404, "not-found")),
        *((409, "conflict"), (412, "changed-meanwhile"), (413, "too-large"), (414, "too-long")),
        *((422, "refused"), (429, "throttled"), (431, "too-long"), (500, "server-error")),
        *((503, "busy"), (507, "no-room")),
    ],
)
def test_each_status_has_its_type_of_error(status, kind):
    problem = errors.problem(status=status, detail="", instance="/api")
    assert problem["type"] == f"urn:visage:problem:{kind}"


@pytest.mark.parametrize("wait", [1, 2, 3, 10])
def test_nobody_is_told_to_come_again_too_soon(rf, wait):
    answer = errors.exception_handler(exceptions.Throttled(wait), {"request": rf.get("/api/v1/studies")})
    assert wait <= int(answer["Retry-After"]) <= wait + 1


def test_a_body_is_as_large_as_the_limit_at_most(settings, program, lead):
    factories.study("mine", leads=[lead])
    body = {"url": "https://hooks.example.org/", "events": ["study.paused"]}
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = len(json.dumps(body)) - 1
    is_problem(program.post("studies/mine/webhooks", body), 413)
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE += 1
    assert program.post("studies/mine/webhooks", body).status_code == 201


def test_a_number_is_neither_a_text_nor_a_yes(program, lead):
    factories.study("mine", status=StudyStatus.DRAFT, leads=[lead])
    for body in ({"status": "paused", "texts_checked": 1}, {"status": "open", "texts_checked": "yes"}):
        is_problem(program.post("studies/mine/status", body), 400)
    hook = {"url": 5, "events": ["study.paused"]}
    said = is_problem(program.post("studies/mine/webhooks", hook), 400)
    assert (said["detail"], said["errors"][0]["pointer"]) == ("url: Send a string.", "/url")


def test_what_is_wrong_is_said_in_the_language_of_each_request(program):
    """Serializers stay from one request to the next."""

    def said(language):
        answer = program.get(f"studies?cursor={'x' * 1001}", **{"Accept-Language": language})
        return is_problem(answer, 400)["errors"][0]["detail"]

    english = said("en")
    assert said("es") not in ("", english)
    assert said("en") == english
    assert program.get("studies").status_code == 200


@pytest.mark.parametrize(
    "cursor", ["x", "%00", "WyJuIiwgbnVsbCwgMV0", "WyJuIiwgIlx1MDAwMCIsIDFd", "[]", "W1tbW1tb"]
)
def test_a_cursor_that_nobody_gave_is_refused(program, lead, cursor):
    factories.study("mine", leads=[lead])
    said = is_problem(program.get(f"studies?cursor={cursor}"), 400 if cursor == "%00" else 422)
    assert said["errors"][0]["parameter"] == "cursor"


def test_a_cursor_of_another_list_or_of_another_order_is_refused(program, lead):
    for name in ("mine", "other"):
        factories.rating_study(name=name, leads=[lead])
    for given, elsewhere in (
        ("studies/mine/units", "studies/other/units"),
        ("studies/mine/units?order=position", "studies/mine/units?order=id"),
    ):
        first = program.get(f"{given}{'&' if '?' in given else '?'}limit=1").json()["next"]
        cursor = first.partition("cursor=")[2]
        is_problem(program.get(f"{elsewhere}{'&' if '?' in elsewhere else '?'}cursor={cursor}"), 422)


def test_a_page_has_five_hundred_rows_at_most(program):
    assert program.get("studies?limit=500").status_code == 200
    is_problem(program.get("studies?limit=501"), 400)


@pytest.mark.parametrize("order", ["name", "-name", "created_at", "-created_at", "title"])
def test_pages_neither_repeat_nor_miss_a_row_while_the_list_changes(program, lead, order):
    for number in range(7):
        factories.study(f"s{number}", title="the same", leads=[lead])
    now = timezone.now()
    type(factories.study("s7", title="the same", leads=[lead])).objects.update(created_at=now)
    whole = [one["name"] for one in program.get(f"studies?order={order}").json()["results"]]
    assert len(whole) == 8
    seen, address = [], f"/api/v1/studies?order={order}&limit=3"
    pages = []
    while address:
        one = program.get(address.partition("/api/v1/")[2]).json()
        pages.append(one)
        seen += [row["name"] for row in one["results"]]
        address = one["next"]
        if len(seen) == 3:
            lead.led_studies.get(name=seen[0]).delete()
    assert seen == whole
    back = program.get(pages[-1]["previous"].partition("/api/v1/")[2]).json()
    assert [row["name"] for row in back["results"]] == whole[3:6]
    first = program.get(back["previous"].partition("/api/v1/")[2]).json()
    assert [row["name"] for row in first["results"]] == whole[1:3]
    assert (first["previous"], pages[0]["previous"], pages[-1]["next"]) == (None, None, None)
    again = program.get(first["next"].partition("/api/v1/")[2]).json()
    assert [row["name"] for row in again["results"]] == whole[3:6]


def test_filters_stay_in_the_links(program, lead):
    for number in range(3):
        factories.study(f"open{number}", leads=[lead])
        factories.study(f"draft{number}", leads=[lead], status=StudyStatus.DRAFT)
    one = program.get("studies?status=draft&limit=2").json()
    rest = program.get(one["next"].partition("/api/v1/")[2]).json()
    assert [row["name"] for row in one["results"] + rest["results"]] == ["draft0", "draft1", "draft2"]


def test_what_is_known_already_is_not_sent_again(program, lead):
    study = factories.study("mine", leads=[lead])
    for path in ("studies", "studies/mine"):
        first = program.get(path)
        again = program.get(path, **{"If-None-Match": first["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        study.title += "!"
        study.save()
        assert program.get(path, **{"If-None-Match": first["ETag"]}).status_code == 200


def test_who_asks_too_often_is_told_when_to_come_again(settings, program, lead):
    settings.API_RATE = "2/hour"
    other = Program(lead)
    for _ in range(2):
        assert program.get("studies").status_code == 200
    answer = program.get("studies")
    is_problem(answer, 429)
    assert 1 <= int(answer["Retry-After"]) <= 3600
    assert other.get("studies").status_code == 200, "each token is counted for itself"


def test_people_at_one_address_are_counted_each_for_themselves(settings):
    settings.API_RATE = "1/hour"
    for name in ("ada", "emmy"):
        browser = Client()
        browser.force_login(factories.user(name))
        assert [browser.get("/api/v1/account").status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize("authorization", ["", "Bearer vsg_guessed"])
def test_guessing_is_counted_too(settings, authorization):
    settings.API_RATE = "2/hour"
    tries = [
        Client().get("/api/v1/studies", headers={"Authorization": authorization}).status_code
        for _ in range(3)
    ]
    assert tries == [401, 401, 429]


def test_a_list_asks_the_database_as_often_for_many_as_for_one(program, lead, django_assert_num_queries):
    for number in range(20):
        factories.study(f"s{number}", leads=[lead])
    program.get("studies")
    with django_assert_num_queries(3):  # the token, the studies, who leads them
        assert len(program.get("studies").json()["results"]) == 20


def test_the_server_failing_is_a_problem_too(program, monkeypatch):
    def broken(*_args):
        raise RuntimeError("secret inside")

    monkeypatch.setattr("annotation.policies.studies_led_by", broken)
    program.client.raise_request_exception = False
    said = is_problem(program.get("studies"), 500)
    assert "secret" not in str(said)


def test_the_schema_is_for_who_is_known(program):
    assert Client().get("/api/v1/schema").status_code == 401
    answer = program.get("schema")
    assert answer.status_code == 200
    assert "/api/v1/studies" in answer.text
    assert PROBLEM in answer.text
