"""Calling an address that somebody else chose: nothing inside is reached (webhooks/safe_requests.py)."""

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from annotation.webhooks import safe_requests
from annotation.webhooks.safe_requests import AddressRefused, NotDelivered, Rules
from tests.waiting import PATIENCE_SECONDS

LAB = Rules(allow_http=True, hosts=frozenset({"127.0.0.1", "receiver.lab"}))


def apart(coroutine):
    """Run it in a thread of its own: a browser of other tests may keep a loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def resolving(*addresses: str):
    return lambda host, port: list(addresses)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.org/", "must begin with https://"),
        ("ftp://example.org/", "begin with https://"),
        ("file:///etc/passwd", "begin with https://"),
        ("gopher://example.org/", "begin with https://"),
        ("//example.org/", "begin with https://"),
        ("https://", "begin with https://"),
        ("example.org", "begin with https://"),
        ("https://me:secret@example.org/", "user name or a password"),
        ("https://me@example.org/", "user name or a password"),
        ("https://:@example.org/", "user name or a password"),
        ("https://example.org:22/", "Port 22 is not allowed. Use one of 443, 8443, or"),
        ("https://example.org:80/", "Port 80 is not allowed"),
        ("https://example.org:0/", "Port 0 is not allowed"),
        ("https://example.org:99999/", "not a URL"),
        ("https://example.org:x/", "not a URL"),
        ("https://[::1/", "not a URL"),
        ("https://example.org/#part", "after #"),
        ("https://example.org/a b", "contains spaces"),
        (" https://example.org/", "contains spaces"),
        ("https://example.org/\u00a0", "contains spaces"),
        ("https://example.org/\r\nX-Injected: yes", "contains spaces"),
        ("https://example.org\\@127.0.0.1/", "contains spaces"),
        ("https://example.org/\x00", "contains spaces"),
        ("https://example.org/\x7f", "contains spaces"),
        ("https://localhost/", "'localhost' is not on the public internet"),
        ("https://LOCALHOST.:8443/", "'localhost' is not on the public internet"),
        ("https://hooks.localhost/", "not on the public internet"),
        ("https://127.0.0.1/", "'127.0.0.1' is not on the public internet"),
        ("https://10.0.0.7/", "have the host added to WEBHOOK_ALLOWED_HOSTS"),
        ("https://[::1]/", "not on the public internet"),
        ("https://[::ffff:169.254.169.254]/", "not on the public internet"),
    ],
)
def test_what_is_no_address_to_be_called_is_refused(url, words):
    with pytest.raises(AddressRefused, match=words):
        safe_requests.parse_url(url, Rules())


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("https://example.org", 443),
        ("https://example.org/!", 443),
        ("https://example.org.:443/localhost", 443),
        ("https://example.org:8443/hook?key=1", 8443),
    ],
)
def test_a_public_address_over_https_is_taken(url, port):
    assert safe_requests.parse_url(url, Rules()) == ("example.org", port)


def test_a_laboratory_may_use_http_and_its_own_hosts_any_port():
    assert safe_requests.parse_url("http://example.org:8080/", LAB).port == 8080
    assert safe_requests.parse_url("http://example.org/", LAB).port == 80
    assert safe_requests.parse_url("https://example.org/", LAB).port == 443
    assert safe_requests.parse_url("https://127.0.0.1:9000/", LAB).host == "127.0.0.1"
    assert safe_requests.parse_url("https://8.8.8.8/", LAB).host == "8.8.8.8"
    assert safe_requests.parse_url("http://Receiver.lab.:9000/", LAB).host == "receiver.lab"
    with pytest.raises(AddressRefused, match="Port 9000"):
        safe_requests.parse_url("http://elsewhere.lab:9000/", LAB)


INSIDE = [
    *("127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "::", "10.0.0.1", "172.16.5.4", "192.168.1.1"),
    *("169.254.169.254", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fc00::1", "100.64.0.1"),
    *("100.100.100.200", "192.0.0.192", "168.63.129.16", "192.88.99.1", "198.18.0.1", "203.0.113.9"),
    *("224.0.0.1", "239.1.1.1", "ff02::1", "ff0e::1", "240.0.0.1", "255.255.255.255", "2001:db8::1"),
    # once site-local, and set aside for examples: Python counts both as public
    *("fec0::1", "feff:ffff::1", "3fff::1", "3fff:fff:ffff::1"),
    # an IPv4 address in the clothes of an IPv6 one
    *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
    *("2002:7f00:1::", "2002:a00:1::1", "2001:0:4136:e378:8000:63bf:80ff:fffe"),
    # translated by a network of one's own, and translated without an address of its own (RFC 8215, 2765)
    *("64:ff9b:1::a00:1", "64:ff9b:1::808:808", "::ffff:0:10.0.0.1"),
    *("nonsense", "", "127.1"),
]


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_inside_is_not_public_and_a_name_that_leads_there_is_not_called(address):
    assert not safe_requests.is_public(address)
    target = safe_requests.parse_url("https://hooks.example.org/", Rules())
    with pytest.raises(AddressRefused, match="not on the public internet") as refused:
        safe_requests.resolve_public_address(target, Rules(), resolving(address))
    assert not address or address not in str(refused.value), "the answer must not be a look inside"


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_a_public_address_is_public_in_whatever_clothes(address):
    assert safe_requests.is_public(address)


def test_one_address_inside_among_public_ones_is_enough_to_refuse():
    target = safe_requests.parse_url("https://hooks.example.org/", Rules())
    with pytest.raises(AddressRefused):
        safe_requests.resolve_public_address(target, Rules(), resolving("8.8.8.8", "10.0.0.1"))
    with pytest.raises(AddressRefused):
        safe_requests.resolve_public_address(target, Rules(), resolving("10.0.0.1", "8.8.8.8"))


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "017700000001", "127.1", "localhost", "0"])
def test_numbers_that_the_system_reads_as_loopback_are_refused_by_what_they_resolve_to(host):
    with pytest.raises((AddressRefused, NotDelivered)):
        safe_requests.resolve_public_address(safe_requests.parse_url(f"https://{host}/", Rules()), Rules())


def test_a_name_without_an_address_is_not_delivered_to():
    with pytest.raises(NotDelivered, match="no address"):
        safe_requests.resolve_public_address(
            safe_requests.parse_url("https://example.org/", Rules()), Rules(), resolving()
        )
    with pytest.raises(NotDelivered, match="cannot be resolved"):
        safe_requests.resolve("no-such-host.invalid", 443)


@pytest.mark.parametrize(
    ("address", "connected"), [("8.8.8.8", "8.8.8.8"), ("2606:4700::1111", "2606:4700::1111")]
)
def test_the_connection_goes_to_the_checked_address_under_the_name_that_was_asked_for(
    address, connected, monkeypatch
):
    asked, requests = [], []

    def rebinding(host, port):
        """Public at the first look, inside at the second."""
        asked.append(host)
        return [address] if len(asked) == 1 else ["127.0.0.1"]

    async def take_down(transport, request):
        """What would go over the wire."""
        requests.append(request)
        return httpx.Response(204)

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", take_down)
    url = "https://hooks.example.org:8443/a?b=1"
    assert safe_requests.post(url, body=b"{}", headers={}, rules=Rules(), resolve=rebinding) == 204
    (sent,) = requests
    assert asked == ["hooks.example.org"], "it was resolved once, and that answer was used"
    assert sent.url.host == connected
    assert sent.headers["Host"] == "hooks.example.org:8443"
    assert sent.extensions["sni_hostname"] == "hooks.example.org"
    assert sent.url.raw_path == b"/a?b=1"


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.got.append(
            (self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"])))
        )
        if self.path == "/silent":
            self.server.release.wait(PATIENCE_SECONDS)
            return
        if self.path == "/drip":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not self.server.release.wait(0.05):
                try:
                    self.wfile.write(b"X-More: yes\r\n")
                except OSError:
                    return
            return
        self.send_response(int(self.path.strip("/") or 200))
        if self.path == "/302":
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/200")
        self.end_headers()
        if self.path == "/201":
            while not self.server.release.is_set():  # an answer without an end
                try:
                    self.wfile.write(b"x" * 65536)
                except OSError:
                    return

    def log_message(self, *args):
        pass


@pytest.fixture
def receiver():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    server.daemon_threads = True
    server.got, server.release = [], threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    server.server_close()
    thread.join()


def call(receiver, path, *, seconds=PATIENCE_SECONDS, rules=LAB):
    url = f"http://127.0.0.1:{receiver.server_port}{path}"
    return safe_requests.post(url, body=b'{"a":1}', headers={"X-A": "b"}, rules=rules, seconds=seconds)


def test_a_message_arrives_with_its_headers_and_its_body(receiver):
    assert call(receiver, "/200") == 200
    ((path, headers, body),) = receiver.got
    assert (path, headers["X-A"], body) == ("/200", "b", b'{"a":1}')
    assert headers["Host"] == f"127.0.0.1:{receiver.server_port}"


def test_no_redirect_is_followed(receiver):
    assert call(receiver, "/302") == 302
    assert [path for path, _, _ in receiver.got] == ["/302"]


def test_nothing_of_the_answer_is_read_but_its_status(receiver):
    assert call(receiver, "/201") == 201


@pytest.mark.parametrize("path", ["/silent", "/drip"])
def test_a_receiver_that_holds_its_answer_back_is_left_in_the_end(receiver, path):
    with pytest.raises(NotDelivered, match="no response within"):
        call(receiver, path, seconds=0.5)


def test_the_time_limit_also_ends_a_name_look_up_that_hangs():
    stuck = threading.Event()

    def resolve(host, port):
        stuck.wait(PATIENCE_SECONDS)
        return ["8.8.8.8"]

    with pytest.raises(NotDelivered, match="no response within"):
        safe_requests.post(
            "https://example.org/", body=b"", headers={}, rules=Rules(), resolve=resolve, seconds=0.2
        )
    stuck.set()


def test_nobody_there_is_not_delivered():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(NotDelivered):
            safe_requests.post(f"http://127.0.0.1:{held.getsockname()[1]}/", body=b"", headers={}, rules=LAB)


def test_without_a_word_from_the_installation_nothing_here_is_called(receiver):
    with pytest.raises(AddressRefused):
        call(receiver, "/200", rules=Rules())
    with pytest.raises(AddressRefused):
        call(receiver, "/200", rules=Rules(allow_http=True))
    assert receiver.got == []


def test_a_proxy_of_the_environment_is_not_used(receiver, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert call(receiver, "/200") == 200


def test_whoever_sends_may_have_a_loop_of_their_own(receiver):
    async def within_a_loop() -> int:
        return call(receiver, "/200")

    assert apart(within_a_loop()) == 200
