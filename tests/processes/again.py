"""What a worker does all day, in one process: `python -m tests.processes.again ROUNDS`. Prints the resident
memory in bytes after each round."""

from __future__ import annotations

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "visage_app.settings")
django.setup()

import psutil  # noqa: E402

from annotation.exports.selection import Filters  # noqa: E402
from annotation.exports.services import jobs as export_jobs  # noqa: E402
from metrics.score_runs import services as score_runs  # noqa: E402
from tests import factories  # noqa: E402

ANSWERS = 100


def rounds(number: int) -> None:
    """An export and scores, again and again, of a study that grows by one answer each time."""
    study, admin = factories.study("load"), factories.user("root", admin=True)
    task = factories.task(study)
    factories.responses((unit, None, None) for unit in factories.attribute_units(task, ANSWERS))
    held = []
    for turn in range(number):
        factories.response(factories.attribute_unit(task))
        fmt = ("csv", "parquet")[turn % 2]
        job = export_jobs.request(study=study, fmt=fmt, filters=Filters(), by=admin)
        export_jobs.make_pending()
        score_runs.request(study=study, metric="visual_nature", variant="corrected")
        score_runs.compute_pending()
        job.refresh_from_db()
        assert job.state == "done", job.error
        held.append(psutil.Process().memory_info().rss)
    print(json.dumps(held))


if __name__ == "__main__":
    rounds(int(sys.argv[1]))
