"""Rules about roles that no page asks alone (annotation/policies.py)."""

import pytest

from annotation import policies
from annotation.models import EnrolmentStatus, StudyStatus
from tests import factories

pytestmark = pytest.mark.django_db


def test_open_to_somebody_is_what_they_can_join_or_have_joined_each_once():
    amal = factories.user()
    who, other = factories.annotator(user=amal), factories.annotator(user=factories.user())
    joined = factories.study("joined", status=StudyStatus.PAUSED)
    for each in (who, other):
        factories.enrolment(joined, who=each)
    left, stays = factories.study("left"), factories.study("stays")
    for study, gone in ((left, who), (stays, other)):
        enrolment = factories.enrolment(study, who=gone)
        enrolment.status = EnrolmentStatus.WITHDRAWN
        enrolment.save()
    factories.enrolment(stays, who=who)
    factories.study("led", leads=[amal])
    factories.enrolment(factories.study("draft", status=StudyStatus.DRAFT), who=who)
    factories.study("by-invitation", self_enrol=False)
    assert sorted(study.name for study in policies.studies_open_to(amal)) == ["joined", "stays"]


def test_an_admin_finds_the_study_of_that_name():
    factories.study("one")
    two = factories.study("two")
    assert policies.study_led_by(factories.user(admin=True), name="two") == two


def test_by_invitation_those_annotate_who_are_enrolled_themselves():
    study, amal = factories.study(self_enrol=False), factories.user()
    factories.enrolment(study, user=factories.user())
    assert not policies.may_annotate(amal, study)
    factories.enrolment(study, user=amal)
    assert policies.may_annotate(amal, study)


def test_an_account_that_was_switched_off_sets_up_nothing():
    user = factories.user(lead=True)
    assert policies.may_create_studies(user)
    user.is_active = False
    assert not policies.may_create_studies(user)


def test_a_source_is_changed_by_its_owner_only_while_they_may_set_up_studies():
    owner, other = factories.user(lead=True), factories.user(lead=True)
    source = factories.source()
    source.owner = owner
    assert policies.may_edit_source(owner, source)
    assert not policies.may_edit_source(other, source)
    owner = factories.user()
    source.owner = owner
    assert not policies.may_edit_source(owner, source)
