"""What a browser is told by the real web server, over HTTPS by way of a proxy."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from tests.processes.conftest import Installation, new_database
from tests.processes.servers import answers
from tests.waiting import PATIENCE_SECONDS, wait_for

pytestmark = pytest.mark.processes
HOST = "studies.example.org"
GUNICORN = ("-m", "gunicorn", "--config", "python:visage_app.serving.gunicorn_hooks")
ACCOUNT = (
    "import django; django.setup()\n"
    "from django.contrib.auth.models import User\n"
    "User.objects.create_superuser('root', password='thirteen green hats')\n"
)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory, migrated: str) -> Iterator[int]:
    """Of a web server that believes one proxy, which speaks HTTPS."""
    with new_database(tmp_path_factory.mktemp("headers"), template=migrated) as (env, _):
        yield from started(Installation(env))


def started(installation: Installation) -> Iterator[int]:
    installation.env |= {
        "DJANGO_SETTINGS_MODULE": "visage_app.settings",
        "HTTPS": "yes",
        "BEHIND_PROXY": "yes",
        "ALLOWED_HOSTS": f"{HOST},127.0.0.1",
        "SECRET_KEY": "headers-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGH",  # pragma: allowlist secret
    }
    installation.run("-c", ACCOUNT)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number = probe.getsockname()[1]
    process = installation.python(*GUNICORN, "visage_app.wsgi", "--bind", f"127.0.0.1:{number}")
    wait_for(lambda: answers(number) or process.poll() is not None, "the web server does not listen")
    assert process.poll() is None, "the web server ended"
    yield number
    process.terminate()
    process.wait(timeout=PATIENCE_SECONDS)


def ask(port: int, method: str, path: str, *, host: str = HOST, proto: str = "https", body=None, **headers):
    """(status, headers as a list of pairs, text)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        sent = {"Host": host, "X-Forwarded-Proto": proto, "X-Forwarded-For": "192.0.2.7", **headers}
        connection.request(method, path, body=body, headers=sent)
        answer = connection.getresponse()
        return answer.status, answer.getheaders(), answer.read().decode(errors="replace")
    finally:
        connection.close()


def cookies(headers) -> dict[str, str]:
    """Name -> the whole line of each cookie that is set."""
    lines = [value for name, value in headers if name.lower() == "set-cookie"]
    return {line.partition("=")[0]: line for line in lines}


def test_cookies_headers_and_hosts_of_real_answers(port: int):
    status, headers, page = ask(port, "GET", "/accounts/login/")
    said = {name.lower(): value for name, value in headers}
    assert status == 200
    assert said["strict-transport-security"] == "max-age=31536000; includeSubDomains; preload"
    assert said["x-frame-options"] == "DENY"
    assert said["x-content-type-options"] == "nosniff"
    assert said["referrer-policy"] == "same-origin"
    assert said["cross-origin-opener-policy"] == "same-origin"
    assert "default-src 'self'" in said["content-security-policy"]
    assert "unsafe" not in said["content-security-policy"]
    assert "no-store" in said["cache-control"]
    # gunicorn says its name, and no version of it or of anything else
    assert not re.search(r"\d", said.get("server", ""))
    assert "x-powered-by" not in said

    forged = cookies(headers)["csrftoken"]
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[1]
    form = {"username": "root", "password": "thirteen green hats", "csrfmiddlewaretoken": token}
    sent = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Cookie": forged.partition(";")[0],
        "Referer": f"https://{HOST}/accounts/login/",
    }
    # the same form from another site, which knows the token somehow
    elsewhere = sent | {"Referer": "https://evil.example/"}
    assert ask(port, "POST", "/accounts/login/", body=urlencode(form), **elsewhere)[0] == 403
    status, headers, _ = ask(port, "POST", "/accounts/login/", body=urlencode(form), **sent)
    assert status == 302
    given = cookies(headers)
    assert set(given) == {"sessionid", "csrftoken"}
    for line in (forged, *given.values()):
        for flag in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/"):
            assert flag in line.split("; "), line
        assert "domain=" not in line.lower()
    language = urlencode({"language": "es", "next": "/", "csrfmiddlewaretoken": token})
    chosen = cookies(ask(port, "POST", "/language/", body=language, **sent)[1])["django_language"]
    assert {"Secure", "HttpOnly", "SameSite=Lax"} <= set(chosen.split("; "))

    # over plain HTTP there is the way to HTTPS and nothing else, to the right host only
    status, headers, text = ask(port, "GET", "/accounts/login/", proto="http")
    assert (status, dict(headers)["Location"], text) == (301, f"https://{HOST}/accounts/login/", "")
    assert not cookies(headers)
    for proto in ("http", "https"):
        status, headers, text = ask(port, "GET", "/accounts/login/", host="evil.example", proto=proto)
        assert status == 400
        assert "evil" not in text + str(headers)


def test_a_request_whose_head_is_too_long_is_refused_in_the_api_s_form(port: int):
    long = "x" * 20_000
    for path, sent, expected in (
        (f"/api/v1/studies?name={long}", {}, 414),
        ("/api/v1/studies", {"X-Long": long}, 431),
        ("/api/v1/studies", {f"X-{number}": "" for number in range(200)}, 431),
    ):
        status, headers, text = ask(port, "GET", path, **sent)
        problem = json.loads(text)
        assert (status, dict(headers)["Content-Type"]) == (expected, "application/problem+json")
        assert (problem["status"], problem["type"]) == (expected, "urn:visage:problem:too-long")
        assert "shorter" in problem["detail"]
    assert ask(port, "GET", "/api/v1/studies")[0] == 401
