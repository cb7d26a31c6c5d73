"""PostgreSQL draws ids before it commits: an answer that becomes visible late is not passed by."""

import threading
import time

import pytest
from django.db import connection, transaction

from annotation.core import committed_ids
from annotation.events import RESPONSE_CREATED
from annotation.models import Response, Webhook
from annotation.webhooks.services import events as webhook_events
from annotation.webhooks.services import subscriptions
from tests import factories
from tests.annotation.webhooks.test_events import hook, told, units
from tests.waiting import PATIENCE_SECONDS


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
@pytest.mark.django_db(transaction=True)
def test_an_answer_whose_smaller_id_is_committed_later_is_not_missed():
    """The smaller id is drawn first and committed last: a cursor that followed the largest would pass it."""
    study = factories.rating_study(name="words", leads=[])
    hook(study)
    first, second, _ = units(study)
    drawn, go_on, ids = threading.Event(), threading.Event(), []

    def slow():
        try:
            with transaction.atomic():
                ids.append(factories.response(first).pk)
                drawn.set()
                assert go_on.wait(PATIENCE_SECONDS)
        finally:
            connection.close()

    thread = threading.Thread(target=slow)
    thread.start()
    assert drawn.wait(PATIENCE_SECONDS)
    quick = factories.response(second).pk
    assert quick > ids[0]
    assert committed_ids.highest_safe_id(Response, timeout=0) is None, "somebody still writes"
    assert webhook_events.queue_messages(timeout=0) == 0
    assert Webhook.objects.get().seen_response < ids[0]
    go_on.set()
    thread.join()
    assert webhook_events.queue_messages(timeout=PATIENCE_SECONDS) == 1
    assert told(RESPONSE_CREATED, "responses") == [ids[0], quick]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
@pytest.mark.django_db(transaction=True)
def test_who_begins_to_write_during_the_wait_is_not_waited_for(monkeypatch):
    study = factories.rating_study(name="words", leads=[])
    first, second, third = units(study)
    events = {name: threading.Event() for name in ("early", "late", "end_early", "end_late", "noted")}
    sleep = time.sleep

    def pause(seconds):
        events["noted"].set()
        sleep(seconds)

    monkeypatch.setattr(committed_ids.time, "sleep", pause)

    def write(unit, name):
        try:
            with transaction.atomic():
                factories.response(unit)
                events[name].set()
                assert events[f"end_{name}"].wait(PATIENCE_SECONDS)
        finally:
            connection.close()

    early = threading.Thread(target=write, args=(first, "early"))
    late = threading.Thread(target=write, args=(second, "late"))
    early.start()
    assert events["early"].wait(PATIENCE_SECONDS)

    reached = []

    def look():
        try:
            reached.append(committed_ids.highest_safe_id(Response, timeout=PATIENCE_SECONDS))
        finally:
            connection.close()

    looking = threading.Thread(target=look)
    looking.start()
    assert events["noted"].wait(PATIENCE_SECONDS), "it knows for whom it waits"
    late.start()
    assert events["late"].wait(PATIENCE_SECONDS)
    events["end_early"].set()
    early.join()
    looking.join()
    newest_committed = subscriptions.newest_response_id()
    assert reached[0] is not None, "the late one goes on writing, and is no reason to wait"
    assert reached[0] >= newest_committed
    events["end_late"].set()
    late.join()
    assert factories.response(third).pk > reached[0]
