"""Following an invitation in the browser: what it shows, who it lets in, what it keeps of who says no."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from annotation.models import Annotator, Consent, Enrolment, EnrolmentStatus, Invitation, StudyStatus
from annotation.participation.services import annotators, invitations
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    return factories.rating_study(name="words", leads=[lead], self_enrol=False)


@pytest.fixture
def invitation(study, lead):
    return invitations.create(study=study, by=lead, max_uses=2)


def link(invitation) -> str:
    return f"/join/{invitation.code}/"


def accounts() -> int:
    return get_user_model().objects.count()


def test_looking_at_the_link_counts_nothing_and_keeps_nothing(client, invitation):
    before = accounts()
    page = client.get(link(invitation))
    assert "You do not need an account or an e-mail address" in page.text
    assert "in this same browser" in page.text
    assert "There are 3 items" in page.text
    invitation.refresh_from_db()
    assert (invitation.uses, accounts(), Enrolment.objects.count()) == (0, before, 0)
    assert "sessionid" not in client.cookies


def test_somebody_without_an_account_comes_in_under_a_pseudonym_and_is_asked_to_agree(client, invitation):
    sent = client.post(link(invitation))
    assert sent.url == "/studies/words/consent/"
    enrolment = Enrolment.objects.get()
    assert enrolment.status == EnrolmentStatus.INVITED
    account = enrolment.annotator.user
    assert account.username == enrolment.annotator.pseudonym
    assert not account.has_usable_password()
    assert client.session.get_expiry_age() > timedelta(days=60).total_seconds()

    agreed = client.post(sent.url, {"text": enrolment.study.consent_texts.get().pk})
    assert agreed.url == "/studies/words/profile/"
    assert client.get("/studies/words/annotate/").status_code == 200


def test_who_follows_it_again_goes_on_where_they_were_also_when_it_has_ended(client, invitation, lead):
    client.post(link(invitation))
    invitations.revoke(invitation=invitation, by=lead)
    for follow in (client.get, client.post):
        assert follow(link(invitation)).url == "/studies/words/"
    assert client.get("/studies/words/").status_code == 200
    invitation.refresh_from_db()
    assert invitation.uses == 1


def test_somebody_with_an_account_keeps_it(client, invitation):
    factories.enrolment(invitation.study)
    amal = factories.user("amal")
    client.force_login(amal)
    assert "an e-mail address" not in client.get(link(invitation)).text
    client.post(link(invitation))
    assert Enrolment.objects.filter(annotator__user=amal).count() == 1


@pytest.mark.postgresql
def test_who_declines_leaves_nothing_behind(client, invitation):
    before = accounts()
    consent = client.post(link(invitation)).url
    page = client.get(consent).text
    assert 'name="decline"' in page
    declined = client.post(consent, {"decline": "yes"})
    assert "nothing about you was stored" in declined.text
    assert (accounts(), Annotator.objects.count(), Enrolment.objects.count()) == (before, 0, 0)
    invitation.refresh_from_db()
    assert invitation.uses == 0
    assert client.get("/").url.startswith("/accounts/login/")
    assert client.post(link(invitation)).url == consent  # they may change their mind


def test_an_annotator_without_an_account_has_none_to_be_deleted(study):
    enrolment = factories.enrolment(study, consented=False)
    Enrolment.objects.update(status=EnrolmentStatus.INVITED)
    assert not annotators.decline(annotator=enrolment.annotator, study=study)
    assert not Enrolment.objects.exists()


def test_an_account_of_ones_own_survives_declining(client, invitation):
    amal = factories.user("amal")
    client.force_login(amal)
    client.post(link(invitation))
    client.post("/studies/words/consent/", {"decline": "yes"})
    assert not Enrolment.objects.exists()
    assert get_user_model().objects.filter(pk=amal.pk).exists()
    assert client.get("/").status_code == 200


def test_declining_after_having_agreed_takes_nothing_away(client, invitation):
    consent = client.post(link(invitation)).url
    client.post(consent, {"text": invitation.study.consent_texts.get().pk})
    client.post(consent, {"decline": "yes"})
    assert Enrolment.objects.get().status == EnrolmentStatus.QUALIFIED
    assert Consent.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"expires_at": timezone.now() - timedelta(hours=1)}, "This invitation has ended"),
        ({"uses": 2}, "All places are taken"),
        ({"revoked_at": timezone.now()}, "This invitation has been revoked"),
    ],
)
def test_an_invitation_that_is_over_says_so_kindly(client, invitation, change, words):
    Invitation.objects.update(**change)
    before = accounts()
    for follow in (client.get, client.post):
        page = follow(link(invitation))
        assert page.status_code == 410
        assert words in page.text
        assert "If you think that this is a mistake" in page.text
    assert (accounts(), Enrolment.objects.count()) == (before, 0)


def test_a_study_that_is_having_a_break_lets_nobody_new_in(client, invitation):
    invitation.study.status = StudyStatus.PAUSED
    invitation.study.save()
    page = client.post(link(invitation))
    assert (page.status_code, "not open at the moment" in page.text) == (410, True)


def test_a_link_that_never_was_is_not_found(client):
    for code in ("nothing", "x" * 500):
        for follow in (client.get, client.post):
            page = follow(f"/join/{code}/")
            assert page.status_code == 404
            assert "This link is incomplete or no longer valid" in page.text
            assert "ask the person who sent you the link for a new one" in page.text
            assert "To your studies" not in page.text


def test_who_leads_the_study_sees_the_page_and_cannot_come_in(client, invitation, lead):
    client.force_login(lead)
    page = client.get(link(invitation)).text
    assert "You lead this study" in page
    assert "Read about taking part" not in page
    assert client.post(link(invitation)).status_code == 410
    assert not Enrolment.objects.exists()


def test_a_study_by_invitation_is_not_there_for_others(client, study):
    client.force_login(factories.user("amal"))
    for page in ("", "consent/"):
        assert client.get(f"/studies/words/{page}").status_code == 404
    assert "words" not in client.get("/").text
