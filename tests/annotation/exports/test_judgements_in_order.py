"""PostgreSQL draws ids before it commits: whoever reads judgements page by page passes none by."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection, transaction

from annotation.core import committed_ids
from annotation.exports.services import judgements
from annotation.models import Judgement
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.waiting import PATIENCE_SECONDS

PAGE = "studies/words/judgements?limit=1"


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
@pytest.mark.django_db(transaction=True)
def test_a_judgement_that_is_committed_late_is_on_the_page_where_it_belongs(monkeypatch):
    monkeypatch.setattr(committed_ids, "_PAUSE_SECONDS", 0.001)
    study = factories.rating_study(name="words", leads=[])
    first, second, third = study.tasks.get().units.order_by("position")
    program = Program(factories.user("admin", admin=True))
    seen = [factories.response(first).judgements.get().pk]
    drawn, go_on, late = threading.Event(), threading.Event(), []

    def slow():
        try:
            with transaction.atomic():
                late.append(factories.response(second).judgements.get().pk)
                drawn.set()
                assert go_on.wait(PATIENCE_SECONDS)
        finally:
            connection.close()

    thread = threading.Thread(target=slow)
    thread.start()
    assert drawn.wait(PATIENCE_SECONDS)
    newest = factories.response(third).judgements.get().pk
    assert late[0] < newest
    monkeypatch.setattr(
        judgements, "highest_safe_id", lambda model: committed_ids.highest_safe_id(model, timeout=0)
    )
    busy = program.get(PAGE)
    is_problem(busy, 503)
    assert int(busy["Retry-After"]) > 0

    def patient(model):
        return committed_ids.highest_safe_id(model, timeout=PATIENCE_SECONDS)

    monkeypatch.setattr(judgements, "highest_safe_id", patient)
    sleep = time.sleep

    def pause(seconds):
        go_on.set()  # the page waits for the late one
        sleep(seconds)

    monkeypatch.setattr(committed_ids.time, "sleep", pause)
    address = PAGE
    read = []
    while address:
        page = program.get(address).json()
        read += [row["response"] for row in page["results"]]
        address = page["next"] and page["next"].partition("/api/v1/")[2]
    thread.join()
    everything = [*seen, *late, newest]
    assert read == list(
        Judgement.objects.filter(pk__in=everything).order_by("pk").values_list("response", flat=True)
    )


@pytest.mark.django_db
def test_a_page_goes_no_further_than_what_is_certain(monkeypatch):
    study = factories.rating_study(name="words", leads=[])
    units = study.tasks.get().units.order_by("position")
    numbers = [factories.response(unit).judgements.get().pk for unit in units]
    program = Program(factories.user("admin", admin=True))
    monkeypatch.setattr(judgements, "highest_safe_id", lambda model: numbers[1])
    page = program.get("studies/words/judgements").json()
    assert (len(page["results"]), page["next"]) == (2, None)
