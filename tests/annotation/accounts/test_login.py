"""Logging in and out, and what the first page shows to whom."""

import pytest
from django.urls import reverse

from annotation.models import Enrolment, StudyStatus
from tests import factories

pytestmark = pytest.mark.django_db


def test_a_stranger_is_asked_to_log_in_and_comes_to_where_they_wanted(client):
    factories.user("amal")
    wanted = client.get("/profile/")
    assert wanted.status_code == 302
    assert wanted.url == "/accounts/login/?next=/profile/"

    page = client.get(wanted.url)
    for words in ('for="id_username"', 'for="id_password"', 'autocomplete="current-password"'):
        assert words in page.text
    entered = client.post(
        "/accounts/login/", {"username": "amal", "password": "a-long-password", "next": "/profile/"}
    )
    assert entered.url == "/profile/"


def test_a_wrong_password_is_said_beside_the_form_and_the_name_is_kept(client):
    factories.user("amal")
    page = client.post("/accounts/login/", {"username": "amal", "password": "wrong"})
    assert 'role="alert"' in page.text
    assert 'value="amal"' in page.text


def test_logging_out_takes_a_post(client):
    client.force_login(factories.user())
    assert client.get("/accounts/logout/").status_code == 405
    assert client.post("/accounts/logout/").url == reverse("home")
    assert client.get(reverse("home")).url == f"{reverse('login')}?next=/"


@pytest.mark.parametrize(
    "path",
    ["/", "/profile/", "/studies/x/", "/studies/x/consent/", "/studies/x/annotate/", "/studies/x/thanks/"],
)
def test_every_page_needs_an_account(client, path):
    assert client.get(path).url == f"/accounts/login/?next={path}"


@pytest.mark.parametrize("path", ["/", "/profile/", "/accounts/password_change/"])
def test_forms_are_refused_without_their_token(path, client):
    client.handler.enforce_csrf_checks = True
    client.force_login(factories.user())
    token = 'name="csrfmiddlewaretoken"'
    assert token in client.get(path).text
    assert client.post("/profile/", {}).status_code == 403


def test_home_lists_the_open_studies_with_ones_own_progress(client):
    who = factories.user("amal")
    study = factories.rating_study(title="Words and pictures", texts=["a", "b", "c", "d"])
    factories.rating_study(title="A draft", status=StudyStatus.DRAFT)
    factories.rating_study(title="A closed one", status=StudyStatus.CLOSED)
    annotator = factories.annotator(user=who)
    factories.enrolment(study, who=annotator, consented=True)
    for unit in study.tasks.get().units.all()[:2]:
        factories.response(unit, who=annotator)
    Enrolment.objects.update(answered=2)
    client.force_login(who)

    page = client.get("/").text
    assert "Words and pictures" in page
    assert "2 of 4 rated" in page
    assert "A draft" not in page
    assert "A closed one" not in page


def test_home_asks_the_database_no_more_often_for_many_studies(client, django_assert_num_queries):
    client.force_login(factories.user())
    factories.rating_study()
    with django_assert_num_queries(8):
        client.get("/")
    for _ in range(5):
        factories.rating_study()
    with django_assert_num_queries(8):
        client.get("/")


def test_a_lead_sees_their_studies_and_cannot_take_part_in_them(client):
    lead = factories.user("lead")
    factories.rating_study(name="mine", title="Led by me", leads=[lead])
    client.force_login(lead)
    page = client.get("/").text
    assert "Led by me" in page
    assert reverse("annotate", args=["mine"]) not in page


def test_only_an_admin_is_shown_the_administration(client):
    client.force_login(factories.user())
    assert reverse("admin:index") not in client.get("/").text
    client.force_login(factories.user(admin=True))
    assert reverse("admin:index") in client.get("/").text


def test_a_page_that_is_not_there_says_so_kindly(client):
    client.force_login(factories.user())
    page = client.get("/studies/nowhere/")
    assert page.status_code == 404
    assert "Page not found" in page.text


def test_no_page_holds_inline_script_or_style(client):
    """The content security policy would stop them in a browser, and nobody would see why."""
    who = factories.user()
    study = factories.rating_study(name="words")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    client.force_login(who)
    for path in (
        "/",
        "/profile/",
        *(f"/studies/words/{part}" for part in ("", "consent/", "profile/", "annotate/", "thanks/")),
    ):
        page = client.get(path)
        assert page.status_code == 200, path
        assert "<style" not in page.text
        assert " style=" not in page.text
        # data in a script element are read, not run
        run = page.text.count("<script") - page.text.count(' type="application/json">')
        assert run == page.text.count('<script type="module" src="')
        assert (
            "script-src" in page["Content-Security-Policy"]
            or "default-src 'self'" in page["Content-Security-Policy"]
        )
