"""Prepared queries return the same rows as the query sets they are made from."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.transaction import TransactionManagementError

from annotation.core.prepared import Param, Prepared, PreparedInsert, PreparedUpdate
from annotation.core.prepared_together import Changed, InsertedId, Together
from annotation.models import Enrolment, Judgement, Response, Slot, Study, Unit
from tests import factories

pytestmark = pytest.mark.django_db


def test_each_run_finds_what_its_own_values_ask_for():
    studies = [factories.study(name) for name in ("one", "two")]
    by_name = Prepared(Study.objects.filter(name=Param("name")))
    assert [by_name.first(name=name) for name in ("one", "two", "three")] == [*studies, None]
    assert by_name.get(name="two").title == studies[1].title
    with pytest.raises(Study.DoesNotExist, match="three"):
        by_name.get(name="three")
    with pytest.raises(KeyError, match="name"):
        by_name.all(other="one")


def test_it_is_put_into_sql_once(monkeypatch):
    compiled = []
    by_name = Prepared(Study.objects.filter(name=Param("name")))
    monkeypatch.setattr(Param, "as_sql", lambda self, *_: compiled.append(self) or ("%s", (self,)))
    for name in ("one", "two", "three"):
        by_name.all(name=name)
    assert len(compiled) == 1


def test_what_is_related_comes_with_it(django_assert_num_queries):
    enrolment = factories.enrolment(factories.study())
    found = Prepared(Enrolment.objects.filter(pk=Param("pk")).select_related("study", "annotator"))
    with django_assert_num_queries(1):
        [one] = found.all(pk=enrolment.pk)
        assert (one.study, one.annotator) == (enrolment.study, enrolment.annotator)


def test_values_that_a_database_does_not_know_come_back_as_they_went_in():
    at, key = datetime(2026, 3, 1, 12, 30, 15, 250, tzinfo=UTC), uuid4()
    unit = factories.attribute_unit(factories.task(factories.study()))
    given = {"task_version": 1, "revision": 2, "current": False, "submitted_at": at, "active_ms": 7}
    row = vars(Response(unit=unit, client_key=key, **given))
    insert = PreparedInsert(Response)
    [made] = insert.run(**insert.values(row))
    kept = Response.objects.get(client_key=key)
    assert (kept.pk, kept.unit, {name: getattr(kept, name) for name in given}) == (made, unit, given)
    assert (kept.slot, kept.started_at, kept.language) == (None, None, "")

    found = Prepared(Response.objects.filter(client_key=Param("key"), submitted_at=Param("at")).values())
    assert found.all(key=key, at=at) == list(Response.objects.values())
    flat = Prepared(Response.objects.filter(pk=Param("pk")).values_list("client_key", flat=True))
    assert flat.all(pk=made) == [key]

    # several at once, with what they have in common
    pair = PreparedInsert(Response, rows=2, language=Value("es"))
    keys = [uuid4(), uuid4()]
    made = pair.run(**pair.values(*({**row, "client_key": key} for key in keys)))
    assert [Response.objects.get(client_key=key).pk for key in keys] == made
    assert Response.objects.filter(language="es", active_ms=7).count() == 2


def move_behind(slot: Slot, *, whose: Enrolment, state: str) -> dict:
    """Take a slot that is in `state`, and move on behind it if that came off."""
    both = Together(
        taken=PreparedUpdate(
            Slot.objects.filter(pk=Param("slot"), state=Param("state")), queue=F("queue") + 9
        ),
        moved=PreparedUpdate(
            Enrolment.objects.filter(Changed("taken"), pk=Param("pk")), position=Param("position")
        ),
    )
    return both.run(slot=slot.pk, state=state, pk=whose.pk, position=slot.queue)


def test_of_changes_that_are_made_together_one_waits_for_another():
    study = factories.study()
    slot = factories.attribute_unit(factories.task(study, strata=["any"])).slots.get()
    enrolment = factories.enrolment(study)
    assert move_behind(slot, whose=enrolment, state="filled") == {"taken": 0, "moved": 0}
    assert Enrolment.objects.get().position == 0
    assert move_behind(slot, whose=enrolment, state="open") == {"taken": 1, "moved": 1}
    assert Enrolment.objects.get().position == slot.queue
    assert Slot.objects.get().queue == slot.queue + 9


def test_of_changes_that_are_made_together_one_names_the_row_of_another(django_assert_num_queries):
    unit = factories.page_unit(
        factories.task(factories.study(), kind="depiction"), picture=factories.image(), texts=["a", "b"]
    )
    options = list(unit.options.order_by("position"))
    response = PreparedInsert(Response)
    judgements = PreparedInsert(Judgement, rows=len(options), response_id=InsertedId("response"))
    both = Together(response=response, judgements=judgements)
    row = vars(Response(unit=unit, client_key=uuid4(), task_version=1))
    said = [vars(Judgement(option=option, value=1, position=option.position)) for option in options]
    with django_assert_num_queries(1 if connection.vendor == "postgresql" else 2):
        done = both.run(**response.values(row), **judgements.values(*said))
    assert done["response"] == [Response.objects.get().pk]
    found = Judgement.objects.filter(pk__in=done["judgements"], response=done["response"][0])
    by_key = {judgement.pk: judgement.option_id for judgement in found}
    assert [by_key[pk] for pk in done["judgements"]] == [option.pk for option in options]


def test_an_update_says_how_many_rows_it_changed():
    task = factories.task(factories.study())
    slots = [slot for _ in range(2) for slot in factories.attribute_unit(task).slots.order_by("pk")]
    move = PreparedUpdate(
        Slot.objects.filter(pk=Param("pk"), queue__lt=Param("below")), queue=F("queue") + Param("by")
    )
    before = slots[-1].queue
    assert move.run(pk=slots[-1].pk, below=before, by=5) == 0
    assert move.run(pk=slots[-1].pk, below=before + 1, by=5) == 1
    assert Slot.objects.get(pk=slots[-1].pk).queue == before + 5
    assert Slot.objects.get(pk=slots[0].pk).queue == slots[0].queue


@pytest.mark.django_db(transaction=True)
def test_a_lock_needs_a_transaction_at_every_run():
    locked = Prepared(Study.objects.filter(name=Param("name")).select_for_update())
    for _ in range(2):
        with pytest.raises(TransactionManagementError):
            locked.all(name="one")


@pytest.mark.django_db(transaction=True)
def test_threads_do_not_share_what_they_find():
    for number in range(8):
        factories.study(f"study-{number}")
    by_name = Prepared(Study.objects.filter(name=Param("name")))

    def look(number: int) -> set[str]:
        try:
            return {by_name.get(name=f"study-{number}").name for _ in range(40)}
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(look, range(8))) == [{f"study-{number}"} for number in range(8)]


@pytest.mark.django_db
def test_writing_it_leaves_the_query_as_it_was_for_other_threads_that_write_it_too():
    prepared = Prepared(Unit.objects.filter(pk=Param("pk")).select_related("image__group", "task"))
    shared = prepared._statement.query
    before = (dict(shared.alias_map), dict(shared.alias_refcount))
    assert prepared.first(pk=1) is None
    assert (dict(shared.alias_map), dict(shared.alias_refcount)) == before
    compiler, sql, _ = prepared._statement.compiled()
    assert compiler.query is not shared
    assert "JOIN" in sql
