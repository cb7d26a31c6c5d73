"""Measure the overhead of claiming, storing and completing jobs, and check that kills lose or double nothing.

    python benchmarks/jobs.py [--jobs 20000] [--workers 2] [--size 64] [--seconds 60]

On a temporary database (SQLite, or a new one on the server of DATABASE_URL), two embedded workers (`manage.py
worker --queue gpu`) make fake images: claim, draw, encode, hash, write and sync the file, complete. First
undisturbed; then, for a minute, workers are killed with -9 again and again and replaced. Afterwards
everything is counted and every file is hashed again.

The bare rate, for comparison, is that of the same number of processes that draw, encode and write such images
without a queue and a database.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parent.parent
GROUPS = 135
WORKER = [sys.executable, "manage.py", "worker", "--queue", "gpu"]


def plan(number: int, size: int, name: str) -> int:
    """Create a run of `number` fake images, not started; returns its id."""
    from annotation.models import IdentityGroup, ImageSet
    from generation.models import Job, Run
    from generation.recipes.recipes import ImageRecipe, as_json, digest, sample_seed

    recipe = ImageRecipe(backend="fake", model="fake", width=size, height=size)
    image_set = ImageSet.objects.create(name=name, title=name)
    groups = [
        IdentityGroup.objects.get_or_create(
            name=f"Group {i}", axis="nationality", defaults={"demonym": f"Demonym{i}"}
        )[0]
        for i in range(GROUPS)
    ]
    run = Run.objects.create(
        kind=recipe.kind,
        image_set=image_set,
        backend=recipe.backend,
        recipe=as_json(recipe),
        recipe_hash=digest(recipe, image_set=name),
    )
    Job.objects.bulk_create(
        (
            Job(
                run=run,
                group=groups[i % GROUPS],
                prompt_set="detection",
                prompt=f"a photo of a {groups[i % GROUPS].demonym} person",
                number=i // GROUPS + 1,
                index=i // GROUPS + 1,
                seed=sample_seed(seed=0, prompt=groups[i % GROUPS].demonym, number=i // GROUPS + 1),
            )
            for i in range(number)
        ),
        batch_size=5000,
    )
    return run.pk


def start(run_id: int) -> None:
    from django.utils import timezone

    from generation.models import Run

    Run.objects.filter(pk=run_id).update(state="running", started_at=timezone.now())


def finished(run_id: int) -> bool:
    from generation.models import Run

    return Run.objects.get(pk=run_id).state != "running"


def begin() -> subprocess.Popen[bytes]:
    return subprocess.Popen(WORKER, cwd=ROOT, stdout=subprocess.DEVNULL)


def draw_and_keep(seed: int, number: int, size: int) -> None:
    """What a worker does with `number` images, without the database: in batches, with files in threads."""
    from annotation.images import files as image_files
    from generation.backends import load
    from generation.backends.base import ImageRequest
    from generation.jobs import png
    from generation.recipes.recipes import ImageRecipe

    model = load(ImageRecipe(backend="fake", model="fake", width=size, height=size))
    origin = png.Origin("a person", 1, "0" * 64, "fake", "1", {}, "cpu", "bare")
    with ThreadPoolExecutor((os.cpu_count() or 1) + 2) as threads:
        for first in range(seed, seed + number, model.batch):
            last = min(first + model.batch, seed + number)
            pictures = model.generate([ImageRequest("a person", one) for one in range(first, last)])
            list(threads.map(lambda one: image_files.store(png.encode(one.pixels, origin)), pictures))


def bare(number: int, size: int, workers: int) -> float:
    """Images per second of `workers` processes without queue and database."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=django.setup) as processes:
        list(processes.map(draw_and_keep, range(workers), [1] * workers, [size] * workers))
        began = time.perf_counter()
        share = number // workers
        starts = [10 + worker * share for worker in range(workers)]
        list(processes.map(draw_and_keep, starts, [share] * workers, [size] * workers))
        return number / (time.perf_counter() - began)


def undisturbed(run_id: int, number: int, workers: int) -> float:
    """Jobs per second of `workers`, from the start of the run to the last image's row."""
    crew = [begin() for _ in range(workers)]
    time.sleep(6)  # they have started, and look into the table every second
    start(run_id)
    began = time.perf_counter()
    while not finished(run_id):
        time.sleep(0.05)
    rate = number / (time.perf_counter() - began)
    for worker in crew:
        worker.terminate()
    for worker in crew:
        worker.wait()
    return rate


def with_kills(run_id: int, workers: int, seconds: float) -> tuple[int, int]:
    """Kill workers at random for `seconds`, then let them finish; returns (kills, kills before the run
    ended)."""
    dice = random.Random(1)
    crew = [begin() for _ in range(workers)]
    start(run_id)
    until, kills, early = time.monotonic() + seconds, 0, 0
    while time.monotonic() < until:
        time.sleep(dice.uniform(1.5, 5))
        number = dice.randrange(workers)
        crew[number].send_signal(signal.SIGKILL)
        crew[number].wait()
        kills += 1
        early += not finished(run_id)
        crew[number] = begin()
    while not finished(run_id):
        time.sleep(0.2)
    for worker in crew:
        worker.terminate()
    for worker in crew:
        worker.wait()
    return kills, early


def counted(run_id: int) -> str:
    """The result of a run; exits if a job was lost or doubled, or a file does not match its row."""
    from collections import Counter

    from annotation.images import files as image_files
    from annotation.models import Image
    from generation.models import Job, Provenance

    jobs = Job.objects.filter(run_id=run_id)
    states, tries = (
        Counter(jobs.values_list("state", flat=True)),
        Counter(jobs.values_list("attempts", flat=True)),
    )
    images = Image.objects.filter(provenance__run_id=run_id)
    provenances = Provenance.objects.filter(run_id=run_id).count()
    linked = jobs.values("image").distinct().count()
    damaged = sum(not image_files.is_stored(i.file.name, sha256=i.sha256) for i in images.iterator())
    summary = (
        f"jobs {dict(states)}, tries {dict(sorted(tries.items()))}, images {images.count()}, "
        f"provenances {provenances}, images of jobs {linked}, files missing or damaged {damaged}"
    )
    number = jobs.count()
    if dict(states) != {"done": number} or {images.count(), provenances, linked} != {number} or damaged:
        raise SystemExit(f"LOST OR DOUBLED: {summary}")
    return summary


@contextmanager
def temporary_installation() -> Iterator[str]:
    """A folder and a database of their own, migrated, and deleted at the end; yields the database's name."""
    with tempfile.TemporaryDirectory(prefix="visage-bench-") as folder:
        os.environ |= {"VAR_DIR": folder, "STATIC_MANIFEST": "no", "CELERY_BROKER_URL": ""}
        os.environ |= {"DJANGO_SETTINGS_MODULE": "visage_app.settings", "LOG_LEVEL": "ERROR"}
        os.environ["JOB_LEASE_SECONDS"] = "5"
        sys.path.insert(0, str(ROOT))
        url = os.environ.get("DATABASE_URL", "")
        if url:
            import psycopg

            name = f"visage_bench_{secrets.token_hex(4)}"
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f'CREATE DATABASE "{name}"')
            os.environ["DATABASE_URL"] = f"{url.rsplit('/', 1)[0]}/{name}"
        django.setup()
        from django.core.management import call_command

        try:
            call_command("migrate", verbosity=0)
            yield "PostgreSQL" if url else "SQLite"
        finally:
            from django.db import connections

            connections.close_all()
            if url:
                with psycopg.connect(url, autocommit=True) as connection:
                    connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--size", type=int, default=64, help="width and height in pixels")
    parser.add_argument(
        "--seconds", type=float, default=60, help="how long workers are killed; 0: not at all"
    )
    options = parser.parse_args()
    with temporary_installation() as database:
        plain = bare(options.jobs // 4, options.size, options.workers)
        print(f"{database}, {os.cpu_count()} processors, {options.size} px")
        print(f"bare, {options.workers} processes: {plain:.0f} images/s")
        run = plan(options.jobs, options.size, "undisturbed")
        rate = undisturbed(run, options.jobs, options.workers)
        print(f"{options.workers} workers: {rate:.0f} jobs/s, {rate / plain:.2f} of the bare rate")
        print(f"  {counted(run)}")
        if options.seconds:
            run = plan(int(rate * options.seconds), options.size, "kills")
            kills, early = with_kills(run, options.workers, options.seconds)
            print(f"{kills} kills with -9 in {options.seconds:.0f} s, {early} while the run went on")
            print(f"  {counted(run)}")
            if not early:
                raise SystemExit("the run ended before the first kill: nothing was tested")


if __name__ == "__main__":
    main()
