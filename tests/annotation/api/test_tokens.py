"""Tokens: created, shown once, used and revoked, on the page and by the command."""

from __future__ import annotations

import hashlib
import logging
import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from annotation.api import tokens
from annotation.models import ApiToken, AuditEvent
from tests import factories
from tests.annotation.api.calls import Program

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead")


def make(user, **fields):
    given = {"name": "nightly", "scopes": ["read"], "by": user, **fields}
    return tokens.create(user=user, **given)


def test_only_the_digest_of_a_secret_is_kept(lead):
    made = make(lead)
    row = ApiToken.objects.filter(pk=made.token.pk).values().get()
    assert row["digest"] == hashlib.sha256(made.secret.encode()).hexdigest()
    assert made.secret not in str(row)
    assert made.secret.startswith(row["prefix"])
    assert len(made.secret) - len(row["prefix"]) >= 32
    assert made.secret not in repr(made)


def test_it_ends_after_ninety_days_if_nothing_is_said(lead):
    assert timedelta(days=89) < make(lead).token.expires_at - timezone.now() <= timedelta(days=90)


def test_the_longest_name_and_the_longest_time_are_no_error(lead):
    made = make(lead, name="x" * 80, days=365)
    assert made.token.expires_at - timezone.now() > timedelta(days=364)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "  "}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"days": 0}, "days"),
        ({"days": 366}, "days"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["read", "everything"]}, "scopes"),
        ({"scopes": ["export"]}, "scopes"),
    ],
)
def test_what_cannot_be_a_token_is_refused(lead, fields, field):
    with pytest.raises(tokens.TokenRefused) as refused:
        make(lead, **fields)
    assert refused.value.field == field
    assert not ApiToken.objects.exists()
    assert not AuditEvent.objects.exists()


def test_an_account_has_so_many_tokens_at_most(lead, monkeypatch):
    monkeypatch.setattr(tokens, "MAX_TOKENS", 2)
    first = make(lead)
    make(lead)
    with pytest.raises(tokens.TokenRefused):
        make(lead)
    tokens.revoke(token=first.token, by=lead)
    make(lead)
    make(factories.user("other"))
    ApiToken.objects.filter(user=lead).update(expires_at=timezone.now())
    make(lead)


def test_use_is_noted_once_a_minute(lead, django_assert_num_queries):
    made = make(lead)
    now = timezone.now()
    assert tokens.authenticate(secret=made.secret, now=now).pk == made.token.pk
    with django_assert_num_queries(1):
        tokens.authenticate(secret=made.secret, now=now + timedelta(seconds=59))
    made.token.refresh_from_db()
    assert made.token.last_used_at == now
    tokens.authenticate(secret=made.secret, now=now + timedelta(seconds=60))
    made.token.refresh_from_db()
    assert made.token.last_used_at == now + timedelta(seconds=60)


def test_a_token_dies_with_its_time_its_account_and_its_revocation(lead):
    made = make(lead, days=1)
    ends = made.token.expires_at
    assert tokens.authenticate(secret=made.secret, now=ends - timedelta(seconds=1)) == made.token
    assert tokens.authenticate(secret=made.secret, now=ends) is None
    assert tokens.authenticate(secret=made.secret + "x") is None
    assert tokens.authenticate(secret="") is None
    assert tokens.revoke(token=made.token, by=lead) is True
    assert tokens.revoke(token=made.token, by=lead) is False
    assert tokens.authenticate(secret=made.secret) is None
    other = make(lead)
    lead.is_active = False
    lead.save()
    assert tokens.authenticate(secret=other.secret) is None


def test_making_and_revoking_is_in_the_audit_trail_without_the_secret(lead):
    made = make(lead)
    tokens.revoke(token=made.token, by=lead)
    events = list(AuditEvent.objects.order_by("pk"))
    assert [event.what for event in events] == ["api token made", "api token revoked"]
    assert all(event.by == lead for event in events)
    assert events[0].details["prefix"] == made.token.prefix
    assert events[0].details["scopes"] == ["read"]
    assert made.secret not in str([event.details for event in events])
    assert made.token.digest not in str([event.details for event in events])


def test_the_page_shows_a_secret_once(client, lead):
    client.force_login(lead)
    page = client.post("/tokens/", {"name": "nightly", "days": "30", "scopes": ["read", "manage"]})
    (secret,) = set(re.findall(r"vsg_[\w-]{30,}", page.text))
    assert "no-store" in page["Cache-Control"]
    assert tokens.authenticate(secret=secret).scopes == ["read", "manage"]
    again = client.get("/tokens/")
    assert "nightly" in again.text
    assert secret not in again.text


def test_the_page_offers_export_to_admins_only(client, lead):
    client.force_login(lead)
    assert 'value="export"' not in client.get("/tokens/").text
    answer = client.post("/tokens/", {"name": "nightly", "days": "30", "scopes": ["export"]})
    assert answer.status_code == 422
    client.force_login(factories.user("admin", admin=True))
    assert 'value="export"' in client.get("/tokens/").text
    assert not ApiToken.objects.exists()


def test_nobody_revokes_somebody_elses_token(client, lead):
    made = make(factories.user("other"))
    client.force_login(lead)
    assert client.post(f"/tokens/{made.token.pk}/revoke/").status_code == 404
    assert made.token.prefix not in client.get("/tokens/").text
    mine = make(lead)
    assert client.post(f"/tokens/{mine.token.pk}/revoke/").status_code == 302
    assert tokens.authenticate(secret=mine.secret) is None
    assert tokens.authenticate(secret=made.secret) is not None


def test_a_name_is_shown_as_text(client, lead):
    client.force_login(lead)
    page = client.post("/tokens/", {"name": "<script>x</script>", "days": "3", "scopes": ["read"]})
    assert "<script>x" not in page.text


def test_the_command_prints_the_secret_and_nothing_else_to_standard_output(lead, capsys):
    call_command("token", "lead", "--scope", "read", "--scope", "manage", "--days", "7")
    secret = capsys.readouterr().out.strip()
    token = tokens.authenticate(secret=secret)
    assert (token.user, token.scopes) == (lead, ["read", "manage"])
    assert token.expires_at - timezone.now() <= timedelta(days=7)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nobody", "--scope", "read"], "There is no account 'nobody'."),
        (["lead", "--scope", "export"], "can choose"),
        (["lead", "--scope", "read", "--days", "400"], "365"),
        (["gone", "--scope", "read"], "switched off"),
    ],
)
def test_the_command_says_what_is_wrong(lead, arguments, said):
    gone = factories.user("gone")
    gone.is_active = False
    gone.save()
    with pytest.raises(CommandError, match=said):
        call_command("token", *arguments)
    assert not ApiToken.objects.exists()


def test_no_secret_is_in_the_logs(lead, caplog):
    caplog.set_level(logging.DEBUG)
    program = Program(lead)
    program.get("studies")
    program.get("nothing")
    Client().get("/api/v1/studies", headers={"Authorization": "Bearer vsg_someone-elses-secret"})
    assert program.secret not in caplog.text
    assert "someone-elses-secret" not in caplog.text
