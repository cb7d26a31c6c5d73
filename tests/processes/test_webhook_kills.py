"""A worker that is killed while it sends: the message is sent again, under the same key."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from annotation.webhooks.services import deliveries
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.processes, pytest.mark.real_time]


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.headers["X-Visage-Delivery"], body))
        if len(self.server.got) == 1:
            self.server.reached.set()
            self.server.killed.wait(PATIENCE_SECONDS)  # the first sender gets no answer
            return
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def receiver():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    server.daemon_threads = True
    server.got, server.reached, server.killed = [], threading.Event(), threading.Event()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.killed.set()
    server.shutdown()
    server.server_close()
    thread.join()


def test_killed_while_it_sends_the_message_comes_again_under_the_same_key(installation, receiver):
    installation.env.update(WEBHOOK_ALLOW_HTTP="yes", WEBHOOK_ALLOWED_HOSTS="127.0.0.1")

    def act(*arguments: object):
        said = installation.run("-m", "tests.processes.messengers", *arguments)
        return json.loads(said) if said else None

    act("make", f"http://127.0.0.1:{receiver.server_port}/in")
    worker = installation.python("manage.py", "worker", "--queue", "default")
    try:
        assert receiver.reached.wait(PATIENCE_SECONDS), "the worker sent it"
    finally:
        worker.kill()
        worker.wait()
        receiver.killed.set()
    left = act("show")
    assert (left["state"], left["attempts"]) == ("claimed", 1), "the try was counted before it began"
    assert act("deliver", 0) == 0, "it is the killed worker's until the lease is over"
    assert act("deliver", deliveries.LEASE.total_seconds() + 1) == 1
    assert act("show") == {"state": "done", "attempts": 2, "key": left["key"]}
    first, second = receiver.got
    assert first == second
    assert first[0] == left["key"]
