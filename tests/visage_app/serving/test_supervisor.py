"""The supervisor by itself, with children and a clock that are no real ones (test_serve.py has real ones)."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess

import pytest

from visage_app.serving import supervisor
from visage_app.serving.supervisor import CannotServe, Supervisor


class Child:
    """A process that ends when it is told to."""

    pid = 7

    def __init__(self, *, stubborn: bool = False) -> None:
        self.returncode: int | None = None
        self.told: list[str] = []
        self._stubborn = stubborn

    def poll(self) -> int | None:
        return self.returncode

    def terminate(self) -> None:
        self.told.append("terminate")
        self.returncode = None if self._stubborn else -15

    def kill(self) -> None:
        self.told.append("kill")
        self.returncode = -9

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            raise subprocess.TimeoutExpired("child", timeout or 0)
        self.told.append("waited")
        return self.returncode


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(supervisor, "time", clock)
    return clock


@pytest.fixture
def started(monkeypatch):
    """(command, child) of whatever is started."""
    found: list[tuple[list[str], Child]] = []

    def start(command):
        found.append((command, Child()))
        return found[-1][1]

    monkeypatch.setattr(supervisor, "_start", start)
    return found


def test_a_worker_that_dies_early_again_and_again_rests_longer_and_longer(clock, started):
    worker = supervisor._Worker("gpu")
    rests = []
    for _ in range(8):
        worker.keep_running()
        worker.keep_running()
        started[-1][1].returncode = 1
        began, count = clock.now, len(started)
        while len(started) == count:
            worker.keep_running()
            clock.now += 0.5
        rests.append(clock.now - 0.5 - began)
    assert rests == [2, 4, 8, 16, 32, 60, 60, 60]
    clock.now += 60.5  # so long a life is no early death
    started[-1][1].returncode = 1
    worker.keep_running()
    clock.now += 1
    worker.keep_running()
    assert len(started) == 10
    assert started[-1][0][-3:] == ["--queue", "gpu", "--skip-checks"]


@pytest.mark.parametrize(("broker", "queues"), [("", ["default", "gpu"]), ("redis://x/0", ["default"])])
def test_with_a_broker_the_models_run_elsewhere(settings, broker, queues):
    settings.CELERY_BROKER_URL = broker
    made = Supervisor(bind="127.0.0.1:8000", workers=3, threads=5)
    assert [each._queue for each in made._workers] == queues
    command = " ".join(made._server_command)
    assert "--bind 127.0.0.1:8000 --workers 3 --threads 5" in command


def test_a_server_that_does_not_answer_is_given_up_and_ended(clock, started, monkeypatch):
    def refuse(address, timeout):
        assert address == ("::1", 8000), "it listens at every address, and is asked at one"
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(CannotServe, match="did not answer within 60 s"):
        Supervisor(bind="[::]:8000", workers=1, threads=1).run(ready=lambda: pytest.fail("it is not"))
    assert 1060 < clock.now < 1062
    [(_, server)] = started
    assert server.told == ["terminate", "waited"]
    assert signal.getsignal(signal.SIGTERM) is before


def test_who_is_stopped_before_the_server_answers_is_not_said_to_be_ready(clock, started, monkeypatch):
    made = Supervisor(bind="0.0.0.0:8000", workers=1, threads=1)

    def stop(address, timeout):
        assert address == ("127.0.0.1", 8000)
        made._stop(signal.SIGTERM, None)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", stop)
    made.run(ready=lambda: pytest.fail("it is not"))
    assert [child.told for _, child in started] == [["terminate", "waited"]]


def test_a_child_that_does_not_end_is_killed(clock):
    kind, stubborn = Child(), Child(stubborn=True)
    supervisor._end([stubborn, kind])
    assert kind.told == ["terminate", "waited"]
    assert stubborn.told == ["terminate", "kill", "waited"]


def test_children_find_this_program_and_what_was_on_the_path(settings, monkeypatch):
    given = {}

    def popen(command, *, env, process_group):
        given.update(env, group=process_group)

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    supervisor._start(["x"])
    assert given["PYTHONPATH"] == f"{settings.BASE_DIR}{os.pathsep}/elsewhere"
    assert given["DJANGO_SETTINGS_MODULE"] == "visage_app.settings"
    assert given["group"] == 0, "Ctrl+C reaches the supervisor alone, which ends them in order"
    monkeypatch.setenv("PYTHONPATH", "")
    supervisor._start(["x"])
    assert given["PYTHONPATH"] == str(settings.BASE_DIR), "an empty entry would be the current folder"


def test_a_port_that_only_root_may_use_is_said(monkeypatch):
    class Refusing(socket.socket):
        def bind(self, address):
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(supervisor.socket, "socket", Refusing)
    with pytest.raises(CannotServe, match=r"may not use port 80\..* from 1024"):
        supervisor.check_free("127.0.0.1", 80)
