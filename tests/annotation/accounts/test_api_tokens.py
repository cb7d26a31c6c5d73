"""One's own tokens through the API: listed and revoked, never made."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.accounts.queries import tokens as token_queries
from annotation.api import tokens
from annotation.models import ApiToken, AuditEvent
from tests import factories
from tests.annotation.api.calls import Program, expired, is_problem

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead")


def test_one_s_own_tokens_are_listed_and_nobody_else_s(lead):
    program, old, gone = Program(lead, "read"), expired(Program(lead)), Program(lead)
    tokens.revoke(token=gone.made.token, by=lead)
    strange = Program(factories.user("other"))
    answer = program.get("tokens")
    told = answer.json()["results"]
    assert [(one["id"], one["state"], one["in_use"]) for one in told] == [
        (gone.made.token.pk, "revoked", False),
        (old.made.token.pk, "expired", False),
        (program.made.token.pk, "alive", True),
    ]
    assert told[2]["scopes"] == ["read"]
    newest = Program(lead).made.token
    own = [newest, program.made.token, gone.made.token, old.made.token]
    assert token_queries.own_tokens(lead) == own, "those that can be used come first"
    assert not any(each in answer.text for each in (program.secret, program.made.token.digest))
    assert strange.made.token.prefix not in answer.text


@pytest.mark.parametrize("state", ["alive", "expired", "revoked"])
def test_the_list_can_be_asked_for_one_state(lead, state):
    program, gone = Program(lead, "read"), Program(lead)
    both = expired(Program(lead))
    expired(Program(lead))
    for revoked in (gone, both):
        tokens.revoke(token=revoked.made.token, by=lead)
    told = program.get(f"tokens?state={state}").json()["results"]
    assert {one["state"] for one in told} == {state}
    assert len(told) == {"alive": 1, "expired": 1, "revoked": 2}[state]


def test_who_may_manage_revokes_another_of_their_tokens_once(lead):
    program, leaked = Program(lead, "manage"), Program(lead, "read")
    for _ in range(2):
        assert program("DELETE", f"tokens/{leaked.made.token.pk}").status_code == 204
    is_problem(leaked.get("account"), 401)
    assert program.get("account").status_code == 200
    event = AuditEvent.objects.get(what="api token revoked")
    assert (event.by, event.details["prefix"]) == (lead, leaked.made.token.prefix)


def test_a_stranger_s_token_looks_like_one_that_there_is_not(lead):
    program, strange = Program(lead), Program(factories.user("other"))
    said = [
        is_problem(program("DELETE", f"tokens/{number}"), 404) | {"instance": ""}
        for number in (strange.made.token.pk, 10**9, 2**63, "9" * 500)
    ]
    assert said == [said[0]] * 4
    assert strange.get("account").status_code == 200


def test_an_admin_revokes_no_one_else_s_token_here(lead):
    program, others = Program(factories.user("root", admin=True)), Program(lead)
    is_problem(program("DELETE", f"tokens/{others.made.token.pk}"), 404)
    assert others.get("account").status_code == 200


@pytest.mark.parametrize("scope", ["read", "annotate"])
def test_a_token_without_the_scope_ends_itself_and_no_other(lead, scope):
    """So does one that leaked, whatever it was made for, by whoever finds it."""
    program, other = Program(lead, scope), Program(lead)
    is_problem(program("DELETE", f"tokens/{other.made.token.pk}"), 403)
    is_problem(program("DELETE", f"tokens/{program.made.token.pk}"), 403)
    assert program("DELETE", "account/token").status_code == 204
    is_problem(program("DELETE", "account/token"), 401)
    assert other.get("account").status_code == 200


def test_a_session_has_no_token_in_use(client, lead):
    client.force_login(lead)
    is_problem(client.delete("/api/v1/account/token"), 404)


def test_no_token_makes_a_token(lead):
    program = Program(lead)
    asked = {"name": "more", "scopes": ["read"], "days": 1}
    for path in ("tokens", "account/token", f"tokens/{program.made.token.pk}"):
        is_problem(program.post(path, asked), 405)
    later = {"expires_at": (timezone.now() + timedelta(days=300)).isoformat()}
    is_problem(program("PATCH", f"tokens/{program.made.token.pk}", later), 405)
    assert ApiToken.objects.count() == 1
