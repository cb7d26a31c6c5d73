"""The first page where the demonstration was made: who may walk in, from where, and where they come to."""

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.test import Client
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.demo import accounts, entry
from annotation.models import Study
from tests import factories

pytestmark = pytest.mark.django_db
HOME, ENTER = "/", "/demo/enter/"
HERE = {"HTTP_HOST": "127.0.0.1:8000"}


@pytest.fixture
def demo(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    accounts.make_accounts()
    source = factories.source("demo")
    lead = User.objects.get(username="lead")
    for name in ("demo", "demo-live"):
        factories.rating_study(name=name, leads=[lead], stereotype_source=source)


def roles_shown(client, **more):
    reply = client.get(HOME, **{**HERE, **more})
    return [role for role in ("annotator", "lead", "admin") if f'value="{role}"' in reply.text]


def entered(client, role, **more):
    """Where the button leads, or the status if it leads nowhere."""
    reply = client.post(ENTER, {"role": role}, **{**HERE, **more})
    assert (reply.status_code == 302) == (SESSION_KEY in client.session)
    return reply["Location"] if reply.status_code == 302 else reply.status_code


@pytest.mark.parametrize(
    ("role", "place"),
    [("annotator", "/studies/demo-live/annotate/"), ("lead", "/studies/demo/overview/"), ("admin", "/")],
)
def test_one_click_leads_to_what_shows_the_most(demo, client, role, place):
    assert roles_shown(client) == ["annotator", "lead", "admin"]
    assert entered(client, role) == place
    assert client.session[SESSION_KEY] == str(User.objects.get(username=role).pk)
    assert client.get(place, **HERE, follow=True).status_code == 200
    # after logging out one is back
    left = client.post("/accounts/logout/", **HERE)
    assert left["Location"] == HOME
    assert roles_shown(client) == ["annotator", "lead", "admin"]


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1", "[::1]:8000"])
def test_it_opens_on_loopback_names_and_addresses(demo, client, host):
    assert roles_shown(client, HTTP_HOST=host, REMOTE_ADDR="::1") == ["annotator", "lead", "admin"]


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"HTTP_HOST": "studies.example.org"},
        {"HTTP_HOST": "192.0.2.7:8000"},
        {"HTTP_HOST": "localhost.example.org"},
        {"REMOTE_ADDR": "192.0.2.1"},
        {"REMOTE_ADDR": ""},
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"HTTP_FORWARDED": "for=127.0.0.1"},
        {"HTTP_X_FORWARDED_PROTO": "http"},
        {"HTTP_X_REAL_IP": "127.0.0.1"},
        {"HTTP_VIA": "1.1 proxy"},
        {"wsgi.url_scheme": "https"},
        # nginx with nothing but `proxy_pass http://127.0.0.1:8000`
        {"SERVER_PROTOCOL": "HTTP/1.0"},
        {"HTTP_CONNECTION": "Close"},
    ],
)
def test_from_elsewhere_and_through_a_proxy_it_is_closed(demo, client, settings, elsewhere):
    settings.ALLOWED_HOSTS = ["*"]
    reply = client.get(HOME, **{**HERE, **elsewhere})
    assert (reply.status_code, reply["Location"]) == (302, "/accounts/login/?next=/")
    assert [entered(client, role, **elsewhere) for role in ("annotator", "lead", "admin")] == [404] * 3


@pytest.mark.parametrize("setting", ["HTTPS", "BEHIND_PROXY"])
def test_on_a_real_server_it_is_closed(demo, client, settings, setting):
    setattr(settings, setting, True)
    assert roles_shown(client) == []
    assert entered(client, "admin") == 404


def test_without_the_demonstration_it_is_closed(demo, client):
    Study.objects.filter(name="demo-live").update(stereotype_source=None)
    assert client.get(HOME, **HERE)["Location"] == "/accounts/login/?next=/"
    assert entered(client, "annotator") == 404


def test_an_account_that_is_somebodys_own_by_now_is_not_entered(demo, client):
    admin, lead, annotator = (User.objects.get(username=name) for name in ("admin", "lead", "annotator"))
    admin.set_password("something else entirely")
    admin.save()
    TOTPDevice.objects.create(user=lead, confirmed=True)
    assert roles_shown(client) == ["annotator"]
    assert [entered(client, role) for role in ("admin", "lead", "annotator2", "nobody", "")] == [404] * 5
    User.objects.filter(pk=annotator.pk).update(is_active=False)
    assert entered(client, "annotator") == 404
    assert client.get(HOME, **HERE)["Location"] == "/accounts/login/?next=/"


def test_another_site_cannot_log_somebody_in(demo):
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(ENTER, {"role": "admin"}, **HERE).status_code == 403
    assert SESSION_KEY not in strict.session


def test_the_page_speaks_the_readers_language_and_is_not_cached(demo, client):
    reply = client.get(HOME, **HERE)
    assert "no-store" in reply["Cache-Control"]
    assert 'action="/language/"' in reply.text
    assert 'href="/accounts/login/"' in reply.text


def test_a_password_is_checked_once_until_it_changes(demo, client, monkeypatch):
    checked = []
    monkeypatch.setattr(entry, "check_password", lambda *given: not checked.append(given))
    entry._matches.cache_clear()
    for _ in range(2):
        assert roles_shown(client) == ["annotator", "lead", "admin"]
    assert len(checked) == 3
    admin = User.objects.get(username="admin")
    admin.set_password("another")
    admin.save()
    roles_shown(client)
    entry._matches.cache_clear()
    assert len(checked) == 4
