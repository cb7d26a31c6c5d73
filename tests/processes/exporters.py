"""Workers on exports as processes of their own, which kill themselves at a step."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
import zipfile
from types import SimpleNamespace

import django

django.setup()

from annotation import export_files  # noqa: E402
from annotation.core.leases import JobState  # noqa: E402
from annotation.exports import packing  # noqa: E402
from annotation.exports.selection import Filters  # noqa: E402
from annotation.exports.services import jobs as export_jobs  # noqa: E402
from annotation.exports.services import writing  # noqa: E402
from annotation.models import AuditEvent, ExportJob, Judgement, Study  # noqa: E402
from tests import factories  # noqa: E402


def plan(units: str) -> list[int]:
    """A study with so many answers; one waiting export of it for each step and the id of each."""
    study = factories.study("load")
    answered(study, int(units))
    return [
        export_jobs.request(study=study, fmt="csv", filters=Filters(), by=factories.user(admin=True)).pk
        for _ in STEPS
    ]


def answered(study: Study, units: int) -> None:
    """A task of so many units, each with an answer in words, which no packing makes much smaller."""
    of = factories.attribute_units(factories.task(study), units)
    factories.responses((unit, None, None) for unit in of)
    said = list(Judgement.objects.filter(response__unit__in=of))
    for each in said:
        each.justification = os.urandom(40).hex()
    Judgement.objects.bulk_update(said, ["justification"])


def make(job_id: str, die: str = "") -> str:
    """Try until the export is done or failed; with `die` the process kills itself at that step."""
    if die:
        STEPS[die]()
    while True:
        export_jobs.make(job_id=int(job_id))
        state = ExportJob.objects.get(pk=job_id).state
        if state in (JobState.DONE, JobState.FAILED):
            return state
        time.sleep(0.2)


def finish(job_id: str) -> list[dict[str, object]]:
    """What a worker that died has left; and what there is after another has made it and tidied up."""
    left = _look(job_id)
    make(job_id)
    export_files.clean_up()
    return [left, _look(job_id)]


def _look(job_id: str) -> dict[str, object]:
    """How an export stands, what is in its file, and what lies about."""
    job = ExportJob.objects.get(pk=job_id)
    kept = export_files.storage()
    told: dict[str, object] = {
        "state": job.state,
        "attempts": job.attempts,
        "exports": AuditEvent.objects.filter(what="export", details__job=job.pk).count(),
        "files": sorted(kept.listdir("")[1]) if kept.exists("") else [],
        "unfinished": len(list(export_files.work_folder().iterdir())),
    }
    if job.file:
        with kept.open(job.file) as file:
            told["whole"] = hashlib.sha256(file.read()).hexdigest() == job.sha256
            with zipfile.ZipFile(file) as archive:
                told["rows"] = archive.read("annotations.csv").count(b"\r\n") - 1
    return told


def _die(*_args: object, **_kwargs: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_writing() -> None:
    packing.CHUNK_BYTES = 1
    begun = writing.archive

    def dying(**kwargs):
        for number, piece in enumerate(begun(**kwargs)):
            yield piece
            if number == 1:  # one of the README, then the first of the data
                _die()

    writing.archive = dying


def _die_written() -> None:
    export_jobs._finish = _die


def _die_kept() -> None:
    # not the one that the module itself calls at the end of its reading
    export_jobs.snapshot = SimpleNamespace(check_withdrawals=_die)


def _die_done() -> None:
    finish = export_jobs._finish

    def dying(*args):
        finish(*args)
        _die()

    export_jobs._finish = dying


STEPS = {
    "writing": _die_writing,
    "written": _die_written,
    "kept": _die_kept,
    "done": _die_done,
}


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    print(json.dumps(globals()[name](*arguments)))
