"""Measure how fast a worker asks a server, its memory, and what is asked again when workers are killed.

    python benchmarks/asking.py [--askings 12000] [--stored 500000] [--delay 0.2] [--seconds 60]

On a temporary database (SQLite, or a new one on the server of DATABASE_URL), in which `--stored` answers of
another run lie already, one embedded worker (`manage.py worker --queue gpu`) asks a server that answers after
`--delay` seconds (tests/fake_openai.py), 64 at once. The possible rate is 64 / delay; a worker's own rate is
measured from its first answer to its last. Then, for `--seconds`, workers are killed with -9 at random and
replaced; the server counts what it was asked more than once.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import django

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.jobs import ROOT, begin, finished, start, temporary_installation

IN_FLIGHT = 64
_CHUNK = 5000


@contextmanager
def server(delay: float) -> Iterator[str]:
    """The URL of a server in a process of its own."""
    command = [sys.executable, "-m", "tests.fake_openai", "--delay", str(delay)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        os.environ["MODEL_SERVERS"] = f"bench={url}"
        try:
            yield url
        finally:
            process.terminate()


def plan(name: str, askings: int) -> int:
    """A run of so many askings, not started; returns its id."""
    from generation.plans import services as plans
    from generation.plans.askings import Asking
    from generation.recipes.askings import CompletionRecipe
    from generation.recipes.limits import Limits
    from generation.runs import services as runs

    planned = plans.plan_askings(
        recipe=CompletionRecipe(server="bench", model="bench"),
        name=name,
        askings=[Asking(f"{name} {number}", f"{name} {number}") for number in range(askings)],
        limits=Limits(in_flight=IN_FLIGHT),
    )
    return runs.ensure(plan=planned, by=None).run.pk


def store(run_id: int) -> None:
    """Answer all askings of a run, without asking."""
    from django.utils import timezone

    from generation.models import Answer, Job, Run

    now = timezone.now()
    last = 0
    while ids := list(
        Job.objects.filter(run_id=run_id, pk__gt=last).order_by("pk").values_list("pk", flat=True)[:_CHUNK]
    ):
        Answer.objects.bulk_create(
            Answer(job_id=pk, run_id=run_id, text="(Mexican, tacos), (Italian, pasta)", ended="stop")
            for pk in ids
        )
        last = ids[-1]
    Job.objects.filter(run_id=run_id).update(state="done", finished_at=now)
    Run.objects.filter(pk=run_id).update(state="done", started_at=now, finished_at=now)


def undisturbed(run_id: int) -> tuple[float, int]:
    """Answers a second between the first and the last, and the worker's largest memory in bytes."""
    from django.db.models import Max, Min

    from generation.models import Job

    worker = begin()
    time.sleep(6)  # it has started, and looks into the table every second
    start(run_id)
    while not finished(run_id):
        time.sleep(0.1)
    memory = _largest_memory(worker.pid)
    worker.terminate()
    worker.wait()
    done = Job.objects.filter(run_id=run_id, state="done")
    span = done.aggregate(first=Min("finished_at"), last=Max("finished_at"))
    return done.count() / (span["last"] - span["first"]).total_seconds(), memory


def with_kills(run_id: int, seconds: float) -> int:
    """Kill the worker at random for `seconds`, each time once it has answers, then let the run end; returns
    the number of kills."""
    from generation.models import Answer

    answers = Answer.objects.filter(run_id=run_id)
    dice = random.Random(1)
    worker, kills = begin(), 0
    start(run_id)
    until = time.monotonic() + seconds
    while time.monotonic() < until and not finished(run_id):
        before = answers.count()
        while answers.count() == before and not finished(run_id):
            time.sleep(0.1)
        time.sleep(dice.uniform(0, 4))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        kills += 1
        worker = begin()
    while not finished(run_id):
        time.sleep(0.2)
    worker.terminate()
    worker.wait()
    return kills


def asked(url: str) -> dict[str, Any]:
    """What the server counted."""
    with urlopen(f"{url.removesuffix('/v1')}/asked") as answer:
        counts: dict[str, Any] = json.load(answer)
    return counts


def _largest_memory(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("This system does not say how much memory a process took.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--askings", type=int, default=12_000)
    parser.add_argument("--stored", type=int, default=500_000)
    parser.add_argument("--delay", type=float, default=0.2)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    with server(given.delay) as url, temporary_installation() as database:
        django.setup()
        from generation.models import Answer

        print(f"database: {database}")
        began = time.perf_counter()
        store(plan("stored", given.stored))
        print(f"{given.stored:,} answers planned and stored in {time.perf_counter() - began:.0f} s")
        run_id = plan("undisturbed", given.askings)
        rate, memory = undisturbed(run_id)
        possible = IN_FLIGHT / given.delay
        print(
            f"undisturbed: {rate:.0f} answers a second, {rate / possible:.0%} of the possible "
            f"{possible:.0f}; the worker took {memory / 2**20:.0f} MiB"
        )
        run_id = plan("killed", given.askings)
        kills = with_kills(run_id, given.seconds)
        counts = {prompt: n for prompt, n in asked(url)["asked"].items() if prompt.startswith("killed")}
        answers = Answer.objects.filter(run_id=run_id).count()
        again = sum(counts.values()) - len(counts)
        print(
            f"killed {kills} times: {answers:,} of {given.askings:,} answers, {again} askings repeated, "
            f"{again / max(1, kills):.0f} a kill (in flight: {IN_FLIGHT})"
        )
        if answers != given.askings or again > kills * IN_FLIGHT:
            raise SystemExit("LOST, OR ASKED AGAIN MORE THAN WAS IN FLIGHT")


if __name__ == "__main__":
    main()
