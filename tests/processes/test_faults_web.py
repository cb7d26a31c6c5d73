"""Faults under annotators who work over HTTP (docs/operations.md): no answer is lost or doubled, every slot
is filled once, and all goes on by itself."""

from __future__ import annotations

import json
import os
import socketserver
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import redis

from tests.processes.annotators import AnnotatorPool
from tests.processes.conftest import Installation
from tests.processes.servers import Postgres, Redis, Web, broker, migrated_postgres, postgres
from tests.processes.test_generation_restarts import served
from tests.waiting import PATIENCE_SECONDS, wait_for

__all__ = ["broker", "migrated_postgres", "postgres", "served"]  # fixtures
pytestmark = [pytest.mark.processes, pytest.mark.real_time, pytest.mark.timeout(600)]
SERVED = pytest.mark.skipif(
    not os.environ.get("CELERY_BROKER_URL"),
    reason="NO BROKER: CELERY_BROKER_URL is not set, no server was restarted",
)
UNITS, PEOPLE = 40, 6
ALL = UNITS * 3


def annotator_sessions(installation: Installation) -> list[str]:
    """The study, and the sessions of those who are to work in it."""
    installation.env["DJANGO_SETTINGS_MODULE"] = "visage_app.settings"
    enrolments = installation.act("set_up", UNITS, PEOPLE, "any|any|any")
    return installation.act("log_in_annotators", json.dumps(enrolments))


@pytest.fixture
def web() -> Iterator[Callable[..., Web]]:
    """Starts web servers, which end with the test."""
    running: list[Web] = []

    def start(installation: Installation, **options) -> Web:
        running.append(Web(installation.env, **options))
        return running[-1]

    yield start
    for server in running:
        server.kill()


def readiness(server: Web) -> tuple[int, dict[str, str]]:
    status, body = server.asked("/readyz")
    return status, json.loads(body)["checks"] if body.startswith(b"{") else {}


@SERVED
def test_postgresql_that_crashes_under_annotators_costs_no_answer(served, postgres: Postgres, web):
    sessions = annotator_sessions(served)
    server = web(served)
    assert readiness(server)[0] == 200
    pool = AnnotatorPool(sessions, server.port)
    for answered in (10, 50):
        pool.wait_for_answers(answered)
        postgres.crash()
        status, checks = readiness(server)
        assert (status, checks["database"]) == (503, "failed")
        assert server.asked("/healthz")[0] == 200, "a process that waits for its database is alive"
        failed = pool.failures().total()
        wait_for(lambda before=failed: pool.failures().total() > before, "no request failed")
        postgres.start()
        wait_for(lambda: readiness(server)[0] == 200, "it is not ready again")
    pool.wait_until_done()
    assert pool.acknowledged() >= ALL
    pool.check_kept(served.act("count"))


@SERVED
def test_a_broker_that_is_emptied_and_killed_stops_no_annotator_and_no_score(served, broker: Redis, web):
    """Scores that are asked for meanwhile are computed once it is back, without hands."""
    sessions = annotator_sessions(served)
    lead = served.act("admit")
    server = web(served)
    pool = AnnotatorPool(sessions, server.port)
    pool.wait_for_answers(10)
    redis.Redis.from_url(broker.url).flushall()
    broker.kill()
    status, checks = readiness(server)
    assert (status, checks["broker"], checks["database"]) == (503, "failed", "ok")
    asked = "/studies/load/scores/fresh/?of=visual_nature:corrected"
    assert server.asked(asked, lead)[0] == 200
    pool.wait_until_done()
    assert pool.failures().total() == 0, "answers need no broker"
    pool.check_kept(served.act("count"))
    broker.start()
    wait_for(lambda: readiness(server)[0] == 200, "it is not ready again")
    commands = (
        ["-m", "celery", "-A", "visage_app", "worker", "-P", "solo", "--without-mingle", "-l", "WARNING"],
        ["manage.py", "worker", "--queue", "default"],
    )
    running = [served.python(*each) for each in commands]
    try:
        wait_for(lambda: set(served.act("scores")) == {"done"}, "nobody computed the scores")
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_a_web_server_that_is_killed_again_and_again_costs_no_answer(installation: Installation, web):
    sessions = annotator_sessions(installation)
    server = web(installation)
    pool = AnnotatorPool(sessions, server.port)
    for answered in (10, 40, 70):
        pool.wait_for_answers(answered)
        server.kill()
        server.start()
    pool.wait_until_done()
    assert pool.failures()["answers 0"] > 0, "nobody was answering: nothing was tested"
    pool.check_kept(installation.act("count"))


def test_clocks_that_jump_and_servers_that_disagree_about_the_time_cost_no_answer(
    installation: Installation, web, tmp_path
):
    """Two web servers, the clock of one of which jumps an hour ahead, then two back: to it all leases have
    run out, then none ever will."""
    sessions = annotator_sessions(installation)
    skew = tmp_path / "skew"
    skew.write_text("0")
    right = web(installation, workers=1)
    installation.env["CLOCK_SKEW"] = str(skew)
    wrong = web(installation, wsgi="tests.processes.skewed", workers=1)
    for server in (right, wrong):
        # each imports the program only now, which no annotator is to wait for
        wait_for(lambda one=server: one.asked("/healthz")[0] == 200, "it does not answer")
    pool = AnnotatorPool(sessions, right.port, wrong.port)
    for answered, seconds in ((10, 3660), (40, -3660), (70, 7300)):
        pool.wait_for_answers(answered)
        skew.with_suffix(".new").write_text(str(seconds))
        skew.with_suffix(".new").replace(skew)
        installation.act("expire")
    pool.wait_until_done()
    assert pool.failures() == Counter(), "somebody was sent away"
    times = installation.act("times")
    assert max(times) > 3600, "nobody's answer bears a wrong time: nothing was tested"
    pool.check_kept(installation.act("count"))


class _Proxy(BaseHTTPRequestHandler):
    """Hands requests on; to every third answer it says 504, before or after the server took it."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        names = ("Cookie", "X-CSRFToken", "Content-Type")
        headers = {name: self.headers[name] for name in names}
        address = f"http://127.0.0.1:{self.server.behind}{self.path}"
        request = urllib.request.Request(address, data=body, headers=headers)
        self.server.number += 1
        impatient = self.server.number % 3 if self.path.endswith("/answers/") else 1
        if impatient == 0 and self.server.number % 2:
            self._say(504, b"<h1>Gateway Timeout</h1>", "text/html")
            self._behind(request)
            return
        status, said = self._behind(request)
        if impatient == 0:
            status, said = 504, b"<h1>Gateway Timeout</h1>"
        self._say(status, said, "text/html" if status == 504 else "application/json")

    def _behind(self, request: urllib.request.Request) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def _say(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *args) -> None:
        pass


@pytest.fixture
def proxy() -> Iterator[socketserver.BaseServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Proxy)
    server.daemon_threads = True
    server.number = 0
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_answer_that_was_taken_although_the_proxy_says_504_is_there_once(installation, web, proxy):
    """The page sends it again: after the server took it, and while it is still at it."""
    sessions = annotator_sessions(installation)
    proxy.behind = web(installation).port
    pool = AnnotatorPool(sessions, proxy.server_port)
    pool.wait_until_done()
    assert pool.failures()["answers 504"] > ALL / 4
    pool.check_kept(installation.act("count"))
    outcomes = Counter(said for person in pool.people for said in person.acknowledged.values())
    assert outcomes["repeat"] > ALL / 8, "no answer was sent twice"
