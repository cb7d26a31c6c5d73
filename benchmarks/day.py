"""A day of 500 annotators: does the served way hold them, and does it lose nothing?

    DATABASE_URL=postgresql://... python -m benchmarks.day
        [--annotators 500] [--minutes 5] [--ramp 90] [--think 15] [--seed 1] [--out FILE.json]

Starts both Redis, web, worker and beat by the very commands and with the settings of the containers
(benchmarks/composed.py) on a database of its own, makes a study, and lets people come with locust
(benchmarks/day_people.py): they accept an invitation or log in, agree, take items before they need them,
fetch pictures, answer, send answers again because the reply was lost, close the browser and come back,
withdraw. Leads keep a dashboard open; an admin has exports made and scores computed. First somebody works
alone, with whom the day is compared. In the end the database is held against what was sent and acknowledged.

Written to benchmarks/results/day.json, with what the processors were busy with. Ends with an error if an
answer was lost, an item was given to too many, or a request failed.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks import composed
from benchmarks.annotate import commit, machine, percentiles
from benchmarks.annotate_server import ROOT

Result = dict[str, Any]
PATIENCE = 300
TARGET = 8
"""p95 of the day against p95 of who works alone, at most."""
COMPARED = ("next", "submit")
REDIS = ("redis", "cache")
OURS = ("web", "worker", "beat")
"""The processes that need the database and Redis."""


class Served:
    """The processes and settings of docker-compose.yml without containers, on a database of their own."""

    def __init__(self, folder: Path) -> None:
        self._server = os.environ["DATABASE_URL"]
        self._name = f"visage_day_{secrets.token_hex(4)}"
        self._ports = dict(zip(("web", *REDIS), _free_ports(3), strict=True))
        self.port = self._ports["web"]
        self._log = (folder / "servers.log").open("ab")
        broker, cache = (f"redis://127.0.0.1:{self._ports[name]}/0" for name in REDIS)
        self.env = {
            **os.environ,
            **composed.settings(),
            "DATABASE_URL": f"{self._server.rsplit('/', 1)[0]}/{self._name}",
            "CELERY_BROKER_URL": broker,
            "CACHE_URL": cache,
            "VAR_DIR": str(folder),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        self._processes: dict[str, psutil.Popen] = {}

    def __enter__(self) -> Served:
        self._sql(f'CREATE DATABASE "{self._name}"')
        try:
            self._start()
        except BaseException:  # nobody else would end what has begun
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        self._begin(*REDIS)
        self._run(composed.command("migrate"))
        self._begin(*OURS)
        self._wait()

    def _begin(self, *services: str) -> None:
        for name in services:
            command = composed.command(name, self._ports.get(name, 0))
            self._processes[name] = psutil.Popen(
                command, cwd=ROOT, env=self.env, stdout=self._log, stderr=self._log
            )

    def __exit__(self, *error: object) -> None:
        self._end(*OURS)
        self._end(*REDIS)
        self._log.close()
        self._sql(f'DROP DATABASE "{self._name}" WITH (FORCE)')

    def _end(self, *services: str) -> None:
        ended = [self._processes[name] for name in services if name in self._processes]
        for process in ended:
            process.send_signal(signal.SIGTERM)
        for process in ended:
            try:
                process.wait(timeout=60)
            except psutil.TimeoutExpired:
                process.kill()

    def tool(self, *arguments: object) -> Any:
        """benchmarks/day_study.py, in a process of its own."""
        command = [sys.executable, "-m", "benchmarks.day_study", *map(str, arguments)]
        return json.loads(self._run(command))

    def busy(self) -> dict[str, float]:
        """Seconds of processor time so far: of each service, of all programs. Not of the database:
        a connection that ends takes its own along."""
        found = {name: _seconds_of(process) for name, process in self._processes.items()}
        times = psutil.cpu_times()
        found["all processors"] = sum(times) - times.idle - times.iowait - times.guest - times.guest_nice
        return found

    def memory(self) -> dict[str, dict[int, int]]:
        """Resident bytes of each process of each service, now."""
        return {name: _memory_of(process) for name, process in self._processes.items()}

    def _run(self, command: list[str]) -> str:
        done = subprocess.run(command, cwd=ROOT, env=self.env, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def _sql(self, statement: str) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and all(one.poll() is None for one in self._processes.values()):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=10):
                    return
            except OSError:
                time.sleep(0.3)
        last = Path(self._log.name).read_text(errors="replace")[-2000:]
        raise SystemExit(f"The web server is not ready, or a process ended. What they said last:\n{last}")


def _free_ports(number: int) -> list[int]:
    """So many different ones: asked for one after another, two are the same now and then."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def _seconds_of(process: psutil.Process) -> float:
    try:
        return sum(sum(one.cpu_times()[:2]) for one in [process, *process.children(recursive=True)])
    except psutil.NoSuchProcess:
        return 0.0


def _memory_of(process: psutil.Process) -> dict[int, int]:
    found = {}
    for one in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # it ended since it was listed
            found[one.pid] = int(one.memory_info().rss)
    return found


def live(served: Served, options: argparse.Namespace, folder: Path) -> tuple[Result, Result]:
    """Let the day pass: the plan of it, and what the browsers and the processors did."""
    seconds = 60 * options.minutes
    least = options.annotators * seconds / options.think
    accounts = options.annotators // 5
    units = max(50, int(least / 3 * 2))
    plan = served.tool("make", units, accounts) | {
        "host": f"http://127.0.0.1:{served.port}",
        "from_proxy": composed.FROM_PROXY,
        "seed": options.seed,
        "annotators": options.annotators,
        "seconds": seconds,
        "ramp_seconds": min(options.ramp, seconds),
        "think_seconds": options.think,
        "with_password": 0.2,
        "alone_seconds": options.alone,
        "alone_think_seconds": 0.2,
        "poll_seconds": 5,
        "resend": 0.03,
        "close": 0.01,
        "one_withdraws_of": 25,
    }
    asked, told = folder / "plan.json", folder / "journal.json"
    asked.write_text(json.dumps(plan))
    command = [sys.executable, "-m", "benchmarks.day_people", str(asked), str(told)]
    with psutil.Popen(command, cwd=ROOT, env=served.env) as people:
        time.sleep(options.alone + plan["ramp_seconds"])  # what follows is the day when all are there
        before, began = served.busy() | {"people": _seconds_of(people)}, time.monotonic()
        while people.poll() is None and time.monotonic() - began < seconds - plan["ramp_seconds"] - 1:
            time.sleep(0.2)
        now, took = served.busy() | {"people": _seconds_of(people)}, time.monotonic() - began
        if people.wait(timeout=PATIENCE):
            sys.exit("The people ended with an error.")
    busy = {name: round((now[name] - before[name]) / took, 2) for name in now}
    return plan | {"units": units}, json.loads(told.read_text()) | {"busy": busy, "journal": str(told)}


def figures(told: Result) -> Result:
    """Percentiles in milliseconds of what was asked for, alone and in the day, and how they compare."""
    found: Result = {
        phase: {
            name: percentiles([each / 1000 for each in times]) for name, times in sorted(of.items()) if times
        }
        for phase, of in told["taken"].items()
    }
    found["p95_against_alone"] = {
        name: round(found["day"][name]["p95"] / found["alone"][name]["p95"], 1)
        for name in COMPARED
        if all(name in found.get(phase, {}) for phase in ("alone", "day"))
    }
    return found


def check_servers() -> None:
    """SystemExit where the served way to run cannot be had."""
    if not os.environ.get("DATABASE_URL", "").startswith("postgresql"):
        sys.exit("DATABASE_URL is no PostgreSQL: this is of the served way, with PostgreSQL and Redis.")
    if not shutil.which("redis-server"):
        sys.exit("redis-server is not installed: this is of the served way, with PostgreSQL and Redis.")


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--annotators", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--ramp", type=float, default=90, help="seconds in which they come")
    parser.add_argument("--think", type=float, default=15, help="seconds for one item, in the median")
    parser.add_argument("--alone", type=float, default=20, help="seconds of the single user")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "day.json")
    options = parser.parse_args()
    check_servers()
    about = machine()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="visage-day-")))
        served = stack.enter_context(Served(folder))
        plan, told = live(served, options, folder)
        compared = served.tool("compare", told["journal"])
    kept = {name: value for name, value in plan.items() if name not in {"accounts", "leads", "admin", "host"}}
    kept.pop("password")
    result = {
        "machine": about | {"load_after": [round(load, 1) for load in os.getloadavg()]},
        "commit": commit(),
        "plan": kept,
        "compared": compared,
        "counted": told["counted"],
        "errors": {"number": len(told["errors"]), "first": told["errors"][:20]},
        "processors_busy": told["busy"],
        **figures(told),
    }
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    summary = ("compared", "counted", "errors", "processors_busy", "p95_against_alone")
    print(json.dumps({name: result[name] for name in summary}, indent=1))
    for phase in ("alone", "coming", "day"):
        print(phase, {name: result.get(phase, {}).get(name) for name in COMPARED})
    wrong = [
        f"{compared[name]} {name}"
        for name in ("lost", "differs", "never_sent", "over_assigned", "met_twice", "filled_without_answer")
        if compared[name]
    ]
    if told["errors"]:
        wrong.append(f"{len(told['errors'])} errors")
    if wrong:
        sys.exit(", ".join(wrong))
    over = {name: times for name, times in result["p95_against_alone"].items() if times >= TARGET}
    if over:
        print(f"above {TARGET} times: {over}; see processors_busy for what there was none left of")


if __name__ == "__main__":
    main()
