"""A place in a study that is found and locked at once, on PostgreSQL. SQLite has one writer at a time."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone

from annotation.annotate.services import items, responses
from annotation.assignment.queries import open_slots
from annotation.assignment.services import enrolment_lock
from annotation.models import Enrolment, EnrolmentStatus, Response, Unit
from tests import connections, factories
from tests.annotation.annotate.test_hot_path import others_at_work

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        "connection.vendor != 'postgresql'", reason="NOT POSTGRESQL: no locks of rows were tried"
    ),
]


@pytest.fixture
def enrolment():
    study = factories.study("words")
    task = factories.task(study, strata=["any"])
    for word in ("hat", "scarf"):
        factories.attribute_unit(task, word)
    who = factories.annotator(user=factories.user("amal"))
    return factories.enrolment(study, who=who, consented=True)


@pytest.fixture
def somebody_else():
    with connections.another() as theirs:
        yield theirs


def waits_for_disk() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        return cursor.fetchone()[0] != "off"


def sent(membership, item, *, value: int = 4) -> responses.Submitted:
    option = item_option(item.unit_id)
    return responses.submit(
        enrolment=membership.enrolment,
        unit_id=item.unit_id,
        client_key=item.client_key,
        answers=[responses.Answer(option_id=option, value=value, position=1)],
    )


def item_option(unit_id: int) -> int:
    return Unit.objects.get(pk=unit_id).options.get().pk


def test_nobody_else_changes_it_until_the_end(enrolment, somebody_else):
    lock = "SELECT 1 FROM annotation_enrolment WHERE id = %s FOR UPDATE NOWAIT"
    with enrolment_lock.locked_membership(user=enrolment.annotator.user, study_name="words") as membership:
        assert membership.enrolment == enrolment
        with pytest.raises(psycopg.errors.LockNotAvailable):
            somebody_else.execute(lock, [enrolment.pk])
        somebody_else.rollback()
    assert somebody_else.execute(lock, [enrolment.pk]).fetchone() == (1,)


def test_only_leases_do_not_wait_for_the_disk(enrolment):
    who = {"user": enrolment.annotator.user, "study_name": "words"}
    with enrolment_lock.locked_membership(**who, for_leases=True):
        assert not waits_for_disk()
    with enrolment_lock.locked_membership(**who):
        assert waits_for_disk()
    with transaction.atomic():
        with enrolment_lock.locked_membership(**who, for_leases=True):
            pass
        assert waits_for_disk()  # what else is done there may not be lost
    assert waits_for_disk()


def test_open_slots_are_looked_up_by_one_plan_that_walks_them_in_the_order_of_the_queue(enrolment):
    others_at_work(factories.study("busy"))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    for after in range(20):  # from the fourth time on the driver has it prepared
        open_slots(enrolment=enrolment, texts=["any"], after=after, least=2)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, generic_plans, custom_plans FROM pg_prepared_statements "
            "WHERE statement LIKE '%%mine.unit_id%%'"
        )
        [(name, generic, custom)] = cursor.fetchall()
        assert (generic >= 10, custom) == (True, 0)
        cursor.execute(f"EXPLAIN EXECUTE \"{name}\" ('any', 1, 0, 1)")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Index Scan using slot_open_in_queue" in plan
    assert "Sort" not in plan


def test_what_is_refused_leaves_nothing_and_the_next_one_goes_on(enrolment):
    who = {"user": enrolment.annotator.user, "study_name": "words"}
    with enrolment_lock.locked_membership(**who, for_leases=True) as membership:
        [item] = items.next_items(enrolment=membership.enrolment).items
    with pytest.raises(responses.AnswerRefused), enrolment_lock.locked_membership(**who) as membership:
        sent(membership, item, value=77)
    assert not Response.objects.exists()
    with enrolment_lock.locked_membership(**who) as membership:
        assert sent(membership, item).outcome == "filled"
    with enrolment_lock.locked_membership(**who) as membership:
        assert sent(membership, item).outcome == "repeat"
    assert Response.objects.get().slot.state == "filled"
    assert Enrolment.objects.get().answered == 1


def test_it_counts_for_its_own_transaction_only(enrolment):
    """What was read then may be out of date later: it is read again, and locked."""
    with enrolment_lock.locked_membership(user=enrolment.annotator.user, study_name="words") as membership:
        [item] = items.next_items(enrolment=membership.enrolment).items
    Enrolment.objects.update(status=EnrolmentStatus.WITHDRAWN)
    with pytest.raises(responses.AnswerRefused):
        sent(membership, item)


def test_a_cap_of_the_session_is_kept_in_the_same_transaction(enrolment):
    type(enrolment.study).objects.update(session_cap=1)
    Enrolment.objects.update(session_started_at=timezone.now() - timedelta(minutes=1), session_units=1)
    with enrolment_lock.locked_membership(
        user=enrolment.annotator.user, study_name="words", for_leases=True
    ) as membership:
        assert items.next_items(enrolment=membership.enrolment).state == "cap"


def test_a_stranger_has_none(enrolment):
    with enrolment_lock.locked_membership(user=factories.user("stranger"), study_name="words") as membership:
        assert membership is None
