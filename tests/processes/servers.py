"""Servers of one test's own, on ports of their own, so that nobody else's work is stopped."""

from __future__ import annotations

import contextlib
import getpass
import http.client
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.conftest import Installation, embedded
from tests.processes.starts import Started
from tests.waiting import PATIENCE_SECONDS, wait_for

_given: set[int] = set()


def free_port() -> int:
    """One that this process has not been given before: its server may not have begun to listen yet."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port not in _given:
            _given.add(port)
            return port


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def program(name: str) -> str:
    """Where a server's program is; PostgreSQL's are not on the path of every system."""
    found = shutil.which(name) or next(iter(sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        pytest.skip(f"NO SERVER OF ITS OWN: {name} is not installed; no server was restarted")
    return str(found)


class Postgres:
    """A PostgreSQL server of one test's own. `options`: what `postgres` is told besides where it stands;
    `data`: of another one that has stopped, to begin with a copy of it."""

    def __init__(self, folder: Path, options: str = "", data: Path | None = None) -> None:
        self._control, self._folder, self.port = program("pg_ctl"), folder, free_port()
        self._options, self._copied = options, data
        # PostgreSQL refuses to run as root
        self._as = ["runuser", "-u", "postgres", "--"] if getpass.getuser() == "root" else []
        if self._as:
            shutil.chown(folder, "postgres")
        self._fill(folder / "data")
        self.start()

    def _fill(self, data: Path) -> None:
        if self._copied is not None:
            self._run("cp", "-a", str(self._copied), str(data))
            return
        self._run(program("initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-N")

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -k {self._folder} {self._options}"
        log = str(self._folder / "log")
        self._run(self._control, "-D", str(self._folder / "data"), "-l", log, "-o", options, "-w", "start")

    def stop(self) -> Path:
        """Where its data are then."""
        data = self._folder / "data"
        self._run(self._control, "-D", str(data), "-m", "fast", "-w", "stop")
        return data

    def log(self) -> str:
        return (self._folder / "log").read_text()

    def crash(self) -> None:
        """Stop at once, without a checkpoint: the next start recovers as after a power cut."""
        self._run(self._control, "-D", str(self._folder / "data"), "-m", "immediate", "-w", "stop")

    def _run(self, *command: str) -> None:
        subprocess.run([*self._as, *command], check=True, stdout=subprocess.DEVNULL)


class Standby(Postgres):
    """A copy of another server that is kept up to date, and read meanwhile."""

    def __init__(self, folder: Path, primary: Postgres) -> None:
        self._primary = primary
        super().__init__(folder)

    def _fill(self, data: Path) -> None:
        copied = [program("pg_basebackup"), "-D", str(data), "-R", "-X", "stream", "-c", "fast", "-N"]
        self._run(*copied, "-h", "127.0.0.1", "-p", str(self._primary.port), "-U", "postgres")


class Redis:
    """A Redis server of one test's own that keeps nothing on disk."""

    def __init__(self, folder: Path) -> None:
        self._program, self._folder, self.port = program("redis-server"), folder, free_port()
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        self._process = subprocess.Popen(
            [self._program, "--port", str(self.port), "--save", "", "--dir", str(self._folder)],
            stdout=subprocess.DEVNULL,
        )
        wait_for(lambda: answers(self.port), "Redis did not start")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="session")
def migrated_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data of a server whose database is migrated."""
    # not in tmp_path, which is for the one who runs the tests alone
    with tempfile.TemporaryDirectory(prefix="visage-migrated-") as folder:
        server = Postgres(Path(folder))
        try:
            env = {**embedded(tmp_path_factory.mktemp("migrated")), "DATABASE_URL": server.url}
            Installation(env).run("manage.py", "migrate", "-v0")
        finally:
            data = server.stop()
        yield data


@pytest.fixture
def postgres(migrated_postgres: Path) -> Iterator[Postgres]:
    """A server with a migrated database."""
    with tempfile.TemporaryDirectory(prefix="visage-postgres-") as folder:
        server = Postgres(Path(folder), data=migrated_postgres)
        yield server
        server.crash()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Redis]:
    server = Redis(tmp_path)
    yield server
    server.kill()


class Web:
    """The web server as the image starts it, with fewer processes: `wsgi` of one installation."""

    def __init__(self, env: dict[str, str], *, wsgi: str = "visage_app.wsgi", workers: int = 2) -> None:
        self.port, self._env, self._wsgi, self._workers = free_port(), env, wsgi, workers
        self.start()

    def start(self) -> None:
        """Start it; returns once it listens."""
        command = ["-m", "gunicorn", f"{self._wsgi}:application", "--bind", f"127.0.0.1:{self.port}"]
        options = ["--workers", str(self._workers), "--worker-class", "gthread", "--threads", "4"]
        # another application changes what the program imports
        cold = self._wsgi != "visage_app.wsgi"
        self._process = Started([*command, *options, "--no-control-socket"], self._env, cold=cold, group=True)
        wait_for(
            lambda: answers(self.port) or self._process.poll() is not None, "the web server does not listen"
        )
        assert self._process.poll() is None, "the web server ended by itself"

    def freeze(self) -> None:
        """It takes connections, and does nothing with them."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def kill(self) -> None:
        """With all its processes, as when the machine loses its power."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        # its children may take a moment longer to let go of the port
        wait_for(lambda: not answers(self.port), "the web server is still there")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def asked(self, path: str, session: str = "") -> tuple[int, bytes]:
        """Status and body of a page; status 0 if nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", path, headers={"Cookie": f"sessionid={session}"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()
