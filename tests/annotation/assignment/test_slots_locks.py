"""Who waits for whom on PostgreSQL, where many write at once. SQLite has one writer at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from annotation.annotate.services import responses
from annotation.assignment.services import slots
from annotation.models import Slot
from tests import connections, factories
from tests.waiting import PATIENCE_SECONDS, wait_for

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        "connection.vendor != 'postgresql'", reason="NOT POSTGRESQL: no locks of rows were tried"
    ),
]

_RETURN = """
    UPDATE annotation_slot SET state = 'open', annotator_id = NULL, lease_key = NULL, leased_at = NULL,
    lease_expires_at = NULL, queue = queue + 1000 WHERE id = %s
"""
_FILL = "UPDATE annotation_slot SET state = 'filled', annotator_id = %s WHERE id = %s"


@pytest.fixture
def processes():
    """Two connections of their own to the database of the test."""
    with connections.another() as first, connections.another() as second:
        yield first, second


def wait_for_waiting(number: int) -> None:
    """Until so many connections wait for a lock."""
    query = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with connection.cursor() as cursor:
        wait_for(
            lambda: cursor.execute(query).fetchone()[0] >= number,
            f"fewer than {number} connections ever waited: nothing was tested",
        )


def test_two_late_answers_to_one_unit_do_not_wait_for_each_other_for_ever(processes):
    """One answer finds that the slot it wanted was just filled, the other that its own was just returned;
    then each looks at the slot that the other looked at before. PostgreSQL keeps the lock of a row that
    turned out not to be what an UPDATE wanted."""
    filler, sweep = processes
    study = factories.study()
    unit = factories.attribute_unit(factories.task(study, strata=["any", "any"]))
    late, owner, third = [factories.enrolment(study) for _ in range(3)]
    first = slots.lease_next(enrolment=late)
    slots.release_leases(enrolment=late)
    second = slots.lease_next(enrolment=owner)
    assert first.pk < second.pk
    [option] = unit.options.all()

    def answer(enrolment, key):
        answer = responses.Answer(option_id=option.pk, value=4, position=1)
        try:
            return responses.submit(
                enrolment=enrolment, unit_id=unit.pk, client_key=key, answers=[answer]
            ).outcome
        finally:
            connection.close()

    filler.execute(_FILL, [third.annotator_id, first.pk])
    sweep.execute(_RETURN, [second.pk])
    with ThreadPoolExecutor() as threads:
        of_owner = threads.submit(answer, owner, second.lease_key)
        wait_for_waiting(1)
        of_late = threads.submit(answer, late, first.lease_key)
        wait_for_waiting(2)
        sweep.commit()
        filler.commit()
        assert sorted(
            [of_late.result(timeout=PATIENCE_SECONDS), of_owner.result(timeout=PATIENCE_SECONDS)]
        ) == ["filled", "surplus"]
    assert Slot.objects.filter(state="filled").count() == 2


def test_the_sweep_passes_over_what_is_being_answered(processes):
    answering, _ = processes
    study = factories.study()
    task = factories.task(study, strata=["any"])
    for _ in range(2):
        factories.attribute_unit(task)
    people = [factories.enrolment(study) for _ in range(2)]
    busy, gone = [slots.lease_next(enrolment=person) for person in people]
    answering.execute("SELECT 1 FROM annotation_slot WHERE id = %s FOR UPDATE", [busy.pk])
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '2s'")  # waiting is what must not happen
    later = timezone.now() + timedelta(days=1)

    assert slots.release_expired(now=later) == 1
    assert Slot.objects.get(pk=gone.pk).state == "open"
    # renewing does not wait for it either, and keeps what is held
    assert [slot.pk for slot in slots.lease(enrolment=people[0], wanted=1, now=later)] == [busy.pk]
    answering.rollback()
    assert slots.release_expired(now=later) == 1
    connection.close()  # with its lock_timeout
