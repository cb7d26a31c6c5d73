"""Guessing passwords is stopped without locking out others (DESIGN §11)."""

import re
from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.db.models import F
from django.test import RequestFactory

from tests import factories
from visage_app.login import client_address

pytestmark = pytest.mark.django_db
LOGIN = "/accounts/login/"
TRIES = 10


def log_in(client, name="amal", password="a-long-password", **headers):
    return client.post(LOGIN, {"username": name, "password": password}, **headers)


@pytest.fixture
def locked(client):
    factories.user("amal")
    for _ in range(TRIES):
        last = log_in(client, password="guessed")
    return last


def test_after_ten_wrong_passwords_the_right_one_does_not_help_for_a_while(client, locked):
    assert locked.status_code == 429
    page = log_in(client)
    assert page.status_code == 429
    assert "Too many wrong passwords" in page.text
    assert "_auth_user_id" not in client.session


def test_nine_wrong_passwords_are_forgotten_by_the_right_one(client):
    factories.user("amal")
    for _ in range(2):
        for _ in range(TRIES - 1):
            assert log_in(client, password="guessed").status_code == 200
        assert log_in(client).status_code == 302
        client.logout()


def test_the_pause_ends(client, locked):
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=16))
    assert log_in(client).status_code == 302


def test_somebody_elsewhere_and_somebody_else_here_can_log_in(client, locked):
    factories.user("bo")
    assert log_in(client, REMOTE_ADDR="192.0.2.9").status_code == 302
    client.logout()
    assert log_in(client, name="bo").status_code == 302


def test_names_that_nobody_has_are_locked_like_those_that_somebody_has(client, locked):
    for _ in range(TRIES):
        last = log_in(client, name="nobody", password="guessed")
    token = re.compile('name="csrfmiddlewaretoken" value="[^"]+"')
    assert last.status_code == locked.status_code
    assert token.sub("", last.text) == token.sub("", locked.text)


def test_the_admin_site_is_no_way_around(client, locked):
    page = client.post("/admin/login/", {"username": "amal", "password": "a-long-password"})
    assert page.status_code == 405
    assert "_auth_user_id" not in client.session


def test_the_log_names_nobody(client, caplog):
    with caplog.at_level("DEBUG"):
        factories.user("amal")
        for _ in range(TRIES + 1):
            log_in(client, password="guessed-word")
    assert "amal" not in caplog.text
    assert "guessed-word" not in caplog.text
    assert "127.0.0.1" not in caplog.text


class TestWhereARequestComesFrom:
    def request(self, **meta):
        return RequestFactory().get("/", REMOTE_ADDR="10.0.0.2", **meta)

    def test_without_a_proxy_the_header_is_not_believed(self):
        assert client_address.client_ip(self.request(HTTP_X_FORWARDED_FOR="192.0.2.1")) == "10.0.0.2"

    def test_behind_the_proxy_only_what_the_proxy_wrote_is(self, settings):
        settings.BEHIND_PROXY = True
        request = self.request(HTTP_X_FORWARDED_FOR="198.51.100.7, 192.0.2.1")
        assert client_address.client_ip(request) == "192.0.2.1"
        assert client_address.client_ip(self.request()) == "10.0.0.2"
