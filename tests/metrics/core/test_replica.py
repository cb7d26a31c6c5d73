"""Pages of numbers may be read from a copy of the database, and nothing else is."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections, transaction
from django.http import Http404, HttpResponse
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver, reverse

from annotation.core import replica
from annotation.core.snapshots import snapshot
from annotation.models import Study
from metrics.agreement.data.boxes import read_boxes
from metrics.core.studies import get_study_or_404
from tests import factories
from visage_app.database import replica_pages

pytestmark = pytest.mark.django_db(transaction=True, databases=[DEFAULT_DB_ALIAS, replica.ALIAS])
LOGGED = "read from the primary, not from DATABASE_REPLICA_URL"


@pytest.fixture(scope="module", autouse=True)
def _two_databases(django_db_setup):
    """A second connection to the tests' database stands for the copy."""
    ours = connections[DEFAULT_DB_ALIAS].settings_dict
    connections.settings[replica.ALIAS] = {**ours, "TEST": {**ours["TEST"], "MIRROR": DEFAULT_DB_ALIAS}}
    yield
    del connections.settings[replica.ALIAS]


@pytest.fixture(autouse=True)
def copy(transactional_db, settings, monkeypatch):
    """It says that it is not late."""
    settings.DATABASE_ROUTERS = ["annotation.core.replica.ReplicaRouter"]
    monkeypatch.setattr(replica, "lag_seconds", lambda: 0.0)
    replica.monitor.reset()
    yield connections[replica.ALIAS]
    connections[replica.ALIAS].close()
    del connections[replica.ALIAS]
    replica.monitor.reset()


@pytest.fixture
def study():
    return factories.study("kept", leads=[factories.user("lead")])


@pytest.fixture
def lead(client, study):
    client.force_login(study.leads.get())
    return client


@contextmanager
def asked():
    """SQL by database."""
    found: dict[str, list[str]] = {}
    captured = {
        alias: CaptureQueriesContext(connections[alias]) for alias in (DEFAULT_DB_ALIAS, replica.ALIAS)
    }
    with captured[DEFAULT_DB_ALIAS], captured[replica.ALIAS]:
        yield found
    found.update({alias: [one["sql"] for one in queries] for alias, queries in captured.items()})


def test_a_page_of_numbers_reads_the_copy_and_asks_the_primary_who_may(lead):
    with asked() as sql:
        assert lead.get(reverse("overview", args=["kept"])).status_code == 200
    assert sql[replica.ALIAS]
    assert all(
        "django_session" in one or "auth_" in one or "study" in one or "task" in one or "otp" in one
        for one in sql[DEFAULT_DB_ALIAS]
    )
    assert not any("django_session" in one or "auth_user" in one for one in sql[replica.ALIAS])


def test_whose_study_it_is_is_asked_of_the_primary(study, rf):
    request = rf.get("/")
    request.user = study.leads.get()
    with asked() as sql, replica.from_replica():
        assert get_study_or_404(request, "kept") == study
    assert sql[replica.ALIAS] == []


def test_who_did_something_sees_it(lead, settings):
    lead.head(reverse("overview", args=["kept"]))
    assert "changed" not in lead.cookies
    settings.SESSION_COOKIE_SECURE = True
    lead.post(reverse("retry_scores", args=["kept", 1]))
    cookie = lead.cookies["changed"]
    assert (int(cookie["max-age"]), cookie["httponly"], cookie["secure"]) == (15, True, True)
    with asked() as sql:
        lead.get(reverse("overview", args=["kept"]))
    assert sql[replica.ALIAS] == []


@pytest.mark.parametrize(
    ("page", "query", "headers"),
    [
        ("overview", "?check", {}),
        # told of new numbers, a page takes in its own new content
        ("overview", "", {"HX-Request": "true"}),
        ("fresh_scores", "", {}),
        ("pull", "", {}),
        ("people", "", {}),
    ],
)
def test_what_writes_or_must_be_of_now_reads_the_primary(lead, page, query, headers):
    with asked() as sql:
        assert lead.get(reverse(page, args=["kept"]) + query, headers=headers).status_code == 200
    assert sql[replica.ALIAS] == []


@pytest.mark.parametrize(
    ("page", "method", "headers", "may"),
    [
        ("overview", "GET", {}, True),
        ("overview", "HEAD", {}, True),
        ("overview", "OPTIONS", {}, False),
        ("overview", "POST", {}, False),
        ("overview", "GET", {"HX-Request": "true"}, False),
        # compute their own numbers
        ("overview_live", "GET", {"HX-Request": "true"}, True),
        ("quality", "GET", {"HX-Request": "true"}, True),
        ("admin:overview", "GET", {}, False),
    ],
)
def test_which_requests_may_be_answered_from_the_copy(rf, page, method, headers, may):
    request = rf.generic(method, "/", headers=headers)
    namespace, _, name = page.rpartition(":")
    request.resolver_match = SimpleNamespace(url_name=name, namespace=namespace)
    assert replica_pages._may_use_replica(request) is may


def test_its_pages_are_pages_of_this_program():
    names = {key for key in get_resolver().reverse_dict if isinstance(key, str)}
    assert names >= replica_pages.PAGES


def test_a_copy_that_is_late_is_left_alone_and_looked_at_again_later(lead, monkeypatch, caplog):
    now, late = [0.0], [11.0]
    monkeypatch.setattr(replica, "monotonic", lambda: now[0])
    monkeypatch.setattr(replica, "lag_seconds", lambda: late[0])
    assert not replica.monitor.is_usable()
    assert f"{LOGGED}: it is 11 s behind" in caplog.text
    late[0] = 9.0
    assert not replica.monitor.is_usable()
    now[0] += 5.0
    assert replica.monitor.is_usable()
    late[0] = None
    now[0] += 5.0
    assert not replica.monitor.is_usable()
    assert "a streaming standby" in caplog.text


def test_a_copy_that_is_away_costs_nobody_their_page(lead, monkeypatch, caplog):
    def refuse():
        raise OperationalError("connection refused")

    monkeypatch.setattr(replica, "lag_seconds", refuse)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert lead.get(reverse("overview", args=["kept"])).status_code == 200
    assert caplog.text.count(LOGGED) == 1


def test_one_that_fails_in_the_middle_of_a_page_neither(lead, copy, caplog):
    def cancel(execute, sql, params, many, context):
        raise OperationalError("canceling statement due to conflict with recovery")

    with copy.execute_wrapper(cancel):
        assert lead.get(reverse("overview", args=["kept"])).status_code == 200
    assert f"{LOGGED}: it failed: canceling statement" in caplog.text
    with asked() as sql:
        lead.get(reverse("overview", args=["kept"]))
    assert sql[replica.ALIAS] == []


@pytest.mark.parametrize("fault", [Http404, InterfaceError])
def test_what_the_copy_does_not_have_yet_is_looked_for_on_the_primary(rf, fault):
    seen = []

    def view(request):
        seen.append(replica.read_alias())
        if replica.read_alias() == replica.ALIAS:
            raise fault
        return HttpResponse()

    request = rf.get("/")
    request.resolver_match = type("Match", (), {"url_name": "overview", "namespace": ""})()
    middleware = replica_pages.ReplicaMiddleware(view)
    assert middleware.process_view(request, view, (), {}) is None
    assert middleware(request).status_code == 200
    assert seen == [replica.ALIAS, DEFAULT_DB_ALIAS]


def test_writes_and_what_is_read_while_writing_stay_on_the_primary(study):
    with replica.from_replica():
        assert Study.objects.get().title == study.title
        assert Study.objects.get()._state.db == replica.ALIAS
        with transaction.atomic():
            assert Study.objects.get()._state.db == DEFAULT_DB_ALIAS
        with replica.from_primary():
            assert Study.objects.get()._state.db == DEFAULT_DB_ALIAS
        read = Study.objects.get()
        with asked() as sql:
            read.title = "Anew"
            read.save()
        assert sql[replica.ALIAS] == []
    assert Study.objects.get()._state.db == DEFAULT_DB_ALIAS
    assert Study.objects.get().title == "Anew"


def test_a_snapshot_is_one_of_the_copy(study, copy):
    with replica.from_replica(), snapshot():
        assert copy.in_atomic_block
        assert not connections[DEFAULT_DB_ALIAS].in_atomic_block
        before = Study.objects.get().title
        # somebody else writes meanwhile
        with replica.from_primary():
            Study.objects.update(title="Anew")
        assert Study.objects.get().title == before
    with replica.from_replica():
        assert Study.objects.get().title == "Anew"


def test_boxes_come_straight_from_the_copy_as_well(study):
    with asked() as sql, replica.from_replica():
        read_boxes(study)
    assert any("annotation_box" in one for one in sql[replica.ALIAS])
    assert not any("annotation_box" in one for one in sql[DEFAULT_DB_ALIAS])
