"""Blocking, unblocking, and giving somebody's open work to others (participation/services/enrolments.py)."""

import pytest

from annotation.annotate.services import responses
from annotation.assignment.services import slots
from annotation.models import (
    AuditEvent,
    Consent,
    Enrolment,
    EnrolmentStatus,
    Purpose,
    Slot,
    SlotState,
    Unit,
)
from annotation.participation.services import enrolments
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    return factories.rating_study(name="words", leads=[lead])


def test_blocking_returns_what_they_hold_and_keeps_what_they_said(study, lead):
    enrolment = factories.enrolment(study, consented=True)
    slot = slots.lease_next(enrolment=enrolment)
    answered = factories.response(study.tasks.get().units.get(position=2), who=enrolment.annotator)
    assert enrolments.block(enrolment=enrolment, by=lead)
    enrolment.refresh_from_db()
    slot.refresh_from_db()
    answered.refresh_from_db()
    assert enrolment.status == EnrolmentStatus.BLOCKED
    assert slot.state == SlotState.OPEN
    assert answered.current
    assert answered.slot.state == SlotState.FILLED


def test_an_answer_in_hand_when_they_were_blocked_is_not_thrown_away(study, lead):
    enrolment = factories.enrolment(study, consented=True)
    slot = slots.lease_next(enrolment=enrolment)
    enrolments.block(enrolment=enrolment, by=lead)
    answer = responses.Answer(option_id=slot.unit.options.get().pk, value=5, position=1)
    responses.submit(enrolment=enrolment, unit_id=slot.unit_id, client_key=slot.lease_key, answers=[answer])
    assert enrolment.annotator.responses.count() == 1


def test_blocking_twice_is_the_same_as_once(study, lead):
    enrolment = factories.enrolment(study)
    assert enrolments.block(enrolment=enrolment, by=lead)
    assert not enrolments.block(enrolment=enrolment, by=lead)
    assert AuditEvent.objects.count() == 1


@pytest.mark.parametrize("status", [EnrolmentStatus.WITHDRAWN, EnrolmentStatus.SCREENED_OUT])
def test_whoever_has_left_cannot_be_blocked(study, lead, status):
    enrolment = factories.enrolment(study)
    enrolment.status = status
    enrolment.save()
    with pytest.raises(enrolments.EnrolmentRefused, match="left the study"):
        enrolments.block(enrolment=enrolment, by=lead)
    assert not AuditEvent.objects.exists()


def test_unblocking_lets_them_go_on(study, lead):
    enrolment = factories.enrolment(study, consented=True)
    enrolments.block(enrolment=enrolment, by=lead)
    assert enrolments.unblock(enrolment=enrolment, by=lead)
    enrolment.refresh_from_db()
    assert enrolment.status == EnrolmentStatus.QUALIFIED
    assert slots.lease_next(enrolment=enrolment) is not None
    assert not enrolments.unblock(enrolment=enrolment, by=lead)


def test_unblocking_somebody_who_does_not_consent_leaves_them_invited(study, lead):
    enrolment = factories.enrolment(study, consented=True)
    Consent.objects.update(withdrawn_at=Consent.objects.get().given_at)
    factories.enrolment(study, consented=True)
    factories.enrolment(factories.rating_study(), who=enrolment.annotator, consented=True)
    enrolments.block(enrolment=enrolment, by=lead)
    enrolments.unblock(enrolment=enrolment, by=lead)
    assert enrolment.status == EnrolmentStatus.INVITED


@pytest.mark.parametrize(
    ("has_training", "answered", "status"),
    [
        (True, 0, EnrolmentStatus.TRAINING),
        (True, 1, EnrolmentStatus.QUALIFIED),
        (False, 0, EnrolmentStatus.QUALIFIED),
    ],
)
def test_unblocking_somebody_who_answered_nothing_sends_them_back_to_training(
    study, lead, has_training, answered, status
):
    trained = study if has_training else factories.rating_study()
    Unit.objects.filter(task__study=trained, position=1).update(purpose=Purpose.TRAINING)
    enrolment = factories.enrolment(study, consented=True)
    Enrolment.objects.update(answered=answered)
    enrolments.block(enrolment=enrolment, by=lead)
    enrolments.unblock(enrolment=enrolment, by=lead)
    assert enrolment.status == status


def test_open_work_goes_to_others_and_they_may_go_on(study, lead):
    enrolment = factories.enrolment(study, consented=True)
    slots.lease_next(enrolment=enrolment)
    assert enrolments.release(enrolment=enrolment, by=lead) == 1
    assert enrolments.release(enrolment=enrolment, by=lead) == 0
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()
    assert AuditEvent.objects.get().details == {"released": 1}


def test_the_record_says_who_did_it_and_names_no_annotator(study, lead):
    enrolment = factories.enrolment(study, consented=True, pseudonym="a-secret")
    slots.lease_next(enrolment=enrolment)
    enrolments.block(enrolment=enrolment, by=lead)
    enrolments.unblock(enrolment=enrolment, by=lead)
    blocked, unblocked = AuditEvent.objects.order_by("pk")
    assert (blocked.by, blocked.study, blocked.what) == (lead, study, "annotator blocked")
    assert blocked.details == {"was": "qualified", "answered": 0, "released": 1}
    assert unblocked.details == {"now": "qualified", "answered": 0}
    assert "a-secret" not in str([event.details for event in (blocked, unblocked)])
