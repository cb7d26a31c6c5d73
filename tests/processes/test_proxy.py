"""The proxy as it is set up, with a server behind it: what it logs, and what it lets through."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from annotation.setup import services as setup_services
from tests.processes.conftest import Installation
from tests.processes.proxies import Caddy
from tests.processes.servers import Web, free_port
from tests.waiting import PATIENCE_SECONDS, wait_for

pytestmark = pytest.mark.processes
SECRETS = ("/join/secret-code/?PROLIFIC_PID=abc", "/accounts/reset/UID/TOKEN/")
WHO = "127.0.0.7"
"""An address that only the client has."""
MB = 1_000_000


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Callable[..., Caddy]]:
    """Starts proxies, which end with the test."""
    running: list[Caddy] = []

    def start(**options: int) -> Caddy:
        running.append(Caddy(tmp_path, **options))
        return running[-1]

    yield start
    for proxy in running:
        proxy.stop()


class Faulty(BaseHTTPRequestHandler):
    """Well when it is asked whether it is, and never at the end of an answer."""

    def do_GET(self) -> None:
        well = self.path == "/healthz"
        self.send_response(200)
        self.send_header("Content-Length", "0" if well else str(50 * MB))
        self.end_headers()
        while not well:
            self.wfile.write(b"x" * 100_000)

    def log_message(self, *_: object) -> None:
        pass


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        pass


def client(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS, source_address=(WHO, 0))


def get(port: int, path: str) -> bytes:
    """The first bytes of the answer; the connection is broken then, as by a browser that is closed.

    The beginning of a second request comes with the first. Without it the proxy waits for one, and as often
    as not learns there that the client has gone before it learns so by what it writes. With it, seldom.
    """
    with client(port) as asked:
        asked.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nReferer: http://a/secret-code\r\n\r\nGET".encode()
        )
        answer = asked.recv(1000)
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return answer


def test_no_error_of_the_proxy_tells_of_whom_or_of_what_it_came(proxied):
    proxy = proxied(upstream=free_port())
    for path in SECRETS:
        assert get(proxy.port, path).split()[1] in (b"502", b"503")
    wait_for(lambda: proxy.log().count('"logger":"http.log.error"') == 2, "fewer than two errors in the log")
    check_silent(proxy)


def test_nor_does_that_of_an_answer_that_was_broken_off(proxied):
    with Quiet(("127.0.0.1", 0), Faulty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxy = proxied(upstream=server.server_address[1])
        # As a rule it finds that it cannot write, and tells to whom; now and then, that the client has gone.
        broken_off = 0
        while "write tcp 127.0.0.1" not in proxy.log() and broken_off < 40:
            for path in SECRETS:
                assert get(proxy.port, path).split()[1] == b"200"
            broken_off += len(SECRETS)
            wait_for(
                lambda most=broken_off: proxy.log().count("incomplete response") == most,
                "fewer in the log than were broken off",
            )
        server.shutdown()
    assert "write tcp 127.0.0.1" in proxy.log(), "why is not told any more"
    check_silent(proxy)


def check_silent(proxy: Caddy) -> None:
    for secret in ("secret-code", "PROLIFIC", "TOKEN", "UID", WHO, '"uri"', '"headers"', '"remote_ip"'):
        assert secret not in proxy.log()


@pytest.fixture
def web(installation: Installation) -> Iterator[Web]:
    """A web server that takes ZIPs of a megabyte."""
    installation.env |= {"DJANGO_SETTINGS_MODULE": "visage_app.settings", "UPLOAD_MAX_MB": "1"}
    server = Web(installation.env, workers=1)
    yield server
    server.kill()


@pytest.mark.parametrize(
    ("page", "most"), [("/generation/upload/", MB), ("/setup/", setup_services.LARGEST_BYTES)]
)
def test_the_program_itself_answers_a_file_that_is_as_large_as_may_be_and_a_larger_one(
    page, most, installation: Installation, web: Web, proxied
):
    session = installation.act("admit")
    proxy = proxied(upstream=web.port, upload_max_mb=1)
    status, said = send(proxy.port, page, session, size=most)
    assert (status, "too large" in said) == (422, False), "the form again: a file of x is of neither kind"
    # It answers before it reads. A proxy that is still sending may miss that and say 502, now and then.
    heard = (send(proxy.port, page, session, size=most + 3 * MB) for _ in range(10))
    said = next((said for status, said in heard if status == 413), "")
    assert f"at most {most // MB + 2} MB" in said


def send(port: int, path: str, session: str, *, size: int) -> tuple[int, str]:
    """Status and text of what is answered to a form with a file of so many bytes."""
    token, part = "t" * 32, "the-parts-of-this-form"
    named = f'--{part}\r\nContent-Disposition: form-data; name="file"; filename="p.zip"\r\n\r\n'
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    headers = {
        "Cookie": f"sessionid={session}; csrftoken={token}",
        "X-CSRFToken": token,
        "Content-Type": f"multipart/form-data; boundary={part}",
    }
    try:
        body = named.encode() + b"x" * size + f"\r\n--{part}--\r\n".encode()
        # an answer that comes before all was sent is read all the same, as browsers do
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
