"""Fields that nobody is asked for: every door passes them over or refuses them, and nothing changes."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.urls import resolve

from annotation.models import Study
from tests import factories
from tests.annotation.api.calls import Program, documented, is_problem
from tests.pure import made_once
from tests.test_access import urls
from tests.test_other_teams import DOORS, OPEN, SHARED, address, kinds
from tests.two_teams import MARK, Team, everything

pytestmark = pytest.mark.django_db

UNASKED = {
    "id": 1,
    "pk": 1,
    "owner": 1,
    "by": 1,
    "user": 1,
    "user_id": 1,
    "created_by": 1,
    "role": "admin",
    "is_staff": True,
    "is_superuser": True,
    "is_active": False,
    "password": MARK,
    "study": "theirs-study",
    "study_id": 2,
    "leads": ["theirs-lead"],
    "state": "done",
    "secret": MARK,
    "disabled_at": None,
    "digest": "0" * 64,
    "answered": 1000,
    "withdrawn_at": "2020-01-01T00:00:00Z",
    "created_at": "2020-01-01T00:00:00Z",
    "expires_at": "2099-01-01T00:00:00Z",
    "annotator": 1,
    "simulated": True,
    "_state": {},
    "__class__": "x",
}


@pytest.fixture(scope="module")
def made(once):
    return once(lambda: (Team("ours"), Team("theirs", mark=MARK)))


@pytest.fixture
def teams(db, made, tmp_path, settings):
    settings.API_RATE = "100000/minute"
    with made_once():
        yield made.copied(tmp_path)


def writable() -> set[tuple[str, str]]:
    """(method, path of the schema) of everything that takes a JSON body."""
    paths = documented()["paths"]
    return {
        (method.upper(), path)
        for path, operations in paths.items()
        for method, operation in operations.items()
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    }


def body_of(path: str, method: str) -> tuple[set[str], dict[str, str]]:
    """The fields that a body may have, and what says which body it is, where there are several."""
    body = documented()["paths"][path][method.lower()]["requestBody"]["content"]["application/json"]["schema"]
    which = {}
    while "properties" not in body:
        if "$ref" in body:
            body = documented()["components"]["schemas"][body["$ref"].rpartition("/")[2]]
        elif "discriminator" in body:
            chosen = body["discriminator"]
            value, reference = next(iter(chosen["mapping"].items()))
            which, body = {chosen["propertyName"]: value}, {"$ref": reference}
        else:
            break
    return set(body.get("properties", {})), which


def test_the_api_names_each_field_that_it_does_not_know_and_does_nothing(teams):
    ours, _ = teams
    programs = {
        "annotator": Program(ours.person, "annotate"),
        "admin": Program(factories.user("root", admin=True)),
    }
    wanted, named = writable(), set()
    assert len(wanted) > 10
    routes = {f"/{route}": (name, route) for name, route in urls() if name.startswith("api:")}
    before = everything()
    for method, path in sorted(wanted):
        known, which = body_of(path, method)
        name, route = next(found for key, found in routes.items() if _shape(key) == _shape(path))
        url = address(name, route, [ours] * len(kinds(route)))
        unasked = {key: value for key, value in UNASKED.items() if key not in known}
        for program in programs.values():
            answer = program(method, url.removeprefix("/api/v1/"), {**which, **unasked})
            assert 400 <= answer.status_code < 500, (method, url, answer.content[:300])
            if answer.status_code == 400:
                told = {one.get("pointer", "").strip("/") for one in is_problem(answer, 400)["errors"]}
                assert set(unasked) <= told, (method, url, told)
                named.add((method, path))
    assert everything() == before
    # what is refused for another reason first: the item is not theirs, the run is over ...
    assert len(named) >= len(wanted) - 3, wanted - named


def _shape(path: str) -> list[str]:
    """An address with its parts left out, as the resolver and the schema write them alike."""
    return ["*" if part[:1] in "<{" else part for part in path.split("/")]


@pytest.mark.parametrize("role", ["annotator", "lead"])
def test_forms_take_nothing_that_they_do_not_show(client, teams, role):
    ours, _ = teams
    client.force_login(ours.person if role == "annotator" else ours.lead)

    def rights() -> list:
        return [
            list(get_user_model().objects.order_by("pk").values_list()),
            list(Study.leads.through.objects.order_by("pk").values_list()),
            list(Study.objects.order_by("pk").values_list()),
            list(ours.study.enrolments.order_by("pk").values_list("pk", "status", "answered", "annotator")),
        ]

    before = rights()
    sent = {key: value for key, value in UNASKED.items() if value is not None}
    asked = 0
    for name, route in DOORS + sorted(
        (name, route)
        for name, route in urls()
        if "<" not in route and ":" not in name and "^" not in route and "admin" not in route
    ):
        if name.startswith("api:") or name in OPEN | SHARED | {"logout", "person_action", "withdraw"}:
            continue
        url = address(name, route, [ours] * len(kinds(route))) if "<" in route else f"/{route}"
        assert resolve(url)
        asked += client.post(url, sent).status_code not in {404, 405}
    assert asked > (5 if role == "annotator" else 10)
    assert rights() == before
