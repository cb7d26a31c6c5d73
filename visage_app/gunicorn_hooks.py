"""What gunicorn is told besides its command: `--config python:visage_app.gunicorn_hooks`.

Its own lines look like those of the program, and its processes count requests in one folder
(request_metrics.py).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from visage_app import logs

# As in request_metrics.py, which is not imported here: prometheus_client looks for the folder once, when it
# is imported, and the processes must not inherit that look from before there was one.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
logconfig_dict = logs.configured()


def on_starting(server: Any) -> None:
    """A folder of this server's own: it begins to count at nought, and two servers do not add up."""
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="visage-metrics-")


def child_exit(server: Any, worker: Any) -> None:
    """Forget what was true of that process alone; what it counted stays."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(worker.pid)


def on_exit(server: Any) -> None:
    shutil.rmtree(os.environ.pop(FOLDER), ignore_errors=True)
