"""The web server and the embedded workers, one a queue, as child processes of one command (DESIGN §9)."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from types import FrameType

from django.conf import settings

log = logging.getLogger(__name__)
_TICK = 0.2
_GRACE = 30.0
_PATIENCE = 60.0
_LONGEST_PAUSE = 60.0


class CannotServe(Exception):
    """Why the server cannot run, and what to do about it."""


def parse_bind(bind: str) -> tuple[str, int]:
    """'127.0.0.1:8000' or '[::1]:8000' as host and port; raises CannotServe for anything else."""
    host, colon, port = bind.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise CannotServe(f"--bind {bind} is not HOST:PORT. Write for example --bind 127.0.0.1:8000")
    return host, int(port)


def check_free(host: str, port: int) -> None:
    """Raises CannotServe if nobody could listen there: two servers on one port would look like one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # Like gunicorn itself: a port that a finished server just left is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = f"Port {port} of {host} is taken by another program."
            cure = f"End that program, or choose another port: manage.py serve --bind {host}:{port + 1}"
        elif error.errno == errno.EACCES:
            reason = f"Port {port} needs more rights than this account has."
            cure = f"Choose a port from 1024: manage.py serve --bind {host}:8000"
        else:
            reason = f"This machine cannot listen at {host} ({error.strerror or error})."
            cure = "Choose one of its own addresses: manage.py serve --bind 127.0.0.1:8000"
        raise CannotServe(f"{reason} {cure}") from error


class Supervisor:
    """Starts the children, restarts a worker that dies, and stops all of them on SIGTERM or SIGINT."""

    def __init__(self, *, bind: str, workers: int, threads: int) -> None:
        self._host, self._port = parse_bind(bind)
        self._server_command = [
            *(sys.executable, "-m", "gunicorn", "visage_app.wsgi:application"),
            *("--config", "python:visage_app.serving.gunicorn_hooks"),
            *("--bind", bind, "--workers", str(workers)),
            *("--threads", str(threads)),
            *("--graceful-timeout", "20", "--no-control-socket"),
        ]
        # With a broker, what needs a model is done by Celery's workers, on machines that have the memory.
        queues = ("default",) if settings.CELERY_BROKER_URL else ("default", "gpu")
        self._workers = [_Worker(queue) for queue in queues]
        self._stopping = False

    def run(self, *, ready: Callable[[], None]) -> None:
        """Serve until told to stop; `ready` is called once the server answers.

        Raises CannotServe if the web server ends without having been told to.
        """
        previous = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        children: list[subprocess.Popen[bytes]] = []
        try:
            server = _start(self._server_command)
            children.append(server)
            self._await_answer(server)
            if not self._stopping:
                ready()
            self._watch(server)
        finally:
            _end([*children, *(each.process for each in self._workers if each.process is not None)])
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _await_answer(self, server: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _PATIENCE
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)  # noqa: S104
        while not self._stopping:
            _refuse_if_ended(server)
            with contextlib.suppress(OSError), socket.create_connection((host, self._port), timeout=1):
                return
            if time.monotonic() > deadline:
                raise CannotServe(
                    f"The web server did not answer within {_PATIENCE:.0f} s. "
                    "Its messages stand above; LOG_LEVEL=INFO shows more."
                )
            time.sleep(_TICK)

    def _watch(self, server: subprocess.Popen[bytes]) -> None:
        while not self._stopping:
            _refuse_if_ended(server)
            for worker in self._workers:
                worker.keep_running()
            time.sleep(_TICK)


class _Worker:
    """The embedded worker of one queue, started again whenever it ended."""

    def __init__(self, queue: str) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._queue = queue
        self._started, self._pause = 0.0, 1.0

    def keep_running(self) -> None:
        now = time.monotonic()
        if self.process is not None and self.process.poll() is not None:
            # One that dies young again and again is started less and less often.
            lived = now - self._started
            self._pause = 1.0 if lived > _LONGEST_PAUSE else min(self._pause * 2, _LONGEST_PAUSE)
            log.error(
                "The worker of queue %s ended with status %s; starting another in %.0f s.",
                *(self._queue, self.process.returncode, self._pause),
            )
            self.process, self._started = None, now + self._pause
        if self.process is None and now >= self._started:
            # checked is what started it; to do so again loads all pages, 40 MB and as long as all the rest
            how = ("--queue", self._queue, "--skip-checks")
            self.process = _start([sys.executable, "-m", "django", "worker", *how])
            self._started = now


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a child in a process group of its own: Ctrl+C reaches us alone, and we tell the children."""
    path = os.pathsep.join(filter(None, [str(settings.BASE_DIR), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "DJANGO_SETTINGS_MODULE": "visage_app.settings"}
    return subprocess.Popen(command, env=environment, process_group=0)  # noqa: S603 - our own command


def _refuse_if_ended(server: subprocess.Popen[bytes]) -> None:
    status = server.poll()
    if status is not None:
        raise CannotServe(f"The web server ended by itself with status {status}. Its messages stand above.")


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    """Ask every child to end, and end those that have not within the grace time."""
    # gunicorn's own children end by themselves within a second once their parent is gone.
    for child in children:
        child.terminate()
    deadline = time.monotonic() + _GRACE
    for child in children:
        try:
            child.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            log.warning("Process %s did not stop within %.0f s and is ended.", child.pid, _GRACE)
            child.kill()
            child.wait()
