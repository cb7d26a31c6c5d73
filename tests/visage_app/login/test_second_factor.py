"""The second factor: set up, asked for, lost, required (docs/administration.md)."""

from __future__ import annotations

import re
import sys
import time
from types import SimpleNamespace

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp import models
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.accounts.queries.accounts import has_second_factor
from annotation.accounts.services import second_factor
from annotation.models import ApiToken, AuditEvent
from tests import factories
from visage_app.login.views import login
from visage_app.login.views import second_factor as second_factor_page
from visage_app.login.views.login import PENDING, PENDING_SECONDS

pytestmark = pytest.mark.django_db
PASSWORD = "a-long-password"
PAGE, LOGIN, CODE = "/accounts/second-factor/", "/accounts/login/", "/accounts/login/code/"
KEY = "01" * 20


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that is moved on by hand: a code lives for half a minute."""

    class Clock:
        now = 1_800_000_000.0

        def pass_by(self, seconds: float) -> None:
            self.now += seconds

    clock = Clock()
    for module in (models, second_factor, login, sys.modules[__name__]):
        monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: clock.now))
    return clock


@pytest.fixture(autouse=True)
def _no_pause(settings):
    """Right after a wrong code a right one counts; the test of the pause sets it itself."""
    settings.OTP_TOTP_THROTTLE_FACTOR = settings.OTP_STATIC_THROTTLE_FACTOR = 0


def code(key: str = KEY, *, steps: int = 0) -> str:
    """What a device shows now, or so many half minutes from now."""
    totp = TOTP(bytes.fromhex(key))
    totp.time = time.time() + 30 * steps
    return f"{totp.token():06}"


def wrong() -> str:
    near = {code(steps=steps) for steps in range(-3, 4)}
    return next(guess for guess in (f"{number:06}" for number in range(8)) if guess not in near)


@pytest.fixture
def amal(clock):
    """Somebody with a second factor."""
    user = factories.user("amal")
    user.recovery = second_factor.set_up(user=user, key=KEY, code=code(), password=PASSWORD)[1]
    clock.pass_by(60)
    return user


@pytest.fixture
def client_factory():
    return Client


def give_password(client, name="amal", **more):
    return client.post(LOGIN, {"username": name, "password": PASSWORD, **more})


def give_code(client, given):
    return client.post(CODE, {"code": given})


def logged_in(client) -> bool:
    return "_auth_user_id" in client.session


def secret_of(page) -> str:
    from base64 import b32decode

    shown = re.search(r'id="secret"[^>]*>([A-Z2-7 ]+)<', page.text)[1]
    return b32decode(shown.replace(" ", "")).hex()


def hold_secret(client) -> None:
    """A secret in the session, as if it had just been shown."""
    session = client.session
    session[second_factor_page.KEY] = KEY
    session.save()


def recovery_codes(page) -> list[str]:
    return re.findall(r"<li><code>([a-z0-9]{5}-[a-z0-9]{5})</code>", page.text)


def test_what_others_have_set_up_stays(amal):
    other, key = factories.user("basim"), "02" * 20
    codes = second_factor.set_up(user=other, key=key, code=code(key), password=PASSWORD)[1]
    assert second_factor.codes_left(amal) == len(amal.recovery)
    factories.annotator(user=other)
    assert second_factor.remove(user=amal, by=None)
    assert AuditEvent.objects.get(what="second factor removed").details == {"account": amal.pk}
    assert not second_factor.device_of(amal)
    assert second_factor.device_of(other)
    assert second_factor.codes_left(other) == len(codes)


class TestSettingUp:
    def test_by_a_picture_or_the_secret_a_code_and_the_password(self, client):
        user = factories.user("amal")
        client.force_login(user)
        page = client.get(PAGE)
        assert '<img class="qr" src="data:image/svg+xml' in page.text
        key = secret_of(page)
        assert secret_of(client.get(PAGE)) == key, "loading the page again takes no other secret"
        done = client.post(PAGE, {"do": "set-up", "code": code(key), "password": PASSWORD})
        assert len(set(recovery_codes(done))) == 10
        assert "You are logged out everywhere else" in done.text
        assert key not in done.text
        there = client.get(PAGE)
        assert 'id="secret"' not in there.text
        assert not recovery_codes(there), "shown once"
        assert TOTPDevice.objects.get().key == key
        assert second_factor_page.KEY not in client.session
        assert logged_in(client)
        assert AuditEvent.objects.get(what="second factor set up").details == {"account": user.pk}

    @pytest.mark.parametrize(
        "slip", [{"code": "abcdef"}, {"code": ""}, {"code": "²²²²²²"}, {"code": "later"}, {"password": "no"}]
    )
    def test_a_slip_sets_nothing_up_and_keeps_the_secret(self, client, slip):
        client.force_login(factories.user("amal"))
        key = secret_of(client.get(PAGE))
        if slip.get("code") == "later":
            slip = {"code": code(key, steps=5)}
        page = client.post(PAGE, {"do": "set-up", "code": code(key), "password": PASSWORD, **slip})
        assert page.status_code == 422
        assert 'aria-invalid="true"' in page.text
        assert secret_of(page) == key
        assert not TOTPDevice.objects.exists()

    def test_it_ends_every_other_session(self, client, client_factory):
        user = factories.user("amal")
        elsewhere = client_factory()
        for browser in (client, elsewhere):
            browser.force_login(user)
        key = secret_of(client.get(PAGE))
        client.post(PAGE, {"do": "set-up", "code": code(key), "password": PASSWORD})
        assert elsewhere.get("/").status_code == 302
        assert client.get("/").status_code == 200

    def test_nobody_sets_up_a_second_one(self, amal):
        with pytest.raises(second_factor.SecondFactorRefused, match="already"):
            second_factor.set_up(user=amal, key="02" * 20, code=code("02" * 20), password=PASSWORD)

    def test_who_has_no_password_sets_one_first(self, client):
        user = factories.user("guest")
        user.set_unusable_password()
        user.save()
        client.force_login(user)
        assert 'id="secret"' not in client.get(PAGE).text
        hold_secret(client)  # from before the password was taken away
        assert client.post(PAGE, {"do": "set-up", "code": "1", "password": ""}).url == PAGE

    def test_without_having_seen_the_secret_there_is_nothing_to_set_up(self, client):
        client.force_login(factories.user("amal"))
        for wanted in ("set-up", "codes", "remove"):
            sent = client.post(PAGE, {"do": wanted, "code": "123456", "password": PASSWORD})
            assert sent.url == PAGE

    def test_guessing_the_password_there_is_like_guessing_it_at_the_login(self, client, settings):
        settings.AXES_FAILURE_LIMIT = 2
        client.force_login(factories.user("amal"))
        key = secret_of(client.get(PAGE))
        form = {"do": "set-up", "code": code(key), "password": "guessed"}
        assert [client.post(PAGE, form).status_code for _ in range(2)] == [422, 429]

    def test_recovery_codes_are_not_in_the_database(self, amal):
        kept = set(StaticToken.objects.values_list("token", flat=True))
        assert len(kept) == 10
        assert not kept & {each.replace("-", "") for each in amal.recovery}


class TestLoggingIn:
    def test_the_password_alone_opens_nothing(self, client, amal):
        planted = client.session
        planted["planted"] = True
        planted.save()
        assert give_password(client).url == CODE
        assert client.session.session_key != planted.session_key
        assert "planted" not in client.session
        assert not logged_in(client)
        for url in ("/", "/tokens/", "/api/v1/account", PAGE):
            assert client.get(url).status_code in {302, 401}, url

    def test_the_code_comes_after_it_and_leads_to_where_one_wanted(self, client, amal):
        give_password(client, next="/profile/")
        asked = client.get(CODE)
        assert 'autocomplete="one-time-code"' in asked.text
        assert "no-store" in asked["Cache-Control"]
        assert client.put(CODE).status_code == 405
        before = client.session.session_key
        assert give_code(client, f"{code()[:3]} {code()[3:]}").url == "/profile/"
        assert client.session["_auth_user_id"] == str(amal.pk)
        assert client.session.session_key != before, "another session: nobody could have planted it"
        assert PENDING not in client.session
        assert not Session.objects.filter(pk=before).exists()
        assert "recovery code" not in client.get("/profile/").text, "none of them was used"

    def test_elsewhere_is_no_place_to_be_led_to(self, client, amal):
        give_password(client, next="https://evil.example/")
        assert give_code(client, code()).url == "/"

    @pytest.mark.postgresql
    def test_a_wrong_code_and_one_that_was_used_are_refused(self, client, clock, amal):
        give_password(client)
        refused = give_code(client, wrong())
        assert refused.status_code == 422
        assert refused.wsgi_request.sensitive_post_parameters == ("code",)
        assert not logged_in(client)
        used = code()
        assert give_code(client, used).status_code == 302
        client.logout()
        give_password(client)
        assert give_code(client, used).status_code == 422
        clock.pass_by(30)
        assert give_code(client, code()).status_code == 302

    def test_another_accounts_code_is_a_wrong_one(self, client, amal):
        factories.user("bo")
        bo = get_user_model().objects.get(username="bo")
        second_factor.set_up(user=bo, key="02" * 20, code=code("02" * 20), password=PASSWORD)
        give_password(client)
        assert give_code(client, code("02" * 20, steps=1)).status_code == 422

    def test_a_device_that_was_never_confirmed_is_none(self, amal):
        TOTPDevice.objects.update(confirmed=False)
        assert not has_second_factor(amal)
        assert second_factor.device_of(amal) is None
        assert second_factor.verify(user=amal, code=code()) is None

    def test_recovery_codes_are_good_once_each(self, client, amal):
        give_password(client)
        answer = give_code(client, amal.recovery[0].upper().replace("-", " "))
        assert "9 recovery codes are left" in client.get(answer.url).text
        client.logout()
        give_password(client)
        assert give_code(client, amal.recovery[0]).status_code == 422
        assert give_code(client, amal.recovery[1]).status_code == 302

    def test_a_recovery_code_may_have_digits_alone(self, amal, monkeypatch):
        monkeypatch.setattr(second_factor, "_ALPHABET", "0123456789")
        made = second_factor.new_codes(user=amal)
        assert second_factor.verify(user=amal, code=made[0]) is not None

    def test_ten_wrong_codes_make_the_same_pause_as_wrong_passwords(self, client, amal):
        give_password(client)
        answers = [give_code(client, wrong()).status_code for _ in range(10)]
        assert answers == [422] * 9 + [429]
        assert give_code(client, code()).status_code == 429
        assert give_password(client).status_code == 429
        assert not logged_in(client)

    def test_from_many_addresses_each_wrong_code_doubles_the_pause(self, client, settings, amal):
        settings.OTP_TOTP_THROTTLE_FACTOR = 1
        give_password(client)
        assert client.post(CODE, {"code": wrong()}, REMOTE_ADDR="192.0.2.1").status_code == 422
        assert client.post(CODE, {"code": code()}, REMOTE_ADDR="192.0.2.2").status_code == 422
        assert TOTPDevice.objects.get().throttling_failure_count == 1

    def test_the_password_alone_is_forgotten_after_a_while(self, client, clock, amal):
        give_password(client)
        clock.pass_by(PENDING_SECONDS - 1)
        assert client.get(CODE).status_code == 200
        clock.pass_by(-PENDING_SECONDS)
        assert client.get(CODE).url == LOGIN, "the clock was wrong when the password was given"
        clock.pass_by(PENDING_SECONDS + 1)
        assert client.get(CODE).url == LOGIN
        assert give_code(client, code()).url == LOGIN
        assert not logged_in(client)

    @pytest.mark.parametrize("change", ["password", "off", "gone"])
    def test_what_changed_in_between_counts(self, client, amal, change):
        give_password(client)
        if change == "gone":
            amal.delete()
        elif change == "off":
            amal.is_active = False
            amal.save()
        else:
            amal.set_password("another-long-one")
            amal.save()
        assert give_code(client, code()).url == LOGIN
        assert not logged_in(client)

    def test_without_a_password_there_is_nothing_to_give_a_code_for(self, client, amal):
        assert client.get(CODE).url == LOGIN
        assert give_code(client, code()).url == LOGIN

    def test_the_administration_and_the_api_are_no_way_around(self, client, amal):
        amal.is_superuser = amal.is_staff = True
        amal.save()
        sent = client.post("/admin/login/", {"username": "amal", "password": PASSWORD})
        assert sent.status_code == 405
        for path in ("/admin/", "/admin/auth/user/"):
            assert client.get(path, follow=True).redirect_chain[-1][0] == f"{LOGIN}?next={path}"
        sent = client.get("/admin/login/")
        assert (sent.url, "no-store" in sent["Cache-Control"]) == (f"{LOGIN}?next=/admin/", True)
        give_password(client, next="/admin/")
        assert client.get("/admin/").status_code == 302
        assert give_code(client, code()).url == "/admin/"
        assert client.get("/admin/").status_code == 200

    def test_who_may_not_see_the_administration_is_not_sent_in_a_circle(self, client):
        client.force_login(factories.user())
        assert client.get("/admin/", follow=True).status_code == 404

    def test_the_log_holds_no_code(self, client, amal, caplog):
        with caplog.at_level("DEBUG"):
            give_password(client)
            give_code(client, "314159")
            give_code(client, code())
        assert "314159" not in caplog.text
        assert code() not in caplog.text
        assert "amal" not in caplog.text


class TestOnOnesOwnPage:
    @pytest.fixture(autouse=True)
    def _inside(self, client, amal):
        give_password(client)
        give_code(client, amal.recovery[0])

    @pytest.mark.postgresql
    def test_new_recovery_codes_make_the_old_ones_worthless(self, client, amal):
        client.get("/")  # says what is left after the login
        assert "9 recovery codes are left" in client.get(PAGE).text
        assert 'id="codes-error"' in client.post(PAGE, {"do": "codes", "code": wrong()}).text
        page = client.post(PAGE, {"do": "codes", "code": code()})
        assert "You are logged out everywhere else" not in page.text
        fresh = recovery_codes(page)
        assert len(set(fresh)) == 10
        assert second_factor.verify(user=amal, code=amal.recovery[1]) is None
        assert second_factor.verify(user=amal, code=fresh[0]) is not None
        assert client.get("/tokens/").status_code == 200, "the session stays a verified one"

    def test_removing_takes_a_code(self, client, amal):
        page = client.post(PAGE, {"do": "remove", "code": wrong()})
        assert (page.status_code, 'id="remove-error"' in page.text) == (422, True)
        assert page.wsgi_request.sensitive_post_parameters == ("code", "password")
        assert "must have it" not in page.text
        assert TOTPDevice.objects.exists()
        assert client.post(PAGE, {"do": "remove", "code": code()}).url == PAGE
        assert "The second factor is removed." in client.get(PAGE).text
        assert not TOTPDevice.objects.exists()
        assert not StaticToken.objects.exists()
        client.logout()
        assert give_password(client).url == "/"
        assert AuditEvent.objects.get(what="second factor removed").by == amal

    def test_guessing_there_leads_to_the_pause_too(self, client):
        answers = [client.post(PAGE, {"do": "remove", "code": wrong()}).status_code for _ in range(10)]
        assert answers == [422] * 9 + [429]

    def test_anything_else_does_nothing(self, client):
        hold_secret(client)  # another page of theirs, from before
        for wanted in ("", "set-up", "everything"):
            assert client.post(PAGE, {"do": wanted, "code": code()}).url == PAGE
        assert TOTPDevice.objects.exists()

    def test_a_session_begun_without_the_code_makes_no_token(self, client, client_factory, amal):
        elsewhere = client_factory()
        elsewhere.force_login(amal)
        form = {"name": "mine", "days": 9, "scopes": ["read"]}
        assert elsewhere.post("/tokens/", form).status_code == 403
        assert not ApiToken.objects.exists()
        assert client.post("/tokens/", form).status_code == 200
        assert ApiToken.objects.exists()


class TestHelp:
    def test_an_admin_removes_somebody_elses(self, client, amal):
        admin = factories.user("root", admin=True)
        client.force_login(admin)
        url = reverse("account_action", args=[f"u{amal.pk}", "remove-second-factor"])
        assert url in client.get(f"/people/u{amal.pk}/").text
        assert "Be sure that the request" in client.get(url).text
        assert TOTPDevice.objects.exists()
        client.post(url)
        assert not TOTPDevice.objects.exists()
        event = AuditEvent.objects.get(what="second factor removed")
        assert (event.by, event.details) == (admin, {"account": amal.pk})

    def test_nobody_takes_their_own_away_without_a_code(self, client, amal):
        amal.is_superuser = True
        amal.save()
        client.force_login(amal)
        url = reverse("account_action", args=[f"u{amal.pk}", "remove-second-factor"])
        assert url not in client.get(f"/people/u{amal.pk}/").text
        assert "your own account" in client.post(url, follow=True).text
        assert TOTPDevice.objects.exists()

    def test_no_admin_sees_or_changes_a_secret_in_the_administration(self, client, amal):
        client.force_login(factories.user("root", admin=True))
        for url in ("otp_totp/totpdevice/", "otp_static/staticdevice/"):
            pk = TOTPDevice.objects.get().pk
            for more in ("", "add/", f"{pk}/change/", f"{pk}/delete/", f"{pk}/qrcode/", f"{pk}/config/"):
                assert client.get(f"/admin/{url}{more}").status_code == 404
        assert "/otp_" not in client.get("/admin/").text

    def test_the_record_names_no_annotator(self, amal):
        factories.annotator(user=amal)
        second_factor.remove(user=amal, by=None)
        assert AuditEvent.objects.get(what="second factor removed").details == {}

    def test_by_command_where_the_last_admin_is_locked_out(self, amal):
        call_command("remove_second_factor", "amal")
        assert not TOTPDevice.objects.exists()
        with pytest.raises(CommandError, match="no second factor"):
            call_command("remove_second_factor", "amal")
        with pytest.raises(CommandError, match="no account 'nobody'"):
            call_command("remove_second_factor", "nobody")


class TestRequired:
    """SECOND_FACTOR=optional|admins|leads."""

    SENT = {
        "optional": set(),
        "admins": {"admin"},
        "leads": {"admin", "lead", "sets_up"},
    }

    def people(self):
        who = {name: factories.user(name) for name in ("annotator", "lead", "sets_up")}
        who["admin"] = factories.user("root", admin=True)
        factories.study("words", leads=[who["lead"]])
        from annotation.accounts.services import accounts

        accounts.set_may_create_studies(user=who["sets_up"], on=True, by=who["admin"])
        return who

    @pytest.mark.parametrize("rule", SENT)
    def test_of_whom(self, client, settings, rule):
        settings.SECOND_FACTOR = rule
        for name, user in self.people().items():
            client.force_login(get_user_model().objects.get(pk=user.pk))
            page = client.get("/")
            sent = page.status_code == 302 and page.url == PAGE
            assert sent == (name in self.SENT[rule]), name

    def test_until_it_is_set_up_nothing_else_is_there(self, client, settings):
        settings.SECOND_FACTOR = "admins"
        client.force_login(factories.user("amal", admin=True))
        for url in ("/", "/people/", "/admin/", "/tokens/", "/accounts/password_change/"):
            assert client.get(url).url == PAGE
            assert client.post(url).url == PAGE
        refused = client.get("/api/v1/account")
        assert refused.status_code == 403
        assert refused["Content-Type"] == "application/problem+json"
        asked = client.get(PAGE)
        assert "must have two-factor authentication" in asked.text
        key = secret_of(asked)
        client.post(PAGE, {"do": "set-up", "code": code(key), "password": PASSWORD})
        assert client.get("/people/").status_code == 200
        assert "must have it" in client.get(PAGE).text
        assert client.get("/api/v1/account").status_code == 200

    def test_some_addresses_are_there_without_it(self, client, settings):
        settings.SECOND_FACTOR = "admins"
        client.force_login(factories.user("amal", admin=True))
        for url in ("/healthz", "/readyz"):
            assert client.get(url).status_code == 200
        assert client.post("/language/", {"language": "es", "next": "/profile/"}).url == "/profile/"
        assert client.get(LOGIN).url == "/"
        assert client.get(CODE).url == LOGIN
        client.post("/accounts/logout/")
        assert not logged_in(client)

    def test_a_session_from_before_ends(self, client, settings, amal):
        amal.is_superuser = True
        amal.save()
        settings.SECOND_FACTOR = "admins"
        client.force_login(amal)
        assert client.get("/people/?page=2").url == f"{LOGIN}?next=/people/%3Fpage%3D2"
        assert not logged_in(client)

    def test_tokens_of_the_api_go_on(self, client, settings):
        from annotation.api import tokens

        admin = factories.user("root", admin=True)
        made = tokens.create(user=admin, name="mine", scopes=["read"], by=admin)
        settings.SECOND_FACTOR = "admins"
        asked = client.get("/api/v1/account", HTTP_AUTHORIZATION=f"Bearer {made.secret}")
        assert asked.status_code == 200
