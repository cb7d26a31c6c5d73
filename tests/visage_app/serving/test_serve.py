"""`manage.py serve`: refuses with a helpful message, serves with its workers, and stops them."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from annotation.demo import accounts
from tests.processes.conftest import copy_file, embedded, migrated_file
from tests.waiting import PATIENCE_SECONDS, wait_for
from visage_app.management.commands import serve
from visage_app.serving.supervisor import CannotServe, Supervisor, check_free, parse_bind

__all__ = ["migrated_file"]  # a fixture
ROOT = django_settings.BASE_DIR


@pytest.fixture
def taken_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize(
    ("bind", "expected"),
    [
        ("127.0.0.1:8000", ("127.0.0.1", 8000)),
        ("[::1]:81", ("::1", 81)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(bind, expected):
    assert parse_bind(bind) == expected


@pytest.mark.parametrize(
    "bind", ["8000", "127.0.0.1", "127.0.0.1:", ":8000", "a:b", "127.0.0.1:65536", "h:0"]
)
def test_anything_else_is_refused_with_an_example(bind):
    with pytest.raises(CannotServe, match=r"--bind 127\.0\.0\.1:8000"):
        parse_bind(bind)


@pytest.mark.processes
def test_a_web_server_has_everything_loaded_before_its_first_request(tmp_path):
    asked = (
        "import gc, json, sys, visage_app.wsgi; "
        "print(json.dumps([gc.isenabled(), gc.get_freeze_count() > 100_000, 'metrics.urls' in sys.modules]))"
    )
    command = [sys.executable, "-W", "ignore", "-c", asked]
    done = subprocess.run(
        command, cwd=ROOT, env=embedded(tmp_path), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [True, True, True]


def test_a_taken_port_is_named_with_another_to_try(taken_port):
    with pytest.raises(CannotServe, match=rf"Port {taken_port} .* is in use .*:{taken_port + 1}"):
        check_free("127.0.0.1", taken_port)


def test_a_free_port_is_fine():
    check_free("127.0.0.1", free_port())


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(CannotServe, match="cannot listen at 192"):
        check_free("192.0.2.1", 8000)


@pytest.mark.django_db
def test_a_taken_port_ends_the_command_with_an_error(taken_port, settings):
    settings.STATIC_MANIFEST = False
    with pytest.raises(CommandError, match="is in use by another program"):
        call_command("serve", "--bind", f"127.0.0.1:{taken_port}")


@pytest.mark.django_db
def test_missing_migrations_are_counted_and_the_cure_named(monkeypatch):
    serve.check_migrated()
    monkeypatch.setattr(serve, "unapplied_migrations", lambda: ("annotation 0002",))
    with pytest.raises(
        CannotServe, match=r"1 migrations are not applied .*annotation 0002.*manage\.py migrate"
    ):
        serve.check_migrated()


def test_static_files_that_were_not_collected_are_refused(settings):
    settings.STATIC_MANIFEST = True
    with pytest.raises(CannotServe, match="collectstatic"):
        serve.check_static_files()


@pytest.mark.django_db
def test_a_real_server_with_public_passwords_is_refused(settings):
    accounts.make_accounts()
    serve.check_demo_is_not_exposed()
    settings.HTTPS = True
    with pytest.raises(CannotServe, match="changepassword annotator"):
        serve.check_demo_is_not_exposed()
    User.objects.all().delete()
    serve.check_demo_is_not_exposed()


@pytest.mark.processes
def test_a_web_server_that_dies_is_an_error(monkeypatch):
    supervisor = Supervisor(bind=f"127.0.0.1:{free_port()}", workers=1, threads=1)
    monkeypatch.setattr(supervisor, "_server_command", [sys.executable, "-c", "raise SystemExit(7)"])
    with pytest.raises(CannotServe, match="by itself with status 7"):
        supervisor.run(ready=lambda: pytest.fail("it never answered"))


def check_soon_free(port):
    """The server's own children have gone too, and with them the port."""
    wait_for(lambda: is_free(port), "the port is still taken")


def is_free(port):
    try:
        check_free("127.0.0.1", port)
    except CannotServe:
        return False
    return True


class Served:
    """`manage.py serve` in a process of its own, with a fresh database; lines as they come."""

    def __init__(self, folder):
        self.port = free_port()
        # the embedded way: with a broker the workers of queue gpu are started apart
        self.environment = {**embedded(folder), "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "default"}
        self.process = subprocess.Popen(
            [
                sys.executable,
                str(ROOT / "manage.py"),
                "serve",
                "--bind",
                f"127.0.0.1:{self.port}",
                "--workers",
                "1",
            ],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.said = ""

    def wait_for(self, text):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.said:
            assert time.monotonic() < deadline, f"{text!r} was not said:\n{self.said}"
            if select.select([self.process.stdout], [], [], 0.2)[0]:
                self.said += os.read(self.process.stdout.fileno(), 65536).decode()

    def children(self):
        """{process id: command line} of the processes that it started."""
        found = {}
        listing = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(self.process.pid)], capture_output=True, text=True
        )
        for pid, command in re.findall(r"^\s*(\d+)\s+(.*)$", listing.stdout, re.M):
            found[int(pid)] = command
        return found

    def child(self, word, *, other_than=0):
        def found():
            return [pid for pid, said in self.children().items() if word in said and pid != other_than]

        return wait_for(found, f"no child with {word!r}")[0]


@pytest.fixture
def served(tmp_path, migrated_file):
    copy_file(migrated_file, tmp_path)
    running = Served(tmp_path)
    yield running
    if running.process.poll() is None:
        running.process.terminate()
        running.process.wait(timeout=PATIENCE_SECONDS)
    running.process.stdout.close()


def check_ends_with_its_children(served, number):
    children = [served.child(word) for word in ("gunicorn", "--queue default", "--queue gpu")]
    served.process.send_signal(number)
    served.wait_for("Stopped.")
    assert served.process.wait(timeout=PATIENCE_SECONDS) == 0
    for pid in children:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.processes
def test_it_answers_at_the_address_it_prints_and_ends_with_its_children(served):
    served.wait_for(f"Serving at http://127.0.0.1:{served.port}/")
    with urllib.request.urlopen(f"http://127.0.0.1:{served.port}/readyz") as answer:
        assert answer.status == 200
    check_ends_with_its_children(served, signal.SIGTERM)


@pytest.mark.processes
def test_a_worker_that_dies_is_started_again_and_ends_with_the_others(served):
    served.wait_for("Serving at")
    other, first = served.child("--queue default"), served.child("--queue gpu")
    os.kill(first, signal.SIGKILL)
    assert served.child("--queue gpu", other_than=first) != first
    served.wait_for("The worker of queue gpu ended with status -9")
    assert served.child("--queue default") == other
    check_ends_with_its_children(served, signal.SIGINT)


@pytest.mark.processes
def test_when_the_web_server_is_killed_the_command_fails_and_leaves_nothing_running(served):
    served.wait_for("Serving at")
    workers = [served.child("--queue default"), served.child("--queue gpu")]
    server = served.child("gunicorn")
    os.kill(server, signal.SIGKILL)
    served.wait_for("ended by itself with status -9")
    assert served.process.wait(timeout=PATIENCE_SECONDS) != 0
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)
    check_soon_free(served.port)
