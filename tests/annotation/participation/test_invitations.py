"""Invitation links: who they let in, how many, for how long (participation/services/invitations.py)."""

from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from annotation.models import AuditEvent, Enrolment, EnrolmentStatus, Invitation, StudyStatus
from annotation.participation.services import annotators, invitations
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    return factories.rating_study(name="words", leads=[lead])


@contextmanager
def refused(reason, match=None):
    with pytest.raises(invitations.InvitationRefused, match=match) as raised:
        yield
    assert raised.value.reason == reason


def invite(study, lead, **fields):
    return invitations.create(study=study, by=lead, **fields)


def test_an_account_that_follows_a_link_is_invited_and_counted(study, lead):
    made = invite(study, lead, label="  pilot   group ", max_uses=2)
    other = invite(study, lead, max_uses=invitations.MOST_USES)
    person = factories.user()
    elsewhere = factories.enrolment(factories.study(), user=person)
    factories.enrolment(study)
    enrolment, new = invitations.accept(code=made.code, user=person)
    made.refresh_from_db()
    assert (made.label, made.uses) == ("pilot group", 1)
    assert new
    assert enrolment.status == EnrolmentStatus.INVITED
    assert enrolment.invitation == made
    assert enrolment.annotator.user == person
    assert enrolment.annotator == elsewhere.annotator
    other.refresh_from_db()
    assert other.uses == 0


def test_following_it_again_is_not_counted_even_after_it_ended(study, lead):
    made = invite(study, lead, max_uses=1, expires_at=timezone.now() + timedelta(hours=1))
    person = factories.user()
    first, _new = invitations.accept(code=made.code, user=person)
    invitations.revoke(invitation=made, by=lead)
    again, new = invitations.accept(code=made.code, user=person, now=timezone.now() + timedelta(days=1))
    made.refresh_from_db()
    assert (again, new, made.uses) == (first, False, 1)


def test_somebody_without_an_account_gets_one_that_has_no_password(study, lead):
    enrolment, _new = invitations.accept(code=invite(study, lead).code, user=None)
    account = enrolment.annotator.user
    assert not account.has_usable_password()
    assert account.username == enrolment.annotator.pseudonym


@pytest.mark.parametrize("user", ["account", None])
def test_a_link_lets_in_as_many_as_it_was_made_for(study, lead, user):
    made = invite(study, lead, max_uses=1)
    invitations.accept(code=made.code, user=factories.user())
    accounts = get_user_model().objects.count()
    with refused("full", match="followed this invitation already"):
        invitations.accept(code=made.code, user=factories.user() if user else None)
    made.refresh_from_db()
    assert made.uses == study.enrolments.count() == 1
    assert get_user_model().objects.count() == accounts + bool(user), "no account is left behind"


def test_a_link_ends_at_its_moment(study, lead):
    end = timezone.now() + timedelta(hours=1)
    made = invite(study, lead, expires_at=end)
    invitations.accept(code=made.code, user=factories.user(), now=end - timedelta(seconds=1))
    with refused("expired"):
        invitations.accept(code=made.code, user=factories.user(), now=end)


def test_a_link_that_was_taken_back_lets_nobody_in(study, lead):
    made, other = invite(study, lead), invite(study, lead)
    assert invitations.revoke(invitation=made, by=lead)
    assert not invitations.revoke(invitation=made, by=lead)
    assert invitations.look_up(code=other.code) == other
    with refused("revoked"):
        invitations.accept(code=made.code, user=factories.user())
    with refused("revoked"):
        invitations.look_up(code=made.code)


def test_an_unknown_code_is_said_to_be_unknown(study):
    with refused("unknown"):
        invitations.accept(code="nosuch", user=None)
    with refused("unknown"):
        invitations.look_up(code="nosuch")


@pytest.mark.parametrize("status", [StudyStatus.DRAFT, StudyStatus.PAUSED, StudyStatus.CLOSED])
def test_a_link_into_a_study_that_is_not_open_lets_nobody_in(lead, status):
    study = factories.study("words", status=status, leads=[lead])
    made = Invitation.objects.create(study=study, code="abc")
    with refused("not_open"):
        invitations.accept(code=made.code, user=None)
    assert not Enrolment.objects.exists()


def test_who_leads_the_study_is_not_let_in(study, lead):
    made = invite(study, lead)
    with refused("leads"):
        invitations.accept(code=made.code, user=lead)
    made.refresh_from_db()
    assert made.uses == 0


def test_somebody_who_was_blocked_stays_blocked(study, lead):
    person = factories.user()
    factories.enrolment(study, user=person)
    Enrolment.objects.update(status=EnrolmentStatus.BLOCKED)
    enrolment, _new = invitations.accept(code=invite(study, lead).code, user=person)
    assert enrolment.status == EnrolmentStatus.BLOCKED


def test_looking_a_link_up_counts_nothing(study, lead):
    made = invite(study, lead, max_uses=1)
    assert invitations.look_up(code=made.code).study == study
    made.refresh_from_db()
    assert made.uses == 0


@pytest.mark.parametrize("limit", [0, -1, invitations.MOST_USES + 1])
def test_a_limit_that_makes_no_sense_is_refused(study, lead, limit):
    with pytest.raises(invitations.InvitationRefused, match="is for 1 to"):
        invite(study, lead, max_uses=limit)


def test_an_end_in_the_past_is_refused(study, lead):
    with pytest.raises(invitations.InvitationRefused, match="later time"):
        invite(study, lead, expires_at=timezone.now() - timedelta(minutes=1))


def test_nobody_is_invited_into_a_closed_study(lead):
    with pytest.raises(invitations.InvitationRefused, match="closed"):
        invite(factories.study(status=StudyStatus.CLOSED), lead)


def test_making_and_taking_back_a_link_is_on_record_without_its_code(study, lead):
    made = invite(study, lead, label="pilot", max_uses=3)
    invitations.revoke(invitation=made, by=lead)
    events = list(AuditEvent.objects.order_by("pk"))
    assert [(event.what, event.by, event.study) for event in events] == [
        ("invitation made", lead, study),
        ("invitation revoked", lead, study),
    ]
    assert events[0].details == {"label": "pilot", "max_uses": 3}
    assert events[1].details == {"label": "pilot", "uses": 0}


def test_a_first_link_is_made_once_and_not_where_a_platform_sends_people(study, lead):
    recruited = factories.study(completion_code="C1")
    for of in (study, study, recruited):
        invitations.create_first(study=of, by=lead)
    assert Invitation.objects.get().study == study


@pytest.fixture
def meanwhile(monkeypatch):
    """Lets something happen after an invitation was found good and before its use is counted, as another
    request would do it."""

    def does(something):
        annotator_for = annotators.annotator_for

        def interrupted(*, user):
            annotator = annotator_for(user=user)
            something(annotator)
            return annotator

        monkeypatch.setattr(annotators, "annotator_for", interrupted)

    return does


def test_the_last_place_that_is_taken_in_between_is_not_given_twice(study, lead, meanwhile):
    made = invite(study, lead, max_uses=1)
    meanwhile(lambda annotator: Invitation.objects.update(uses=1))
    with refused("full"):
        invitations.accept(code=made.code, user=factories.user())
    assert not Enrolment.objects.exists()


@pytest.mark.parametrize(("column", "reason"), [("revoked_at", "revoked"), ("expires_at", "expired")])
def test_a_link_that_is_taken_back_or_ends_in_between_lets_nobody_in(study, lead, meanwhile, column, reason):
    made = invite(study, lead)
    meanwhile(lambda annotator: Invitation.objects.update(**{column: made.created_at}))
    with refused(reason):
        invitations.accept(code=made.code, user=factories.user())
    assert not Enrolment.objects.exists()


def test_a_second_click_that_was_quicker_is_not_counted_again(study, lead, meanwhile):
    made = invite(study, lead)
    meanwhile(lambda annotator: Enrolment.objects.create(annotator=annotator, study=study))
    _enrolment, new = invitations.accept(code=made.code, user=factories.user())
    made.refresh_from_db()
    assert (new, made.uses) == (False, 0)
