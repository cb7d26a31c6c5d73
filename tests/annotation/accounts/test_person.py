"""What the pages and the API know of one person."""

from datetime import timedelta

import pytest
from django.http import Http404
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.accounts.confirmations import confirmation
from annotation.accounts.queries import accounts
from annotation.accounts.queries.accounts import Person, PersonEnrolment
from annotation.models import Enrolment, EnrolmentStatus
from tests import factories
from tests.annotation.api.calls import Program, is_problem

pytestmark = pytest.mark.django_db


def taking_part(*states):
    return Person("a1", enrolments=[PersonEnrolment(Enrolment(status=each), 0, None) for each in states])


def test_somebody_was_last_seen_when_they_logged_in_or_worked_whichever_is_later():
    now = timezone.now()
    user = factories.user("amal")
    user.last_login = now - timedelta(days=2)
    parts = [PersonEnrolment(Enrolment(), 0, each) for each in (now - timedelta(days=1), None)]
    assert Person("u1", user=user).last_seen == user.last_login
    assert Person("u1", user=user, enrolments=parts).last_seen == now - timedelta(days=1)
    user.last_login = now
    assert Person("u1", user=user, enrolments=parts).last_seen == now
    assert Person("a1").last_seen is None


def test_who_left_or_is_blocked_everywhere_cannot_be_blocked():
    left = (EnrolmentStatus.WITHDRAWN, EnrolmentStatus.BLOCKED)
    assert not taking_part().may_be_blocked
    assert not taking_part(*left).may_be_blocked
    assert taking_part(*left, EnrolmentStatus.QUALIFIED).may_be_blocked


def test_a_person_is_led_to_studies_that_they_neither_lead_nor_take_part_in():
    user = factories.user("amal")
    last, first = (factories.rating_study(name=name, title=name.title()) for name in ("zebras", "ants"))
    factories.rating_study(name="led", title="Led").leads.add(user)
    factories.enrolment(factories.rating_study(name="taken", title="Taken"), user=user)
    assert list(accounts.leadable_studies(user)) == [first, last]


@pytest.mark.parametrize("who", ["", "u", "x1", "u-1", "u\N{ARABIC-INDIC DIGIT ONE}", "u" + "1" * 19])
def test_a_key_that_no_person_has_is_not_found(who):
    with pytest.raises(Http404):
        accounts.person(who)


def test_accounts_and_annotators_without_one_are_searched_apart():
    factories.user("amal")
    lone = factories.enrolment(factories.rating_study(), pseudonym="a-lone").annotator
    assert [each.username for each in accounts.search(kind="u")] == ["amal"]
    assert list(accounts.search(kind="a")) == [lone]


def test_who_has_no_account_leads_nothing():
    study = factories.rating_study(name="words", title="Words")
    lone = Person("a1", annotator=factories.annotator())
    user = Person("u1", user=factories.user("amal"))
    assert confirmation("lead", lone, study) is None
    assert confirmation("lead", user, None) is None
    assert confirmation("lead", user, study).question == "Make amal a lead of “Words”?"


def test_only_a_confirmed_device_of_ones_own_is_a_second_factor_and_an_admin_removes_it():
    amal, other = factories.user("amal"), factories.user("other")
    device = TOTPDevice.objects.create(user=amal, confirmed=False)
    assert not accounts.has_second_factor(amal)
    TOTPDevice.objects.update(confirmed=True)
    assert accounts.has_second_factor(amal)
    assert not accounts.has_second_factor(other)
    program = Program(factories.user("root", admin=True))
    assert program("DELETE", f"accounts/u{amal.pk}/second-factor").status_code == 204
    assert not TOTPDevice.objects.filter(pk=device.pk).exists()
    is_problem(program("DELETE", "accounts/u999999/second-factor"), 404)
