"""Programs read numbers from the copy, too, unless they changed something lately or ask for what is now."""

from __future__ import annotations

import pytest
from django.db import DEFAULT_DB_ALIAS, OperationalError
from django.test import Client
from django.urls import get_resolver

from annotation.core import replica
from tests import factories
from tests.annotation.api.calls import Program
from tests.metrics.core.test_replica import LOGGED, _two_databases, asked, copy, study
from visage_app.database import replica_pages

__all__ = ["_two_databases", "copy", "study"]  # fixtures
pytestmark = pytest.mark.django_db(transaction=True, databases=[DEFAULT_DB_ALIAS, replica.ALIAS])
BY_ALL = replica_pages._cache_is_shared
NUMBERS = ("progress", "quality", "scores?metric=agreement", "agreement")


class Forgetful(Program):
    """A program that keeps no cookies."""

    def __call__(self, *arguments, **options):
        self.client = Client()
        return super().__call__(*arguments, **options)


@pytest.fixture
def program(study, monkeypatch):
    monkeypatch.setattr(replica_pages, "_cache_is_shared", lambda: True)
    return Forgetful(study.leads.get())


def reads(program, path: str, **headers) -> list[str]:
    """What the copy was asked for it."""
    with asked() as sql:
        assert program.get(path, **headers).status_code == 200
    return sql[replica.ALIAS]


@pytest.mark.parametrize("path", NUMBERS)
def test_numbers_come_from_the_copy_and_who_asks_is_asked_of_the_primary(program, path):
    """Or a token would go on for as long as the copy is late after it was revoked."""
    found = reads(program, f"studies/kept/{path}")
    assert found
    assert not any("annotation_apitoken" in one or "auth_" in one for one in found)


@pytest.mark.parametrize(
    "path", ["studies/kept/judgements", "studies/kept/units", "studies/kept/score-runs", "studies/kept"]
)
def test_what_is_followed_row_by_row_or_changed_by_its_etag_comes_from_the_primary(program, path):
    assert reads(Forgetful(factories.user("root", admin=True)), path) == []


def test_a_program_sees_what_it_did(program):
    made = program.post("studies/kept/score-runs", {"metric": "agreement", "variant": "corrected"})
    assert made.status_code == 202
    assert reads(program, "studies/kept/progress") == []
    other = Forgetful(factories.user("root", admin=True))
    assert reads(other, "studies/kept/progress"), "others did nothing"


def test_a_program_that_asks_for_what_is_now_gets_it(program):
    assert reads(program, "studies/kept/progress", **{"Cache-Control": "no-cache"}) == []


def test_without_a_cache_for_all_processes_nobody_knows_what_a_program_did(program, study, monkeypatch):
    monkeypatch.setattr(replica_pages, "_cache_is_shared", BY_ALL)
    assert reads(program, "studies/kept/progress") == []
    browser = Client()
    browser.force_login(study.leads.get())
    with asked() as sql:
        browser.get("/api/v1/studies/kept/progress")
    assert sql[replica.ALIAS], "it has its cookie"


def test_a_browser_is_known_by_its_cookie(program, study):
    browser = Client()
    browser.force_login(study.leads.get())
    with asked() as sql:
        browser.get("/api/v1/studies/kept/progress")
    assert sql[replica.ALIAS]
    browser.cookies["changed"] = "1"
    with asked() as sql:
        browser.get("/api/v1/studies/kept/progress")
    assert sql[replica.ALIAS] == []


def test_what_the_copy_refuses_is_asked_of_the_primary(program):
    with asked() as sql:
        assert program.get("studies/kept/score-runs/1/scores").status_code == 404
    for queries in sql.values():
        assert any("metrics_scorerun" in one for one in queries)


def test_a_copy_that_fails_in_the_middle_costs_no_answer(program, copy, caplog):
    def cancel(execute, sql, params, many, context):
        raise OperationalError("canceling statement due to conflict with recovery")

    with copy.execute_wrapper(cancel):
        assert program.get("studies/kept/progress").status_code == 200
    assert f"{LOGGED}: it failed: canceling statement" in caplog.text


def test_its_addresses_are_addresses_of_the_api():
    names = {key for key in get_resolver().namespace_dict["api"][1].reverse_dict if isinstance(key, str)}
    assert names >= replica_pages.API
