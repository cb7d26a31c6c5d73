"""Servers come from the environment alone; what is wrong is refused with the cure, and without the key."""

import pytest

from generation.backends import model_servers
from generation.backends.base import BackendError
from generation.backends.model_servers import ServersRefused, configured

SECRET = "sk-secret-0123456789"  # pragma: allowlist secret


def test_openai_is_there_without_any_setting():
    [server] = configured({}).values()
    assert (server.name, server.url, server.key) == ("openai", "https://api.openai.com/v1", "")


def test_names_addresses_and_keys():
    servers = configured(
        {
            "MODEL_SERVERS": " local=http://127.0.0.1:8000/v1/ , the-lab=https://models.lab.example/v1,",
            "MODEL_SERVER_KEY_THE_LAB": f" {SECRET}\n",
            "OPENAI_API_KEY": "sk-of-openai",  # pragma: allowlist secret
            "OPENAI_BASE_URL": "https://eu.api.openai.com/v1",
        }
    )
    assert {name: (one.url, one.key) for name, one in servers.items()} == {
        "local": ("http://127.0.0.1:8000/v1", ""),
        "the-lab": ("https://models.lab.example/v1", SECRET),
        "openai": ("https://eu.api.openai.com/v1", "sk-of-openai"),
    }
    assert servers["the-lab"].where == "the-lab (models.lab.example)"
    assert SECRET not in repr(servers)


def test_a_server_named_openai_has_the_first_word():
    told = {"MODEL_SERVERS": "openai=https://x.example/v1", "OPENAI_BASE_URL": "https://y.example"}
    keys = {"MODEL_SERVER_KEY_OPENAI": "sk-first", "OPENAI_API_KEY": "sk-second"}  # pragma: allowlist secret
    [server] = configured({**told, **keys}).values()
    assert (server.url, server.key) == ("https://x.example/v1", "sk-first")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"MODEL_SERVERS": "http://x/v1"}, "an entry is not NAME=URL"),
        ({"MODEL_SERVERS": "Lab=http://x"}, "'Lab' is not NAME=URL with a name of lower-case"),
        ({"MODEL_SERVERS": "a_b=http://x"}, "'a_b' is not NAME=URL"),
        ({"MODEL_SERVERS": "a=http://x,a=http://y"}, "names 'a' twice"),
        ({"MODEL_SERVERS": "a="}, "a: this is not the URL of a server"),
        ({"MODEL_SERVERS": "a=ftp://x"}, "a: this is not the URL of a server"),
        ({"MODEL_SERVERS": "a=http:///v1"}, "a: this is not the URL of a server"),
        ({"MODEL_SERVERS": "a=http://x:99999"}, "a: this is not a URL"),
        ({"MODEL_SERVERS": "a=http://[x"}, "a: this is not a URL"),
        ({"MODEL_SERVERS": f"a=http://x/?key={SECRET}"}, "without query or fragment"),
        ({"MODEL_SERVERS": f"a=http://me:{SECRET}@x"}, "a: the URL contains a name or password"),
        ({"MODEL_SERVERS": f"http://me:{SECRET}@x"}, "an entry is not NAME=URL"),
        ({"OPENAI_BASE_URL": "x"}, "OPENAI_BASE_URL: this is not the URL"),
        ({"OPENAI_API_KEY": f"{SECRET} {SECRET}"}, "OPENAI_API_KEY contains a space"),
        ({"MODEL_SERVER_KEY_LAP": SECRET}, "MODEL_SERVER_KEY_LAP is the key of no server. There are openai"),
    ],
)
def test_what_is_wrong_is_refused_without_the_secret(variables, message):
    with pytest.raises(ServersRefused) as refused:
        configured(variables)
    assert message in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_recipe_names_a_server_and_no_address(monkeypatch):
    monkeypatch.setenv("MODEL_SERVERS", "local=http://127.0.0.1:8000/v1")
    assert model_servers.find("").name == "openai"
    assert model_servers.find("local").url == "http://127.0.0.1:8000/v1"
    with pytest.raises(BackendError, match=r"no server .http://evil\.example.\. There are: local, openai"):
        model_servers.find("http://evil.example")
    monkeypatch.setenv("MODEL_SERVERS", "local")
    with pytest.raises(BackendError, match="MODEL_SERVERS: 'local' is not NAME=URL"):
        model_servers.find("local")
