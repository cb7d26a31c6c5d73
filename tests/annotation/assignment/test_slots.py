"""Leasing, renewing and returning slots, one process at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.annotate.services import responses
from annotation.assignment.services import slots
from annotation.models import Enrolment, ProfileAnswer, Slot, SlotState, StudyStatus
from annotation.studies.services import studies
from annotation.studies.study_file.reading import read_study_text
from tests import factories
from tests.annotation.studies import world

pytestmark = pytest.mark.django_db


def rated(of, *, units: int, strata=("any", "any", "any")):
    task = factories.task(of, strata=strata)
    return [factories.attribute_unit(task) for _ in range(units)]


def answer(enrolment, slot, value: int = 5):
    option = slot.unit.options.get()
    return responses.submit(
        enrolment=enrolment,
        unit_id=slot.unit_id,
        client_key=slot.lease_key,
        answers=[responses.Answer(option_id=option.pk, value=value, position=1)],
    )


def test_it_leases_the_first_unit_and_gives_the_same_one_again():
    of = factories.study()
    first, _ = rated(of, units=2)
    enrolment = factories.enrolment(of)

    slot = slots.lease_next(enrolment=enrolment)
    again = slots.lease_next(enrolment=enrolment)

    assert slot.unit == first
    assert (again.pk, again.lease_key) == (slot.pk, slot.lease_key)
    assert Slot.objects.filter(state=SlotState.LEASED).count() == 1


def test_asking_again_renews_the_lease():
    of = factories.study()
    rated(of, units=1)
    enrolment = factories.enrolment(of)
    start = timezone.now()

    slots.lease_next(enrolment=enrolment, now=start)
    for after, ends in ((14, 60), (16, 76)):  # nothing is written while most of the time is left
        slots.lease_next(enrolment=enrolment, now=start + timedelta(minutes=after))
        assert Slot.objects.get(state=SlotState.LEASED).lease_expires_at == start + timedelta(minutes=ends)
    later = slots.lease_next(enrolment=enrolment, now=start + timedelta(minutes=50))

    assert Slot.objects.get(pk=later.pk).lease_expires_at > start + timedelta(minutes=100)


def test_an_annotator_meets_each_unit_once():
    of = factories.study()
    units = rated(of, units=4)
    enrolment = factories.enrolment(of)
    met = []

    while (slot := slots.lease_next(enrolment=enrolment)) is not None:
        met.append(slot.unit_id)
        answer(enrolment, slot)

    assert met == [unit.pk for unit in units]


def test_three_annotators_fill_a_study_of_overlap_three_exactly():
    of = factories.study()
    rated(of, units=5)
    people = [factories.enrolment(of) for _ in range(4)]

    for enrolment in people:
        while (slot := slots.lease_next(enrolment=enrolment)) is not None:
            answer(enrolment, slot)

    assert Slot.objects.filter(state=SlotState.FILLED).count() == 15
    assert people[3].annotator.responses.count() == 0


def test_a_stratum_is_given_only_to_those_it_is_for():
    of = factories.study()
    rated(of, units=2, strata=("origin: Asia", "origin: Europe or Africa", "gender: not male"))
    asian = factories.enrolment(of, profile={"origin": "asia"})
    african_woman = factories.enrolment(of, profile={"origin": "Africa", "gender": "woman"})
    silent = factories.enrolment(of)

    assert slots.lease_next(enrolment=asian).stratum == "origin: Asia"
    # of the two that she matches, the first in the queue
    assert slots.lease_next(enrolment=african_woman).stratum == "origin: Europe or Africa"
    assert slots.lease_next(enrolment=silent) is None


def test_a_returned_slot_goes_to_the_end_and_is_found_by_whoever_is_past_it():
    of = factories.study()
    rated(of, units=3, strata=("any",))
    slow, quick = factories.enrolment(of), factories.enrolment(of)
    leased = slots.lease_next(enrolment=slow)
    while (slot := slots.lease_next(enrolment=quick)) is not None:
        answer(quick, slot)

    assert slots.release_leases(enrolment=slow) == 1

    assert slots.lease_next(enrolment=quick).unit_id == leased.unit_id


def test_an_expired_lease_is_given_to_somebody_else():
    of = factories.study()
    rated(of, units=1, strata=("any",))
    gone, there = factories.enrolment(of), factories.enrolment(of)
    start = timezone.now()
    leased = slots.lease_next(enrolment=gone, now=start)

    assert slots.lease_next(enrolment=there, now=start + timedelta(minutes=59)) is None
    elsewhere = factories.rating_study()
    slots.lease_next(enrolment=factories.enrolment(elsewhere), now=start)
    assert slots.lease_next(enrolment=there, now=start + timedelta(minutes=61)).pk == leased.pk
    assert elsewhere.slots.filter(state=SlotState.LEASED).exists(), "another study was not asked for"


def test_a_lease_that_was_renewed_meanwhile_is_not_returned():
    of = factories.study()
    rated(of, units=1)
    enrolment = factories.enrolment(of)
    start = timezone.now()
    slots.lease_next(enrolment=enrolment, now=start)
    slots.lease_next(enrolment=enrolment, now=start + timedelta(minutes=30))

    assert slots.release_expired(now=start + timedelta(minutes=61)) == 0


def test_a_slot_is_filled_if_it_is_open_or_ones_own():
    of = factories.study()
    rated(of, units=1, strata=("any",))
    mine, others = factories.enrolment(of), factories.enrolment(of)
    slot = slots.lease_next(enrolment=mine)
    assert slots.FILL.run(slot=slot.pk, annotator=others.annotator_id) == 0, "it is leased to another"
    assert slots.FILL.run(slot=slot.pk, annotator=mine.annotator_id) == 1
    assert slots.FILL.run(slot=slot.pk, annotator=others.annotator_id) == 0, "it is filled"
    slot.refresh_from_db()
    assert (slot.state, slot.annotator) == (SlotState.FILLED, mine.annotator)


def test_only_what_is_leased_goes_back_to_the_queue():
    of = factories.study()
    rated(of, units=2)
    filled, leased = slots.lease(enrolment=factories.enrolment(of), wanted=2)
    Slot.objects.filter(pk=filled.pk).update(
        state=SlotState.FILLED, lease_key=None, leased_at=None, lease_expires_at=None
    )
    before = Slot.objects.filter(pk=filled.pk).values().get()
    assert slots.return_to_queue(Slot.objects.filter(study=of)) == 1
    assert Slot.objects.filter(pk=filled.pk).values().get() == before
    leased.refresh_from_db()
    assert (leased.state, leased.annotator) == (SlotState.OPEN, None)


@pytest.mark.parametrize("status", [StudyStatus.DRAFT, StudyStatus.PAUSED, StudyStatus.CLOSED])
def test_nothing_is_given_out_of_a_study_that_is_not_open(status):
    of = factories.study(status=status)
    rated(of, units=1)
    assert slots.lease_next(enrolment=factories.enrolment(of)) is None


def test_a_changed_profile_lets_the_annotator_walk_the_queue_again():
    of = factories.study()
    first, _ = rated(of, units=2, strata=("any", "origin: Asia"))
    enrolment, other = factories.enrolment(of), factories.enrolment(of)
    answer(other, slots.lease_next(enrolment=other))
    answer(enrolment, slots.lease_next(enrolment=enrolment))
    assert slots.lease_next(enrolment=enrolment) is None, "only slots for Asia are left"

    ProfileAnswer.objects.create(annotator=enrolment.annotator, field="origin", value="Asia")
    before = Enrolment.objects.get(pk=other.pk)
    assert before.position > 0
    slots.restart_queue(annotator=enrolment.annotator)
    after = Enrolment.objects.get(pk=other.pk)
    assert (after.position, after.strata) == (before.position, before.strata)

    assert slots.lease_next(enrolment=enrolment).unit_id == first.pk


def test_the_queries_of_next_do_not_grow_with_the_study():
    counts = []
    for units in (3, 60):
        of = factories.study()
        rated(of, units=units)
        enrolment = factories.enrolment(of)
        for _ in range(units - 1):
            answer(enrolment, slots.lease_next(enrolment=enrolment))
        with CaptureQueriesContext(connection) as captured:
            assert slots.lease_next(enrolment=enrolment) is not None
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_an_annotator_far_ahead_of_the_others_reads_no_slot_twice():
    """The open slots left behind, of units met, must lie before the annotator's position."""
    of = factories.study()
    rated(of, units=30)
    enrolment = factories.enrolment(of)
    for _ in range(29):
        answer(enrolment, slots.lease_next(enrolment=enrolment))

    position = Enrolment.objects.get(pk=enrolment.pk).position
    behind = Slot.objects.filter(state=SlotState.OPEN, queue__lte=position).count()
    assert behind >= 2 * 28
    assert Slot.objects.filter(state=SlotState.OPEN, queue__gt=position).count() <= 5


def test_logging_out_gives_back_what_is_held(client):
    of = factories.study()
    rated(of, units=2)
    account = factories.user()
    enrolment = factories.enrolment(of, user=account)
    slots.lease(enrolment=enrolment, wanted=2)
    theirs = slots.lease_next(enrolment=factories.enrolment(of))
    client.force_login(account)

    client.post("/accounts/logout/")

    assert Slot.objects.get(state=SlotState.LEASED) == theirs


def test_slots_of_a_region_and_a_gender_go_to_whoever_meets_both():
    world.resource()
    wanted = 'strata = ["in-region and gender: not male"]'
    of = studies.apply_file(
        file=read_study_text(world.HEAD + world.PREVALENCE.replace("seed = 6", wanted)), by=None
    ).study
    studies.change_status(study=of, to=StudyStatus.OPEN, by=None)
    assert set(of.slots.values_list("stratum", flat=True)) == {
        f"residence: {region} and gender: not male" for region in ("Europe", "Latin America", "South Asia")
    }
    man, woman, elsewhere, silent = (
        factories.enrolment(of, who=factories.annotator(profile=profile))
        for profile in (
            {"residence": "South Asia", "gender": "man"},
            {"residence": "South Asia", "gender": "woman"},
            {"residence": "East Asia", "gender": "woman"},
            {"residence": "South Asia"},
        )
    )
    assert [slots.lease_next(enrolment=each) for each in (man, elsewhere, silent)] == [None] * 3
    leased = slots.lease(enrolment=woman, wanted=10)
    assert {slot.unit.association.group.name for slot in leased} == {"Nepali"}
    assert len(leased) == 3


def test_a_regional_stratum_that_was_never_resolved_matches_nobody():
    of = factories.study()
    rated(of, units=1, strata=("in-region and gender: female", "any"))
    enrolment = factories.enrolment(of, profile={"gender": "woman", "residence": "Europe"})
    assert slots.matching_strata(enrolment=enrolment) == ["any"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(
    "connection.vendor != 'sqlite'", reason="NOT SQLITE: nobody else waits for the disk there"
)
def test_only_a_lease_may_reach_the_disk_later(monkeypatch):
    written = []
    monkeypatch.setattr("visage_app.database.sqlite.base._write_to_disk", written.append)
    enrolment = factories.enrolment(factories.rating_study(texts=["kind"]))
    written.clear()

    slot = slots.lease_next(enrolment=enrolment)
    assert written == []
    with monkeypatch.context() as broken:
        broken.setattr(slots, "_renew", lambda **asked: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            slots.lease_next(enrolment=enrolment)
    answer(enrolment, slot)
    assert len(written) == 1


def test_the_look_ups_use_their_indexes_whatever_the_database_has_learnt():
    """A study of which the database learnt when nobody had answered: all open, of one stratum, nobody's."""
    task = factories.task(factories.study())
    for _ in range(40):
        factories.attribute_unit(task)
    enrolment = factories.enrolment(task.study)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
    asked = []

    def explained(run, sql, params, many, context):
        if "SELECT" in sql and "annotation_slot" in sql and "EXPLAIN" not in sql:
            with connection.cursor() as cursor:
                word = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
                plain = cursor.execute(f"{word} {sql}", params).fetchall()
            asked.append(" ".join(str(column) for row in plain for column in row))
        return run(sql, params, many, context)

    with connection.execute_wrapper(explained):
        assert slots.lease_next(enrolment=enrolment) is not None
    leased, first_open = asked[:2]
    assert "slot_open_in_queue" in first_open
    # else every candidate would cost a walk through all that the annotator ever answered
    assert "response_by_annotator" not in first_open
    assert "SCAN" not in leased
    assert "Seq Scan" not in leased
