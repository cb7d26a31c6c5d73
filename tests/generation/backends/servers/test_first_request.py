"""Loading a model on a server: what is wrong is one clear error, and no key is seen anywhere."""

from __future__ import annotations

import logging
import ssl

import pytest

from generation import backends
from generation.backends import openai_server
from generation.backends.base import BackendError
from generation.backends.model_servers import ModelServer
from generation.backends.openai_errors import clean
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.recipes import ImageRecipe
from tests.fake_openai import (
    HTML,
    Fault,
    error,
)
from tests.generation.backends.servers.asking import KEY, ask


class TestFirstRequest:
    def test_a_wrong_key(self, server, load, monkeypatch):
        monkeypatch.setenv("MODEL_SERVER_KEY_LAB", "sk-proj-another-secret-987654")
        with pytest.raises(
            BackendError, match=r"lab \(127.*correct MODEL_SERVER_KEY_LAB, and restart"
        ) as told:
            load()
        assert "another-secret" not in str(told.value)

    def test_no_key(self, server, load, monkeypatch):
        monkeypatch.delenv("MODEL_SERVER_KEY_LAB")
        with pytest.raises(BackendError, match="needs a key: set MODEL_SERVER_KEY_LAB"):
            load()

    def test_nobody_there(self, load, monkeypatch):
        monkeypatch.setenv("MODEL_SERVERS", "lab=http://127.0.0.1:9/v1")
        with pytest.raises(BackendError, match=r"lab \(127.0.0.1:9\) cannot be reached .*MODEL_SERVERS"):
            load()

    def test_a_web_page(self, server, load):
        server.first_fault = HTML
        with pytest.raises(BackendError, match=r"text/html that is not the JSON.*correct its URL"):
            load()

    @pytest.mark.parametrize("fault", [error(404), error(429), error(503, "Loading model")])
    def test_no_list_or_not_yet(self, server, load, fault):
        server.first_fault = fault
        assert ask(load(), "Hello?").text == "You said: Hello?"

    def test_a_model_that_is_not_listed(self, server, load):
        server.models = ["llama3:latest", "m2"]
        with pytest.raises(BackendError, match=r"no model 'm'\. It serves: llama3:latest, m2\."):
            load()
        load(options={"unlisted": True})
        server.models = ["m:latest"]
        load()

    def test_deployments_of_azure_are_not_listed(self, server, load, monkeypatch):
        server.models = ["gpt-x"]
        monkeypatch.setattr(openai_server, "_HIDING", ("127.0.0.1",))
        load()


def test_a_proxy_of_the_environment(server, load, monkeypatch):
    """The first request and the askings reach a server that only the proxy knows."""
    monkeypatch.setenv("MODEL_SERVERS", "lab=http://models.lab.example/v1")
    monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
    assert ask(load(), "Hello?").text == "You said: Hello?"
    assert set(server.paths) == {
        "http://models.lab.example/v1/models",
        "http://models.lab.example/v1/chat/completions",
    }


def test_what_is_meant_for_openai_goes_to_no_other_server(server, load, monkeypatch):
    server.key = ""
    monkeypatch.delenv("MODEL_SERVER_KEY_LAB")
    for name, value in {
        "OPENAI_API_KEY": KEY,
        "OPENAI_ADMIN_KEY": KEY,
        "OPENAI_ORG_ID": "org-secret",
        "OPENAI_PROJECT_ID": "proj-secret",
        "OPENAI_CUSTOM_HEADERS": f"x-gateway-key: {KEY}\nAuthorization: Bearer {KEY}",
    }.items():
        monkeypatch.setenv(name, value)
    ask(load(), "Hello?")
    sent = str(server.headers)
    assert len(server.headers) == 2
    assert "secret" not in sent
    assert "authorization" not in sent


def test_a_key_is_in_no_log_record_or_error(server, load, caplog):
    caplog.set_level(logging.DEBUG)
    model = load()
    outcomes = [model, model.about, model._server, model._connection]
    for fault in (
        error(400, f"Bad request with {KEY} and Bearer abcdefgh, sk-other-0123456789"),
        error(401, f"Incorrect API key provided: {KEY}"),
        error(500, KEY),
        Fault("raw", body=f"<p>{KEY}", headers={"content-type": "text/html"}),
    ):
        server.always["Hello?"] = fault
        outcomes.append(ask(model, "Hello?"))
    for one in outcomes:
        chain = [one, getattr(one, "__cause__", None), getattr(one, "__context__", None)]
        assert not [each for each in chain[1:] if each is not None], one
        assert KEY not in f"{one!r} {one}"
    assert "sk-other" not in str(outcomes)
    assert "abcdefgh" not in str(outcomes)
    logged = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert logged.count("openai")
    assert KEY not in logged


def test_a_key_that_looks_like_any_word_is_removed_from_messages():
    server = ModelServer("lab", "http://x/v1", "correct-horse")
    assert clean("Who is correct-horse?\nNobody", server) == "Who is [key]? Nobody"
    assert len(clean("a" * 10_000, server)) < 700


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        (
            CompletionRecipe,
            {"server": "other"},
            "server: there is no server 'other'. There are: lab, openai.",
        ),
        (CompletionRecipe, {"model": " "}, "model: name the model as the server calls it"),
        (CompletionRecipe, {"options": {"time_out": 3}}, "no 'time_out'. Did you mean 'timeout'?"),
        (CompletionRecipe, {"options": {"timeout": 0}}, "options.timeout: choose 1 to 3600"),
        (CompletionRecipe, {"options": {"in_flight": 1.5}}, "options.in_flight: 1.5 is not a whole number"),
        (CompletionRecipe, {"options": {"unlisted": 1}}, "options.unlisted: 1 is not a yes or no"),
        (CompletionRecipe, {"options": {"body": {"seed": 1}}}, "options.body: seed cannot be set here"),
        (CompletionRecipe, {"repeatable": True}, "repeatable: a server does not promise"),
        (CompletionRecipe, {"revision": "v1"}, "revision: a server chooses"),
        (DescriptionRecipe, {"chat": False}, "chat: a server takes images in messages only"),
        (DescriptionRecipe, {"options": {"detail": "x"}}, "options.detail: choose low, high, auto"),
        (ImageRecipe, {"steps": 20}, "steps: a server takes no number of steps"),
        (ImageRecipe, {"negative_prompt": "x"}, "negative_prompt: a server takes no"),
        (ImageRecipe, {"model": ImageRecipe.model}, "model: name the model"),
    ],
)
def test_planning_refuses_what_no_server_can_do_and_asks_none(server, kind, changed, message):
    recipe = kind(**{"backend": "openai", "server": "lab", "model": "m", **changed})
    with pytest.raises(BackendError) as refused:
        backends.check(recipe)
    assert message in str(refused.value)
    assert not server.paths


def test_a_server_has_to_prove_who_it_is(server, load, monkeypatch):
    """The key is in the first request already."""
    openai, given = pytest.importorskip("openai"), []
    client = openai.DefaultHttpxClient
    monkeypatch.setattr(openai, "DefaultHttpxClient", lambda **said: given.append(said) or client(**said))
    load()
    [said] = given
    assert said["verify"].verify_mode == ssl.CERT_REQUIRED
    assert said["verify"].check_hostname
