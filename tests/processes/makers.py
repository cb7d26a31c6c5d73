"""Workers on runs as processes of their own, some of which kill themselves."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.files.storage import default_storage  # noqa: E402
from django.db import OperationalError, connection  # noqa: E402

from annotation.images import files as image_files  # noqa: E402
from annotation.models import Image  # noqa: E402
from generation.backends.image_fake import FakeTextToImage  # noqa: E402
from generation.jobs import tasks  # noqa: E402
from generation.jobs.services import claims, pauses, session, work  # noqa: E402
from generation.models import Job, Provenance, Run, RunState, Worker  # noqa: E402
from tests.generation.jobs.world import run_of_pictures  # noqa: E402
from tests.processes import mounts  # noqa: E402
from tests.processes.meeting import meet  # noqa: E402
from tests.waiting import PATIENCE_SECONDS  # noqa: E402

T = TypeVar("T")


def plan(number: str) -> int:
    """A running run of so many pictures; its id."""
    return run_of_pictures(int(number)).pk


def make(run_id: str, die: str = "", pause: str = "0", place: str = "") -> int:
    """Work until the run is over; with `die` the process kills itself at that step; with `place` it begins
    when another does. How many it finished."""
    FakeTextToImage.batch = 8
    if float(pause):
        _slowly(float(pause))
    if die:
        STEPS[die]()
    if place:
        meet(place, 2)
    done = 0
    while _is_running(run_id):
        made = work.work(run_id=int(run_id))
        done += made
        if not made:
            time.sleep(0.2)
    return done


def until(run_id: str, state: str = "", number: str = "1", sweep: str = "") -> dict[str, object]:
    """Wait until so many jobs of a run are in a state or, without one, until the run is over, but not for
    ever; what there is of it then. With `sweep`, it sweeps each second, as beat each minute."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and not _reached(run_id, state, int(number)):
        if sweep:
            tasks.sweep()
        time.sleep(1 if sweep else 0.2)
    return _count(int(run_id))


def _reached(run_id: str, state: str, number: int) -> bool:
    if not state:
        return not _is_running(run_id)
    return _asked(lambda: Job.objects.filter(run=run_id, state=state).count()) >= number


def _is_running(run_id: str) -> bool:
    return _asked(lambda: Run.objects.get(pk=run_id).state) == RunState.RUNNING


def _asked(question: Callable[[], T]) -> T:
    """A test cuts connections at any moment, also at this one, which is not the worker's."""
    try:
        return question()
    except OperationalError:
        connection.close()
        return _asked(question)


def make_on_a_small_disk(run_id: str) -> dict[str, object]:
    """Work where there is room for a part only; more room comes when it has been missed."""
    pauses.STORAGE_SECONDS = 1
    media = Path(settings.MEDIA_ROOT)
    mounts.go_apart()
    mounts.mount(media, "200k")
    waiting = Job.objects.filter(run_id=run_id, error__contains="No space left")
    enough = time.monotonic() + 8
    work.work(run_id=int(run_id), stopping=lambda: time.monotonic() > enough and waiting.exists())
    missed = {"waiting": waiting.count(), "tries": sorted(set(waiting.values_list("attempts", flat=True)))}
    before = _count(int(run_id))
    mounts.resize(media, "50m")
    while Run.objects.get(pk=run_id).state == RunState.RUNNING:
        if not work.work(run_id=int(run_id)):
            time.sleep(0.2)
    return {**missed, "before": before, "after": _count(int(run_id))}


def count(run_id: str) -> dict[str, object]:
    return _count(int(run_id))


def ill() -> list[str]:
    """The errors of the workers that fell ill."""
    return list(Worker.objects.exclude(ill_at=None).values_list("error", flat=True))


def change(run_id: str, state: str) -> None:
    Run.objects.filter(pk=run_id).update(state=state)


def ring(run_id: str) -> None:
    tasks.enqueue(Run.objects.get(pk=run_id))


def sweep() -> int:
    return tasks.sweep()


def _count(run_id: int) -> dict[str, object]:
    """What there is of a run, and what should not be."""
    run = Run.objects.get(pk=run_id)
    images = Image.objects.filter(image_set=run.image_set)
    seeds = list(Provenance.objects.filter(run=run).values_list("seed", flat=True))
    damaged = [
        image.file.name for image in images if not image_files.is_stored(image.file.name, sha256=image.sha256)
    ]
    kept = default_storage.listdir("images")[1] if default_storage.exists("images") else []
    return {
        "state": run.state,
        "error": run.error,
        "jobs": Counter(run.jobs.values_list("state", flat=True)),
        "tries": Counter(run.jobs.values_list("attempts", flat=True)),
        "errors": sorted(set(run.jobs.exclude(error="").values_list("error", flat=True))),
        "workers": run.jobs.exclude(worker="").values("worker").distinct().count(),
        "images": images.count(),
        "provenances": len(seeds),
        "doubled": len(seeds) - len(set(seeds)),
        "damaged": damaged,
        "half_written": len([name for name in kept if name.startswith(".")]),
        "without_a_row": len(
            {name for name in kept if name[0] != "."} - {Path(i.file.name).name for i in images}
        ),
    }


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _slowly(pause: float) -> None:
    draw = FakeTextToImage.generate

    def generate(self, wanted):
        time.sleep(pause)
        return draw(self, wanted)

    FakeTextToImage.generate = generate


def _die_with(statement: str, *, after: bool) -> None:
    """Die when a statement with these words is run for the third time: before or after it, not committed."""
    seen = []

    def watch(execute, sql, params, many, context):
        if statement in sql:
            seen.append(sql)
        if len(seen) == 3 and not after:
            _die()
        result = execute(sql, params, many, context)
        if len(seen) == 3:
            _die()
        return result

    connection.ensure_connection()
    connection.execute_wrappers.append(watch)


def _die_claiming() -> None:
    _die_with('UPDATE "generation_job"', after=True)


def _die_claimed() -> None:
    claim, times = claims.claim, []

    def dying(**arguments):
        mine = claim(**arguments)
        times.append(1)
        if len(times) == 3:
            _die()
        return mine

    claims.claim = dying


def _die_generating() -> None:
    draw, times = FakeTextToImage._draw, []

    def dying(self, one):
        times.append(1)
        if len(times) == 20:
            _die()
        return draw(self, one)

    FakeTextToImage._draw = dying


def _stop_generating() -> None:
    """Stop while a batch is made, and go on when told to. Not while another is claimed: whoever is stopped in
    a transaction holds up all others."""
    wait = session.Session._await

    def stopping(self, batch):
        session.Session._await = wait
        os.kill(os.getpid(), signal.SIGSTOP)
        return wait(self, batch)

    session.Session._await = stopping


def _die_writing() -> None:
    fchmod, times = os.fchmod, []

    def dying(descriptor, mode):
        times.append(1)
        if len(times) == 20:
            os.ftruncate(descriptor, 10)
            _die()
        fchmod(descriptor, mode)

    os.fchmod = dying


def _die_written() -> None:
    replace, times = Path.replace, []

    def dying(self, target):
        replace(self, target)
        times.append(1)
        if len(times) == 20:
            _die()

    Path.replace = dying


def _die_completing() -> None:
    _die_with('INSERT INTO "generation_provenance"', after=True)


def _die_storing() -> None:
    _die_with('INSERT INTO "generation_answer"', after=True)


def _die_completed() -> None:
    close = claims.close_run

    def dying(*, run_id):
        if not claims.open_jobs().filter(run_id=run_id).exists():
            _die()
        close(run_id=run_id)

    claims.close_run = dying


STEPS = {
    "claiming": _die_claiming,
    "claimed": _die_claimed,
    "generating": _die_generating,
    "asleep": _stop_generating,
    "writing": _die_writing,
    "written": _die_written,
    "completing": _die_completing,
    "storing": _die_storing,
    "completed": _die_completed,
}


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    print(json.dumps(globals()[name](*arguments)))
