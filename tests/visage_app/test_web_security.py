"""Sessions, CSRF, frames, scripts, hosts and redirects, on every URL."""

from __future__ import annotations

import pytest
from django.conf import settings as configured
from django.contrib.auth import hashers
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import get_resolver, reverse

from tests import factories
from tests.strict import inert, strict

pytestmark = pytest.mark.django_db
LOGIN, PASSWORD = "/accounts/login/", "a-long-password"
ELSEWHERE = (
    "https://evil.example/",
    "//evil.example/",
    "///evil.example",
    "\\\\evil.example",
    "/\\evil.example",
    "javascript:alert(1)",
    " https://evil.example",
    "https:evil.example",
    "http:///evil.example",
)


def log_in(client, **more):
    return client.post(LOGIN, {"username": "amal", "password": PASSWORD, **more})


def inside(client) -> bool:
    return client.get("/").status_code == 200


def with_session(key: str) -> Client:
    """A browser that brings this session's cookie."""
    browser = Client()
    browser.cookies[configured.SESSION_COOKIE_NAME] = key
    return browser


class TestSessions:
    @pytest.fixture(autouse=True)
    def amal(self):
        return factories.user("amal")

    def test_a_session_that_was_planted_before_the_login_is_not_the_one_after_it(self, client):
        client.get(LOGIN)
        session = client.session
        session["planted"] = True
        session.save()
        before = session.session_key
        log_in(client)
        assert client.session.session_key != before
        assert not inside(with_session(before))
        assert not Session.objects.filter(pk=before).exists()

    def test_a_key_that_nobody_gave_out_is_not_taken_on(self):
        browser = with_session("chosenbyanattacker00000000000000")
        log_in(browser)
        assert browser.session.session_key != "chosenbyanattacker00000000000000"

    def test_logging_out_ends_it_for_whoever_copied_the_cookie(self, client):
        log_in(client)
        copied = with_session(client.session.session_key)
        assert inside(copied)
        client.post("/accounts/logout/")
        assert not inside(copied)
        assert not Session.objects.exists()

    def test_a_new_password_ends_every_other_session_and_rotates_this_one(self, client):
        log_in(client)
        elsewhere = Client()
        log_in(elsewhere)
        before = client.session.session_key
        new = {"new_password1": "thirteen green hats", "new_password2": "thirteen green hats"}
        client.post("/accounts/password_change/", {"old_password": PASSWORD, **new})
        assert inside(client)
        assert client.session.session_key != before
        assert not inside(elsewhere)

    def test_a_password_set_by_a_link_ends_every_session(self, client, amal):
        from annotation.accounts.services import accounts

        log_in(client)
        uid, token = accounts.password_link(user=amal, by=factories.user("root", admin=True))
        theirs = Client()
        form = theirs.get(reverse("password_reset_confirm", args=[uid, token]), follow=True)
        theirs.post(
            form.redirect_chain[-1][0],
            {"new_password1": "thirteen green hats", "new_password2": "thirteen green hats"},
        )
        assert not inside(client)

    def test_two_weeks_is_as_long_as_one_lasts(self, client):
        log_in(client)
        cookie = client.cookies[configured.SESSION_COOKIE_NAME]
        assert 0 < cookie["max-age"] <= 14 * 24 * 3600
        Session.objects.update(expire_date="2020-01-01T00:00:00Z")
        assert not inside(client)


class TestPasswordsCostTheSame:
    """Whether a name is somebody's cannot be told by how long a wrong password takes."""

    @pytest.fixture
    def hashed(self, monkeypatch):
        """How often a password was hashed."""
        times = []
        kind = hashers.MD5PasswordHasher
        honest = kind.encode

        def counted(self, password, salt):
            times.append(password)
            return honest(self, password, salt)

        monkeypatch.setattr(kind, "encode", counted)
        return times

    def tried(self, client, hashed, name) -> int:
        hashed.clear()
        client.post(LOGIN, {"username": name, "password": "guessed"})
        return len(hashed)

    def test_for_a_name_that_nobody_has_and_one_that_somebody_has(self, client, hashed):
        factories.user("amal")
        off = factories.user("off")
        off.is_active = False
        off.save()
        known = self.tried(client, hashed, "amal")
        assert known > 0
        assert self.tried(client, hashed, "nobody") == known
        assert self.tried(client, hashed, "off") == known


class TestRedirects:
    @pytest.mark.parametrize("where", ELSEWHERE)
    def test_nothing_leads_elsewhere(self, client, where):
        factories.user("amal")
        assert log_in(client, next=where).url == "/"
        # who is logged in already is sent on at once
        assert client.get(LOGIN, {"next": where}).url == "/"
        changed = client.post(
            "/language/", {"language": "es", "next": where}, HTTP_REFERER="https://evil.example/"
        )
        assert changed.url == "/"
        out = client.post("/accounts/logout/", {"next": where})
        assert out.url.startswith("/")
        assert "evil" not in out.url
        # what the administration and pages hand over to the login
        handed = client.get("/admin/login/", {"next": where}).url
        assert handed.startswith("/accounts/login/?next=")
        assert log_in(client, next=where).url == "/"

    def test_a_path_of_our_own_does(self, client):
        factories.user("amal")
        assert log_in(client, next="/profile/").url == "/profile/"


class TestHosts:
    @pytest.mark.parametrize("host", ["evil.example", "testserver.evil.example", "testserver@evil.example"])
    @pytest.mark.parametrize("path", ["/", LOGIN, "/healthz", "/api/v1/account", "/admin/", "/nowhere/"])
    def test_a_wrong_one_is_refused_and_not_repeated(self, client, host, path):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == 400 or path == "/healthz"
        assert "evil" not in answer.text
        assert "evil" not in str(answer.headers)

    def test_what_a_proxy_did_not_say_is_not_believed(self, client):
        """A first password's link is built from the host: only the checked one counts."""
        admin, amal = factories.user("root", admin=True), factories.user("amal")
        client.force_login(admin)
        page = client.post(
            reverse("account_action", args=[f"u{amal.pk}", "password"]),
            headers={"x-forwarded-host": "evil.example", "forwarded": "host=evil.example"},
        )
        assert "http://testserver/accounts/reset/" in page.text
        assert "evil" not in page.text


def test_pages_of_the_administration_and_of_the_api_and_of_errors_are_strict_too(client, monkeypatch):
    client.force_login(factories.user("root", admin=True))
    study = factories.rating_study(name="words")
    for path in (
        "/admin/",
        "/admin/auth/user/",
        "/admin/auth/user/add/",
        f"/admin/annotation/consenttext/{study.consent_texts.get().pk}/change/",
        "/admin/annotation/identitygroup/add/",
        "/api/v1/docs",
        "/nowhere/",
        "/api/v1/nowhere",
        "/images/1/",
    ):
        answer = client.get(path)
        strict(answer)
        if "text/html" in answer.headers["Content-Type"]:
            inert(answer.text)
    strict(Client().get("/", headers={"host": "evil.example"}))
    refused = Client(enforce_csrf_checks=True).post(LOGIN, {})
    assert refused.status_code == 403
    strict(refused)
    monkeypatch.setattr("annotation.participation.queries.enrolments.study_cards", lambda user: 1 / 0)
    client.raise_request_exception = False
    broken = client.get("/")
    assert broken.status_code == 500
    strict(broken)
    inert(broken.text)


def test_no_address_is_let_off_the_forgery_token():
    """But the API: there it is asked for where a session says who asks (storage/test_body_limits.py)."""
    let_off = set()

    def walk(resolver):
        for pattern in resolver.url_patterns:
            if hasattr(pattern, "url_patterns"):
                walk(pattern)
            elif getattr(pattern.callback, "csrf_exempt", False):
                let_off.add(pattern.callback.__module__)

    walk(get_resolver())
    assert let_off
    for module in let_off:
        assert {"api", "drf_spectacular"} & set(module.split(".")), module
