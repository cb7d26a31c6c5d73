"""A study of some size behind a web server of its own, and people at work on it (benchmarks/annotate.py)."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

ROOT = Path(__file__).resolve().parent.parent
TICK = os.sysconf("SC_CLK_TCK")


class Served:
    """A database with a study of `units`, and a web server; both are gone afterwards.

    `static`: with its static files as they are served, collected and compressed."""

    def __init__(self, units: int, folder: Path, *, url: str, static: bool = False) -> None:
        self.units, self.url, self.memory_before = units, url, 0.0
        self._static = static
        self.counted: Counter[str] = Counter()
        folder.mkdir()
        self._name = f"visage_bench_{secrets.token_hex(4)}"
        self._log = (folder / "server.log").open("ab")
        ours = f"{url.rsplit('/', 1)[0]}/{self._name}" if url else ""
        self._env = {
            **os.environ,
            "VAR_DIR": str(folder),
            "DATABASE_URL": ours,
            "STATIC_MANIFEST": "yes" if static else "no",
            "DJANGO_SETTINGS_MODULE": "benchmarks.server",
        }

    def __enter__(self) -> Served:
        self._sql(f'CREATE DATABASE "{self._name}"')
        began = time.perf_counter()
        self.people: list[dict[str, str]] = self.tool("make", str(self.units))
        self.made_in = time.perf_counter() - began
        if self._static:
            collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "-v0"]
            subprocess.run(collect, cwd=ROOT, env=self._env, check=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        # as visage_app/serving/supervisor.py starts it
        command = ["-m", "gunicorn", "visage_app.wsgi", "--worker-class", "gthread", "--workers", "2"]
        options = ["--threads", "4", "--bind", f"127.0.0.1:{self.port}", "--keep-alive", "30"]
        self._server = subprocess.Popen(
            [sys.executable, *command, *options], cwd=ROOT, env=self._env, stdout=self._log, stderr=self._log
        )
        for _ in range(150):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        return self

    def __exit__(self, *error: object) -> None:
        self._server.terminate()
        self._server.wait()
        self._log.close()
        self._sql(f'DROP DATABASE "{self._name}" WITH (FORCE)')

    def tool(self, *arguments: str) -> Any:
        """benchmarks/annotate_study.py, in a process of its own."""
        command = [sys.executable, "-m", "benchmarks.annotate_study", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self._env, check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def reset(self) -> None:
        """Begin anew, once what was answered until now is counted."""
        self.counted.update(self.tool("reset"))

    def cpu(self) -> dict[int, float]:
        """Seconds of processor time so far, of each process of the web server and of the database."""
        return {pid: _cpu_of(pid) for pid in [*self._pids(), *self._backends()]}

    def memory(self) -> float:
        """Resident megabytes of the web server."""
        total = 0
        for pid in self._pids():
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                total += int(line.split()[1]) if line.startswith("VmRSS:") else 0
        return round(total / 1024, 1)

    def database_version(self) -> str:
        if self.url:
            with psycopg.connect(self.url) as connection:
                return str(connection.execute("SHOW server_version").fetchone()[0])  # type: ignore[index]
        import sqlite3

        return sqlite3.sqlite_version

    def _sql(self, statement: str) -> None:
        if self.url:
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(statement)  # type: ignore[call-overload]

    def _pids(self) -> list[int]:
        ours = self._server.pid
        return [ours, *map(int, Path(f"/proc/{ours}/task/{ours}/children").read_text().split())]

    def _backends(self) -> list[int]:
        if not self.url:
            return []
        asked = "SELECT pid FROM pg_stat_activity WHERE datname = %s"
        with psycopg.connect(self.url) as connection:
            return [pid for (pid,) in connection.execute(asked, [self._name])]


@dataclass
class Times:
    """What `work` took: seconds of each request by what it asked, how many were answered in the seconds that
    were meant, the servers' processors."""

    taken: dict[str, list[float]]
    in_time: int
    seconds: float
    cpu: float

    def __add__(self, other: Times) -> Times:
        taken = {what: self.taken[what] + other.taken[what] for what in self.taken}
        in_time, seconds = self.in_time + other.in_time, self.seconds + other.seconds
        return Times(taken, in_time, seconds, self.cpu + other.cpu)

    def requests(self) -> int:
        return sum(map(len, self.taken.values()))

    def rate(self) -> float:
        """Requests a second. At the end fewer and fewer are at work: what they still finish is left out."""
        return self.in_time / self.seconds

    def cpu_ms(self) -> float:
        """Milliseconds of processor time for one request."""
        return 1000 * self.cpu / self.requests()


class Person(threading.Thread):
    """Somebody at work until `until`, which is set before it starts: kind *empty*, *cycle* (*next* and
    *submit*, a request each), *both* (an answer whose reply brings the next item, as the page at work does
    it), or *next* (for whom nothing is left)."""

    def __init__(self, port: int, cookies: dict[str, str], *, kind: str) -> None:
        super().__init__()
        self.kind, self.until = kind, 0.0
        self.item: dict[str, Any] | None = None
        self.forget()
        self.error: Exception | None = None
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.headers = {
            "Cookie": f"sessionid={cookies['session']}; csrftoken={cookies['token']}",
            "X-CSRFToken": cookies["token"],
            "Content-Type": "application/json",
        }

    def post(self, what: str, path: str, body: dict[str, Any]) -> Any:
        began = time.perf_counter()
        self.connection.request("POST", path, json.dumps(body), self.headers)
        answer = self.connection.getresponse()
        said = answer.read()
        now = time.perf_counter()
        self.taken[what].append(now - began)
        self.in_time += now <= self.until
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {said[:300]!r}")
        return json.loads(said) if what != "empty" else {}

    def forget(self) -> None:
        """What was taken until now does not count."""
        self.taken: dict[str, list[float]] = {"empty": [], "next": [], "submit": [], "both": []}
        self.in_time = 0

    def connect(self) -> None:
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def begin(self) -> None:
        """Take the first item, which no answer brings."""
        self.connect()
        self.item = self.fetched()

    def run(self) -> None:
        try:
            if self.connection.sock is None:
                self.connect()
            while time.perf_counter() < self.until:
                self.once()
        except Exception as error:  # told where the thread is joined
            self.error = error
        finally:
            self.connection.close()

    def once(self) -> None:
        if self.kind == "empty":
            self.post("empty", "/empty/", {})
            return
        item, self.item = self.item or self.fetched(), None
        if item is None:
            return
        option = item["options"][0]
        body = {
            "unit": item["unit"],
            "client_key": item["client_key"],
            "active_ms": 900,
            "answers": [{"option": option["id"], "value": 5, "position": option["position"]}],
        }
        if self.kind == "cycle":
            self.post("submit", "/studies/load/annotate/answers/", body)
            return
        said = self.post(
            "both", "/studies/load/annotate/answers/", {**body, "next": {"have": [], "wanted": 1}}
        )
        [self.item] = said["next"]["items"]

    def fetched(self) -> dict[str, Any] | None:
        given = self.post("next", "/studies/load/annotate/items/", {"have": [], "wanted": 1})
        if bool(given["items"]) == (self.kind == "next"):
            raise RuntimeError(f"{self.kind}: {given['state']} with {len(given['items'])} items")
        return next(iter(given["items"]), None)


def work(served: Served, people: list[dict[str, str]], *, kind: str, seconds: float) -> Times:
    """Let `people` work for some seconds. Raises the first error of any of them."""
    workers = [Person(served.port, cookies, kind=kind) for cookies in people]
    if kind == "both":
        with ThreadPoolExecutor(len(workers)) as threads:
            list(threads.map(Person.begin, workers))
        for worker in workers:
            worker.forget()
    before, began = served.cpu(), time.perf_counter()
    for worker in workers:
        worker.until = began + seconds
        worker.start()
    for worker in workers:
        worker.join()
    spent = sum(now - before.get(pid, 0) for pid, now in served.cpu().items())
    for worker in workers:
        if worker.error:
            raise worker.error
    whats = [kind] if kind in {"empty", "both"} else ["next", "submit"]
    taken = {what: [t for w in workers for t in w.taken[what]] for what in whats}
    return Times(taken, sum(worker.in_time for worker in workers), seconds, spent)


def _cpu_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it ended meanwhile, or runs on another machine
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK
