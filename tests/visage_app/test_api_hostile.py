"""Malicious requests to the API are refused as problems, and nothing breaks."""

from __future__ import annotations

import base64
import json

import pytest
from django.core.cache import cache
from django.test import Client

from annotation.models import ApiToken, Webhook
from annotation.webhooks import safe_requests
from annotation.webhooks.services import subscriptions
from tests import factories
from tests.annotation.api.calls import Program, documented, is_problem
from tests.pure import made_once
from tests.test_access import urls

pytestmark = pytest.mark.django_db
BUNDLE = "image-sets/brought/bundle"


@pytest.fixture
def program():
    root = factories.user("root", admin=True)
    factories.rating_study(name="words", leads=[root])
    factories.study("other", leads=[root])
    with made_once():
        yield Program(root)


def send(program, method, path, body=b"", kind="application/json", **headers):
    cache.clear()
    return program.client.generic(
        method,
        f"/api/v1/{path}",
        body,
        content_type=kind,
        headers={"Authorization": f"Bearer {program.secret}", **headers},
    )


def refused(answer, *statuses: int) -> None:
    assert answer.status_code in (statuses or range(400, 500)), (answer.status_code, answer.content[:300])
    is_problem(answer, answer.status_code)


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "application/zip; charset=utf-16",
        "APPLICATION/ZIP",
        "application/zip;;;=",
        "application/*",
        "*/*",
        "application/zip, application/json",
        "text/plain",
        "multipart/form-data",
        "multipart/form-data; boundary=" + "x" * 5000,
        "application/json; charset=\udc80",
        "application/json; charset=nonsense",
        "application/json; charset=base64",
        "application/json; charset=utf-16",
    ],
)
@pytest.mark.parametrize("path", [BUNDLE, "studies", "studies/words/webhooks"])
def test_a_body_of_another_kind_than_it_says(program, kind, path):
    for body in (b"", b"PK\x03\x04", b'{"a": 1}', b"\xff\xfe{}"):
        refused(send(program, "POST", path, body, kind.encode("utf-8", "replace").decode()))


@pytest.mark.parametrize(
    "value", ["%00", "x" * 10_000, "%ff%fe", "%ed%a0%80", "-1", "1e400", "NaN", "٣", "", "[]", " "]
)
def test_every_parameter_of_every_list_takes_anything_and_breaks_over_nothing(program, value):
    paths = documented()["paths"]
    asked = 0
    for path, operations in paths.items():
        if "get" not in operations:
            continue
        address = path.replace("/api/v1/", "").replace("{name}", "words").replace("{number}", "1")
        address = address.replace("{who}", f"u{program.made.token.user_id}").replace("{metric}", "tendency")
        address = address.replace("{figure}", "consensus").replace("{file_format}", "csv")
        for each in operations["get"].get("parameters", ()):
            if each["in"] != "query":
                continue
            answer = send(program, "GET", f"{address}?{each['name']}={value}")
            if answer.streaming:
                b"".join(answer.streaming_content)
            assert answer.status_code < 500, (address, each["name"], answer.status_code)
            asked += 1
    assert asked > 100


def lists() -> list[str]:
    found = []
    for name, route in urls():
        path = ("/" + route).replace("/api/v1/", "").replace("<slug:name>", "words")
        if name.startswith("api:") and "<" not in path and name != "api:nothing":
            found.append(path)
    return found


def cursor(place) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "place",
    [
        ["n", "words", 1],
        ["n", 1, 1],
        ["p", True, True],
        ["n", 1e308, 1],
        ["n", float("inf"), 1],
        ["n", 10**400, 1],
        ["n", "2026-01-01T00:00:00Z", 1],
        ["n", "9999-12-31T23:59:59.999999-23:59", 1],
        ["n", "0001-01-01T00:00:00+23:59", 1],
        ["n", "2026-01-01", 1],
        ["n", [1], 1],
        ["n", {"a": 1}, 1],
        ["n", "\ud800", 1],
        ["n", "x" * 500, 1],
        [["n"], 1, 1],
        {"n": 1, "p": 2, "q": 3},
        "npq",
    ],
)
def test_cursors_of_other_lists_and_of_none(program, place):
    """Of lists in the order of names, of times and of numbers."""
    for path in ("studies", "audit-events", "runs"):
        refused(send(program, "GET", f"{path}?cursor={cursor(place)}"), 422)


def test_every_list_refuses_a_cursor_that_is_none(program):
    asked = 0
    for path in lists():
        answer = send(program, "GET", f"{path}?cursor={cursor(['n', 'words', 1])}")
        if answer.streaming:
            b"".join(answer.streaming_content)
        assert answer.status_code < 500, (path, answer.status_code)
        asked += answer.status_code == 422
    assert asked > 10


@pytest.mark.parametrize(
    "tag", ["", "*", "W/*", '"', '""', 'W/""', "x", '"a", *', "\x00", "é", '"' + "x" * 20_000 + '"', ", , ,"]
)
def test_conditions_of_every_shape(program, tag):
    for method, path, body in (
        ("PUT", "studies/words/setup", b"{}"),
        ("POST", "studies/words/status", b'{"status": "paused"}'),
        ("GET", "studies/words", b""),
    ):
        for header in ("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"):
            answer = send(program, method, path, body, **{header: tag})
            assert answer.status_code < 500, (method, path, header)


def test_a_weak_tag_is_no_leave_to_overwrite(program):
    """RFC 9110: If-Match compares strongly."""
    tag = send(program, "GET", "studies/words")["ETag"]
    pausing = program, "POST", "studies/words/status", b'{"status": "paused"}'
    refused(send(*pausing, **{"If-Match": f"W/{tag}"}), 412)
    assert send(*pausing, **{"If-Match": tag}).status_code == 200


def locally(host: str, port: int) -> list[str]:
    """As the system resolves it, but for names that it would ask others about."""
    try:
        number = host.encode("idna").decode()
    except UnicodeError:
        return safe_requests.resolve(host, port)
    looks_like_one = all(part[:1].isdigit() for part in number.split(".")) or number == "localhost"
    return safe_requests.resolve(host, port) if looks_like_one else []


@pytest.mark.parametrize(
    "url",
    [
        "https://",
        "https:///x",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://example.org:x/",
        "https://[::1",
        "https://[v1.x]/",
        "https://exa mple.org/",
        "https://example.org/\r\nX: y",
        "https://\u2024.example.org/",
        "https://" + "a" * 300 + ".org/",
        "https://" + "a." * 200 + "org/",
        "https://ex\u00adample.org/",
        "https://user:pass@example.org/",
        "https://xn--/",
        "https://xn--a.xn--a/",
        "https://１２７.0.0.1/",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://localhost./",
        "javascript:alert(1)",
        "https:\\\\example.org\\",
        "//example.org",
        " https://127.0.0.1/ ",
    ],
)
def test_addresses_that_are_none(program, url):
    """Names are resolved when a message is sent: what is kept until then leads nowhere, either."""
    body = json.dumps({"url": url, "events": ["study.paused"]}).encode()
    answer = send(program, "POST", "studies/words/webhooks", body)
    if answer.status_code != 201:
        refused(answer, 400, 422)
        return
    target = safe_requests.parse_url(Webhook.objects.get().url, subscriptions.request_rules())
    with pytest.raises((safe_requests.AddressRefused, safe_requests.NotDelivered)):
        safe_requests.resolve_public_address(target, subscriptions.request_rules(), resolve=locally)


@pytest.mark.parametrize(
    "body",
    [
        b'{"url": "https://example.org/", "url": "https://127.0.0.1/", "events": ["study.paused"]}',
        b'{"url": {"a": 1}, "events": ["study.paused"]}',
        b'{"url": "https://example.org/", "events": {"0": "study.paused"}}',
        b'{"url": "https://example.org/", "events": [["study.paused"]]}',
        b'{"url": "https://example.org/", "events": [{}]}',
        b'{"url": "https://example.org/", "events": "study.paused"}',
        b'{"url": "https://example.org/", "events": [null, true, 1e999]}',
        b'["url", "events"]',
        b'"url"',
        b"null",
        b"1" + b"0" * 5000,
        b'{"events": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"events": ' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}",
        b'\xef\xbb\xbf{"events": []}',
        b'{"events": []} {"events": []}',
    ],
)
def test_bodies_of_webhooks_of_every_shape(program, body):
    refused(send(program, "POST", "studies/words/webhooks", body), 400, 422)
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    "given",
    [
        "Bearer",
        "Bearer ",
        "Bearer  x",
        "Bearer x y",
        "Bearer \udce9",
        "Bearer " + "x" * 60_000,
        "Bearer vsg_\x00",
        "Basic " + base64.b64encode(b"root:a-long-password").decode(),
        "token",
        "Token, Bearer x",
    ],
)
def test_what_is_no_token_lets_nobody_in(program, given):
    environ = {"HTTP_AUTHORIZATION": given}
    for method, path in (("GET", "account"), ("GET", "tokens"), ("DELETE", "account/token")):
        cache.clear()
        answer = Client().generic(method, f"/api/v1/{path}", **environ)
        refused(answer, 401)
    assert ApiToken.objects.get().revoked_at is None


def test_a_token_beside_somebody_else_s_session_is_the_token_s_account(program):
    """The session neither adds to what the token may, nor stands in for one that does not hold."""
    client = Client()
    client.force_login(factories.user("root2", admin=True))
    lead = Program(factories.user("lead"), "read")
    headers = {"Authorization": f"Bearer {lead.secret}"}
    assert client.get("/api/v1/account", headers=headers).json()["username"] == "lead"
    refused(client.get("/api/v1/audit-events", headers=headers), 404)
    refused(client.get("/api/v1/account", headers={"Authorization": "Bearer wrong"}), 401)
    assert client.delete("/api/v1/account/token", headers=headers).status_code == 204
    refused(client.get("/api/v1/account", headers=headers), 401)


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
def test_another_method_in_a_header_or_field_is_passed_over(program, method):
    number = program.made.token.pk
    send(program, method, "account", b"", **{"X-HTTP-Method-Override": "DELETE"})
    send(program, "GET", f"tokens?_method=DELETE&id={number}")
    program.made.token.refresh_from_db()
    assert program.made.token.revoked_at is None
