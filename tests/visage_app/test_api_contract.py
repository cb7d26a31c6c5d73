"""The whole API against its own schema, as each role: what Schemathesis makes up is answered as documented.

All its checks are on: no server error, no status, type, header or body that the schema does not name, nothing
accepted that the schema forbids or refused that it allows, no way in without a token, no method but those
there are. What is generated is the same at every run. The world is built once; each request is taken back, so
every one finds the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.core.cache import cache as counted
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from django.test import override_settings
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode
from schemathesis.generation.drivers import CoverageGenerator
from schemathesis.generation.feedback import NO_FEEDBACK
from schemathesis.generation.overrides import Override
from schemathesis.specs.openapi.checks import ignored_auth
from werkzeug import Client

from tests.annotation.api.calls import documented
from tests.pure import made_once
from tests.visage_app.api_world import World

pytestmark = [pytest.mark.django_db, pytest.mark.pages]
ROLES = ("admin", "lead", "annotator", "reader", "anonymous")
"""*reader*: a token of the lead's with the scope *read* alone."""
NO_METHOD = "trace"
"""Asked of every address, which has to say which methods it has."""
# Well-formed and still refused: a metric without that parameter, a study without images. RFC 9110 has 422
# for what can be read and not be done; the schema cannot say which of the two it will be. 412: If-Match.
_ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409", "412", "422"]


@schemathesis.serializer("application/toml")
def study_file(ctx, value) -> bytes:
    """To the schema a study file is a text; of all texts, send one that is TOML."""
    return b'name = "sent"\ntitle = "Sent"\n' if isinstance(value, str) else b"no TOML"


@schemathesis.serializer("application/zip")
def archive(ctx, value) -> bytes:
    """To the schema a ZIP is any bytes; none of those made up is one, which is for the program to say."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@cache
def program():
    return get_wsgi_application()


def application(environ, start_response):
    """The program as a server runs it, which also closes what it has sent; made once a test asks it, with
    the suite's settings."""
    sent = program()(environ, start_response)
    try:
        return list(sent)
    finally:
        sent.close()


def contract():
    config = SchemathesisConfig.from_dict(
        {
            # U+0000 is in JSON and in no text of a database: see the tests at the end
            "generation": {"deterministic": True, "allow-x00": False},
            # Each test makes its own (`boundaries`): as Schemathesis does it, each process makes all of them
            "phases": {"coverage": {"enabled": False, "unexpected-methods": [NO_METHOD]}},
            "checks": {"positive_data_acceptance": {"expected-statuses": _ACCEPTED}},
        }
    )
    made = schemathesis.openapi.from_dict(documented(), config=config)
    made.app = application
    return made


SCHEMA = contract()
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations()]


def boundaries(operation) -> list:
    """Requests with every boundary of every parameter, one by one, and with a method that there is not."""
    generation = SCHEMA.config.generation_for(operation=operation, phase="coverage")
    made = CoverageGenerator(
        operation=operation,
        generation_modes=generation.modes,
        generation_config=generation,
        auth_storage=None,
        override=Override(),
        feedback=NO_FEEDBACK,
    )
    cases = list(made)
    assert not made.controller.unserializable_media_types, "say above how such a body is written"
    assert not made.controller.deferred_errors
    return once_each(cases)


def once_each(cases: list) -> list:
    """Ask each question once. Schemathesis sends an unknown parameter beside each known one, several texts
    that are no option of a parameter, and optional properties two, three and four together, besides each
    alone and all of them. It sends a wrong value of a query parameter twice: beside a value of every
    parameter, and beside those alone that have to be there. Of these two, keep the second: it can be refused
    for nothing else, and the first often is (for a cursor that is none)."""
    kept: dict[object, Any] = {}
    for case in cases:
        about = case.meta.phase.data
        key: object = id(case)
        wrong = case.meta.generation.mode is GenerationMode.NEGATIVE
        if wrong and about.parameter_location is ParameterLocation.QUERY:
            value = case.query.get(about.parameter)
            key = (case.method, about.scenario, about.parameter, repr(value))
            if isinstance(value, str) and value and about.parameter in options(case.operation):
                key = (case.method, "no option", about.parameter)
        if _SOME_TOGETHER.search(about.description or ""):
            continue
        if key not in kept or len(case.query) < len(kept[key].query):
            kept[key] = case
    return list(kept.values())


_SOME_TOGETHER = re.compile(r"required and (a subset of|\d+) optional")


@cache
def options(operation) -> set[str]:
    """The query parameters that are one of a few texts."""
    found = [one.definition for one in operation.query]
    return {one["name"] for one in found if "enum" in one["schema"] and one["schema"]["type"] == "string"}


@pytest.fixture(scope="module")
def made(django_db_setup, django_db_blocker, tmp_path_factory) -> Iterator[World]:
    media = tmp_path_factory.mktemp("contract")
    hashers = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # as Django's own test client: a request's end would close the connection that all this is rolled back by
    ends = (request_started, request_finished)
    for signal in ends:
        signal.disconnect(close_old_connections)
    with django_db_blocker.unblock(), transaction.atomic(), made_once():
        with override_settings(MEDIA_ROOT=media, CELERY_BROKER_URL="", PASSWORD_HASHERS=hashers):
            world = World(media)
        yield world
        transaction.set_rollback(True)
    for signal in ends:
        signal.connect(close_old_connections)


@pytest.fixture
def world(made) -> Iterator[World]:
    with override_settings(MEDIA_ROOT=made.media):
        yield made


def ask(case, role: str, world: World) -> None:
    """Send it, take back what it did, and check the answer."""
    world.visit(case)
    # throttles count in the cache
    counted.clear()
    with transaction.atomic():
        answer = case.call(headers=world.headers(role))
        transaction.set_rollback(True)
    if case.method.lower() == NO_METHOD:
        offered = {method.strip().lower() for method in answer.headers["allow"][0].split(",")}
        assert offered - {"head"} == documented()["paths"][case.operation.path].keys()

    def lets_nobody_in(ctx, response, case):
        """The check that asks twice more, without a token and with a wrong one: it leaves out the operations
        that have refused both, as when Schemathesis runs by itself."""
        ctx.auth_enforced_operations = world.locked[case.media_type]
        return ignored_auth(ctx, response, case)

    case.validate_response(
        answer,
        headers=world.headers(role),
        excluded_checks=[ignored_auth],
        additional_checks=[lets_nobody_in],
    )


def test_every_kind_of_thing_in_an_address_is_there(world):
    nouns = {noun for path in documented()["paths"] for noun in re.findall(r"/([a-z-]+)/\{\w+\}", path)}
    assert nouns - set(world.known) == {"figure", "figures"}  # which the schema lists


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_every_answer_is_as_documented(operation, world):
    cases = boundaries(operation)
    for case in cases:
        ask(case, "admin", world)
    right = [case for case in cases if case.meta.generation.mode is GenerationMode.POSITIVE]
    assert all(map(world.has_visited, right))
    for role in ROLES[1:]:
        print(f"As {role}:")  # what is shown of a failure does not tell
        # one with everything that can be asked for, and one with little
        for case in {id(case): case for case in (right[0], right[-1])}.values():
            ask(case, role, world)


@pytest.mark.parametrize(
    "body", ['{"name": "a\\u0000b"}', '{"name": "\\ud800"}', '{"a\\u0000": 1}', '{"a": [NaN]}']
)
def test_what_is_no_text_and_no_number_is_refused_before_anything_is_asked(world, body):
    """What the generation leaves out: no database keeps these."""
    counted.clear()
    headers = {**world.headers("admin"), "Content-Type": "application/json"}
    for path in ("studies", "runs", "studies/hats/score-runs"):
        answer = Client(application).post(f"/api/v1/{path}", data=body, headers=headers)
        assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")


@pytest.mark.parametrize("path", ["runs?image_set=%00", "studies/hats/scores?metric=agreement&name=%00"])
def test_no_parameter_holds_a_null_character(world, path):
    counted.clear()
    assert Client(application).get(f"/api/v1/{path}", headers=world.headers("admin")).status_code == 400
