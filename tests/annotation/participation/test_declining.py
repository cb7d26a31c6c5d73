"""Saying no to a study: whose place goes, and with whom the account goes too (services/annotators.py)."""

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from annotation.models import Consent, Enrolment, EnrolmentStatus, Invitation
from annotation.participation.services import annotators
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.rating_study(name="words")


@pytest.fixture
def guest(study):
    """Somebody who was let in with an account for this visit."""
    who = annotators.newcomer()
    Enrolment.objects.create(annotator=who, study=study, status=EnrolmentStatus.INVITED)
    return who


def agree(who, study):
    Consent.objects.create(annotator=who, text=study.consent_texts.get(), given_at=timezone.now())


def answer(who, study):
    factories.response(study.tasks.get().units.earliest("pk"), who=who)


def block(who, study):
    Enrolment.objects.filter(annotator=who, study=study).update(status=EnrolmentStatus.BLOCKED)


def has_account(who) -> bool:
    return get_user_model().objects.filter(pk=who.user_id).exists()


@pytest.mark.parametrize("before", [agree, answer, block])
def test_who_agreed_or_answered_once_or_is_blocked_is_not_forgotten(study, guest, before):
    before(guest, study)
    assert annotators.decline(annotator=guest, study=study) is False
    assert Enrolment.objects.filter(annotator=guest, study=study).exists()


def test_what_somebody_does_elsewhere_keeps_their_account_and_not_their_place(study, guest):
    elsewhere = factories.rating_study()
    agree(guest, elsewhere)
    answer(guest, elsewhere)
    assert annotators.decline(annotator=guest, study=study) is False
    assert not Enrolment.objects.exists()
    assert has_account(guest)


def test_a_place_elsewhere_keeps_the_account(study, guest):
    elsewhere = factories.rating_study()
    Enrolment.objects.create(annotator=guest, study=elsewhere, status=EnrolmentStatus.INVITED)
    assert annotators.decline(annotator=guest, study=elsewhere) is False
    assert Enrolment.objects.get().study == study
    assert has_account(guest)


@pytest.mark.parametrize("right", ["is_staff", "is_superuser"])
def test_an_account_with_rights_stays(study, guest, right):
    setattr(guest.user, right, True)
    guest.user.save()
    assert annotators.decline(annotator=guest, study=study) is False
    assert has_account(guest)


def test_a_use_that_was_not_counted_is_not_given_back(study, guest):
    Enrolment.objects.update(invitation=Invitation.objects.create(study=study, code="abc"))
    assert annotators.decline(annotator=guest, study=study) is True
    assert Invitation.objects.get().uses == 0


def test_the_account_of_a_guest_goes(study, guest):
    other = factories.enrolment(study, consented=True)
    answer(other.annotator, study)
    assert annotators.decline(annotator=guest, study=study) is True
    assert not has_account(guest)


def test_another_guest_who_has_not_decided_yet_stays(study):
    guests = [annotators.newcomer() for _ in range(3)]
    for each in guests:
        Enrolment.objects.create(annotator=each, study=study, status=EnrolmentStatus.INVITED)
    assert annotators.decline(annotator=guests[1], study=study) is True
    assert [each.annotator for each in Enrolment.objects.order_by("pk")] == [guests[0], guests[2]]
