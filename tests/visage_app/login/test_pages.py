"""Setting a password by a link, logging out, and what caches may keep."""

import pytest
from django.urls import reverse

from annotation.accounts.services import accounts
from annotation.assignment.services import slots
from annotation.models import Slot
from tests import factories

pytestmark = pytest.mark.django_db


def test_who_sets_a_password_by_a_link_is_told_and_comes_to_the_login(client):
    uid, token = accounts.password_link(user=factories.user("amal"), by=factories.user("root", admin=True))
    form = client.get(reverse("password_reset_confirm", args=[uid, token])).url
    new = {"new_password1": "thirteen green hats", "new_password2": "thirteen green hats"}
    sent = client.post(form, new)
    assert sent.url == reverse("login")
    assert "Your password is set. You can now log in." in client.get(sent.url).text


def test_logging_out_without_a_login_gives_back_nothing(client):
    """Above all not what annotators without an account hold."""
    slot = slots.lease_next(enrolment=factories.enrolment(factories.rating_study()))
    assert slot.annotator.user is None
    assert client.post(reverse("logout")).url == reverse("home")
    assert Slot.objects.get(pk=slot.pk).annotator == slot.annotator


def test_pages_behind_the_login_are_kept_by_no_cache_and_the_administration_says_that_itself(client):
    client.force_login(factories.user("root", admin=True))
    assert "no-store" in client.get(reverse("home"))["Cache-Control"]
    assert not client.get(reverse("admin:jsi18n")).has_header("Cache-Control"), "the same for everybody"
