"""API calls for tests: with a token, JSON in and out."""

from __future__ import annotations

from datetime import timedelta
from functools import cache

from django.test import Client
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator

from annotation.api import tokens
from annotation.models import Scope

PROBLEM = "application/problem+json"


@cache
def documented() -> dict:
    """The schema of the API: what it says that it takes and answers."""
    return SchemaGenerator().get_schema(request=None, public=True)


class Program:
    """Somebody's program: a token with some scopes (default: all that the account can choose)."""

    def __init__(self, user, *scopes: str) -> None:
        if not scopes:
            scopes = tuple(Scope.values) if user.is_superuser else ("read", "manage", "annotate")
        self.made = tokens.create(user=user, name="a program", scopes=scopes, by=user)
        self.secret = self.made.secret
        self.client = Client()

    def __call__(self, method: str, path: str, body=None, **headers):
        sent = {} if body is None else {"data": body, "content_type": "application/json"}
        return self.client.generic(
            method,
            f"/api/v1/{path}",
            **_encoded(sent),
            headers={"Authorization": f"Bearer {self.secret}", **headers},
        )

    def get(self, path: str, **headers):
        return self("GET", path, **headers)

    def post(self, path: str, body=None, **headers):
        return self("POST", path, {} if body is None else body, **headers)


def _encoded(sent):
    if "data" not in sent:
        return {}
    encoded = Client()._encode_json(sent["data"], "application/json")
    return {"data": encoded, "content_type": "application/json"}


def expired(program: Program) -> Program:
    type(program.made.token).objects.filter(pk=program.made.token.pk).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )
    return program


def is_problem(answer, status: int) -> dict:
    """The body of an error, if it is one of this status and of the documented shape."""
    assert answer.status_code == status, answer.content[:500]
    assert answer["Content-Type"] == PROBLEM
    said = answer.json()
    always = {"type", "title", "status", "detail", "instance"}
    assert always <= set(said) <= always | {"errors", "state"}
    assert said["status"] == status
    assert said["detail"]
    return said
