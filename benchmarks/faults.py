"""Measure what a sick worker, a slow card and a storage that is away cost a run: jobs lost, and time.

    python -m benchmarks.faults [--jobs 3000]

On a temporary database (SQLite, or a new one on the server of DATABASE_URL). One healthy worker does a run of
fake images alone. Then it does one beside a worker whose card fails after its first batch and that is started
again whenever it ends, and one beside a worker that takes a second for each image. Then the storage of one
worker takes no file for ten seconds. Every job must be done, none may have used up an attempt, and every
file is hashed again.
"""

import argparse
import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.jobs import ROOT, counted, finished, plan, start, temporary_installation

AWAY_SECONDS = 10.0


def begin(fault: str = "") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.faults", "--worker", fault or "none"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def worker(fault: str) -> None:
    """Be an embedded worker with this fault."""
    import django

    django.setup()
    from django.core.management import call_command

    from annotation.images import files as image_files
    from generation.backends.image_fake import FakeTextToImage
    from generation.jobs.services import pauses

    generate, write, batches = FakeTextToImage.generate, image_files._write, []

    def sick(self: Any, requests: Any) -> Any:
        batches.append(1)
        if len(batches) > 1:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return generate(self, requests)

    def slow(self: Any, requests: Any) -> Any:
        time.sleep(len(requests))
        return generate(self, requests)

    def away(path: Path, data: bytes) -> None:
        if Path(os.environ["VAR_DIR"], "away").exists():
            raise OSError(errno.EIO, "Input/output error")
        write(path, data)

    FakeTextToImage.batch = 8
    if fault == "sick":
        FakeTextToImage.generate = sick
    if fault == "slow":
        FakeTextToImage.generate = slow
    if fault == "away":
        image_files._write = away
        pauses.STORAGE_SECONDS = 1
    call_command("worker", queue="gpu")


def seconds(
    number: int, name: str, faults: list[str], *, meanwhile: Callable[[], None] = lambda: None
) -> float:
    """How long workers with these faults take for a run of `number` images; checks what came of it."""
    from generation.models import Job, Run

    run = plan(number, 64, name)
    crew = {index: begin(fault) for index, fault in enumerate(faults)}
    time.sleep(6)  # they have started, and look into the table every second
    began = time.perf_counter()
    start(run)
    meanwhile()
    while not finished(run):
        for index, process in crew.items():
            if process.poll() is not None:
                crew[index] = begin(faults[index])
        time.sleep(0.05)
    took = time.perf_counter() - began
    for process in crew.values():
        process.terminate()
    for process in crew.values():
        process.wait()
    print(f"  {counted(run)}")
    tried = Job.objects.filter(run=run).exclude(attempts=1).count()
    if tried or Run.objects.get(pk=run).state != "done":
        raise SystemExit(f"{tried} jobs used up an attempt, or the run is not done")
    return took


def _storage_away() -> None:
    flag = Path(os.environ["VAR_DIR"], "away")
    flag.touch()
    time.sleep(AWAY_SECONDS)
    flag.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=3000)
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options.worker)
        return
    with temporary_installation():
        alone = seconds(options.jobs, "alone", [""])
        print(f"one healthy worker: {alone:.1f} s for {options.jobs} images")
        for fault, words in (("sick", "a sick one, started again and again"), ("slow", "a slow card")):
            took = seconds(options.jobs, fault, ["", fault])
            print(f"beside {words}: {took:.1f} s, {took / alone:.2f} of the time alone")
        took = seconds(options.jobs, "away", ["away"], meanwhile=_storage_away)
        print(f"storage away for {AWAY_SECONDS:.0f} s: {took:.1f} s, {took - alone:.1f} s more than alone")


if __name__ == "__main__":
    main()
