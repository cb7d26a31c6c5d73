"""The web server and one embedded worker per queue as child processes of one command (DESIGN §9)."""

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
_START_TIMEOUT = 60.0
_MAX_PAUSE = 60.0


class CannotServe(Exception):
    """The server cannot run. The message says why and what to do."""


def parse_bind(bind: str) -> tuple[str, int]:
    """'127.0.0.1:8000' or '[::1]:8000' as host and port; raises CannotServe for anything else."""
    host, colon, port = bind.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise CannotServe(f"--bind {bind} is not HOST:PORT. Write for example --bind 127.0.0.1:8000")
    return host, int(port)


def check_free(host: str, port: int) -> None:
    """Raises CannotServe if the port cannot be used."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # Like gunicorn: a port in TIME_WAIT is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = f"Port {port} of {host} is in use by another program."
            cure = f"Stop that program, or choose another port: manage.py serve --bind {host}:{port + 1}"
        elif error.errno == errno.EACCES:
            reason = f"This account may not use port {port}."
            cure = f"Choose a port from 1024: manage.py serve --bind {host}:8000"
        else:
            reason = f"This machine cannot listen at {host} ({error.strerror or error})."
            cure = "Choose one of its own addresses: manage.py serve --bind 127.0.0.1:8000"
        raise CannotServe(f"{reason} {cure}") from error


class Supervisor:
    """Starts the child processes, restarts workers that die, and stops all on SIGTERM or SIGINT."""

    def __init__(self, *, bind: str, workers: int, threads: int) -> None:
        self._host, self._port = parse_bind(bind)
        self._server_command = [
            *(sys.executable, "-m", "gunicorn", "visage_app.wsgi:application"),
            *("--config", "python:visage_app.serving.gunicorn_hooks"),
            *("--bind", bind, "--workers", str(workers)),
            *("--threads", str(threads)),
            *("--graceful-timeout", "20", "--no-control-socket"),
        ]
        # With a broker, Celery's workers run the models, on machines with enough memory.
        queues = ("default",) if settings.CELERY_BROKER_URL else ("default", "gpu")
        self._workers = [_Worker(queue) for queue in queues]
        self._stopping = False

    def run(self, *, ready: Callable[[], None]) -> None:
        """Serve until stopped; `ready` is called once the server answers.

        Raises CannotServe if the web server ends by itself.
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
        deadline = time.monotonic() + _START_TIMEOUT
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)  # noqa: S104
        while not self._stopping:
            _refuse_if_ended(server)
            with contextlib.suppress(OSError), socket.create_connection((host, self._port), timeout=1):
                return
            if time.monotonic() > deadline:
                raise CannotServe(
                    f"The web server did not answer within {_START_TIMEOUT:.0f} s. "
                    "See its messages above; LOG_LEVEL=INFO shows more."
                )
            time.sleep(_TICK)

    def _watch(self, server: subprocess.Popen[bytes]) -> None:
        while not self._stopping:
            _refuse_if_ended(server)
            for worker in self._workers:
                worker.keep_running()
            time.sleep(_TICK)


class _Worker:
    """The embedded worker of one queue, restarted whenever it ends."""

    def __init__(self, queue: str) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._queue = queue
        self._started, self._pause = 0.0, 1.0

    def keep_running(self) -> None:
        now = time.monotonic()
        if self.process is not None and self.process.poll() is not None:
            # A worker that keeps dying early is restarted after longer and longer pauses.
            lived = now - self._started
            self._pause = 1.0 if lived > _MAX_PAUSE else min(self._pause * 2, _MAX_PAUSE)
            log.error(
                "The worker of queue %s ended with status %s; starting another in %.0f s.",
                *(self._queue, self.process.returncode, self._pause),
            )
            self.process, self._started = None, now + self._pause
        if self.process is None and now >= self._started:
            # The parent process ran the checks. They would load all views: 40 MB, and twice the start time.
            options = ("--queue", self._queue, "--skip-checks")
            self.process = _start([sys.executable, "-m", "django", "worker", *options])
            self._started = now


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    """Start a child in its own process group, so that Ctrl+C reaches only this process, which stops the
    children."""
    path = os.pathsep.join(filter(None, [str(settings.BASE_DIR), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "DJANGO_SETTINGS_MODULE": "visage_app.settings"}
    return subprocess.Popen(command, env=environment, process_group=0)  # noqa: S603 - our own command


def _refuse_if_ended(server: subprocess.Popen[bytes]) -> None:
    status = server.poll()
    if status is not None:
        raise CannotServe(f"The web server ended by itself with status {status}. See its messages above.")


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    """Terminate every child, and kill those that do not end within the grace period."""
    # gunicorn's workers end by themselves within a second after their parent.
    for child in children:
        child.terminate()
    deadline = time.monotonic() + _GRACE
    for child in children:
        try:
            child.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            log.warning("Process %s did not stop within %.0f s and is killed.", child.pid, _GRACE)
            child.kill()
            child.wait()
