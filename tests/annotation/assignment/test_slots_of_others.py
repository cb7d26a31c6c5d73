"""What others hold, took first or answered, and what somebody holds in another study."""

import pytest

from annotation.assignment.services import enrolment_lock, slots
from annotation.models import Enrolment, EnrolmentStatus, Slot, SlotState, StudyStatus
from tests import factories
from tests.annotation.assignment.test_slots import answer, rated

pytestmark = pytest.mark.django_db


def test_nothing_is_given_to_somebody_who_was_blocked_meanwhile():
    enrolment = factories.enrolment(factories.rating_study())
    Enrolment.objects.update(status=EnrolmentStatus.BLOCKED)
    assert slots.lease_next(enrolment=enrolment) is None
    Enrolment.objects.all().delete()
    assert slots.lease_next(enrolment=enrolment) is None, "nor to who is not there any more"


@pytest.mark.parametrize(
    ("study", "status", "some"),
    [
        (StudyStatus.OPEN, EnrolmentStatus.QUALIFIED, True),
        (StudyStatus.CLOSED, EnrolmentStatus.QUALIFIED, False),
        (StudyStatus.OPEN, EnrolmentStatus.BLOCKED, False),
    ],
)
def test_an_answer_brings_the_next_items_only_while_the_study_is_open_and_one_is_in_it(study, status, some):
    user = factories.user()
    enrolment = factories.enrolment(factories.rating_study(status=study), user=user)
    Enrolment.objects.update(status=status)
    with enrolment_lock.locked_membership(user=user, study_name=enrolment.study.name) as membership:
        assert bool(slots.lease(enrolment=membership.enrolment, wanted=1)) == some


def test_what_they_hold_in_another_study_is_not_given_here():
    who = factories.annotator()
    here, elsewhere = (factories.enrolment(factories.rating_study(), who=who) for _ in range(2))
    slots.lease_next(enrolment=elsewhere)
    assert slots.lease_next(enrolment=here).study == here.study
    assert slots.release_leases(enrolment=here) == 1
    assert elsewhere.study.slots.filter(state=SlotState.LEASED).count() == 1


def test_a_unit_answered_as_a_surplus_does_not_come_again():
    of = factories.study()
    rated(of, units=1, strata=("any",))
    late, quick = factories.enrolment(of), factories.enrolment(of)
    leased = slots.lease_next(enrolment=late)
    slots.release_leases(enrolment=late)
    answer(quick, slots.lease_next(enrolment=quick))
    assert answer(late, leased).outcome == "surplus"
    Slot.objects.update(state=SlotState.OPEN, annotator=None, queue=99)
    assert slots.lease_next(enrolment=late) is None


@pytest.mark.parametrize("taken", [1, 2])
def test_slots_that_somebody_else_takes_first_stay_ahead(monkeypatch, taken):
    of = factories.study()
    rated(of, units=3, strata=("any",))
    quick, enrolment = factories.enrolment(of), factories.enrolment(of)
    find = slots.open_slots

    def found_late(**asked):
        found = find(**asked)
        monkeypatch.setattr(slots, "open_slots", find)
        slots.lease(enrolment=quick, wanted=taken)
        return found

    monkeypatch.setattr(slots, "open_slots", found_late)
    following = of.slots.get(unit__position=taken + 1)
    assert slots.lease_next(enrolment=enrolment) == following
    assert Enrolment.objects.get(pk=enrolment.pk).position == 0
    theirs = of.slots.filter(annotator=quick.annotator).values_list("unit__position", flat=True)
    assert sorted(theirs) == list(range(1, taken + 1))


def test_what_is_returned_keeps_its_order():
    of = factories.study()
    first, second, third = rated(of, units=3, strata=("any",))
    enrolment = factories.enrolment(of)
    slots.lease(enrolment=enrolment, wanted=2)
    slots.release_leases(enrolment=enrolment)
    leased = slots.lease(enrolment=factories.enrolment(of), wanted=3)
    assert [slot.unit for slot in leased] == [third, first, second]


def test_who_holds_the_last_item_is_not_done():
    of = factories.study()
    rated(of, units=1, strata=("any",))
    enrolment = factories.enrolment(of)
    slot = slots.lease_next(enrolment=enrolment)
    assert not slots.is_done(enrolment=enrolment)
    answer(enrolment, slot)
    assert slots.is_done(enrolment=enrolment)
