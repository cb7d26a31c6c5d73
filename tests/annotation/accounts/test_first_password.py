"""Who came by a link has no password, and may set one."""

import pytest
from django.contrib.auth import get_user_model

from annotation.models import Enrolment
from annotation.participation.services import invitations
from tests import factories

pytestmark = pytest.mark.django_db
PAGE = "/accounts/password_change/"
NEW = "thirteen green hats"


@pytest.fixture
def guest(client):
    study = factories.rating_study(name="words")
    invitation = invitations.create(study=study, by=factories.user("lead"))
    client.post(f"/join/{invitation.code}/")
    return Enrolment.objects.get().annotator.user


def test_the_page_asks_for_no_old_password_and_names_the_name(client, guest):
    page = client.get(PAGE).text
    assert "Set a password" in page
    assert f"log in as {guest.username}" in page
    assert "old_password" not in page


def test_with_the_first_password_they_stay_logged_in_and_can_log_in_elsewhere(client, guest):
    sent = client.post(PAGE, {"new_password1": NEW, "new_password2": NEW})
    assert sent.url == "/accounts/password_change/done/"
    done = client.get(sent.url)
    assert f"log in as {guest.username}" in done.text, "still logged in here"
    client.logout()
    client.post("/accounts/login/", {"username": guest.username, "password": NEW})
    assert client.session["_auth_user_id"] == str(guest.pk)


@pytest.mark.parametrize("second", ["another one entirely", ""])
def test_a_slip_of_the_hand_sets_none(client, guest, second):
    page = client.post(PAGE, {"new_password1": NEW, "new_password2": second})
    assert page.status_code == 200
    assert 'class="errors"' in page.text
    assert not get_user_model().objects.get(pk=guest.pk).has_usable_password()


def test_a_password_that_is_there_is_asked_for_before_it_is_changed(client):
    who = factories.user("amal")
    client.force_login(who)
    assert "old_password" in client.get(PAGE).text
    client.post(PAGE, {"new_password1": NEW, "new_password2": NEW})
    assert get_user_model().objects.get(pk=who.pk).check_password("a-long-password")


def test_every_page_leads_there_from_the_name(client, guest):
    page = client.get("/profile/").text
    assert f'<a href="{PAGE}" title="Set a password">' in page


def test_who_has_no_password_learns_what_logging_out_means_before_it_happens(client, guest):
    page = client.get("/profile/").text
    assert f'<a href="{PAGE}">Log out</a>' in page
    assert 'action="/accounts/logout/"' not in page
    page = client.get(PAGE).text
    assert "you cannot come back to your answers" in page
    assert 'action="/accounts/logout/"' in page
    client.post(PAGE, {"new_password1": NEW, "new_password2": NEW})
    page = client.get("/profile/").text
    assert 'action="/accounts/logout/"' in page, "at once again"
