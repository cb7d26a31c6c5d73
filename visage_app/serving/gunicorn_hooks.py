"""gunicorn's configuration: `--config python:visage_app.serving.gunicorn_hooks`.

Its log lines have the program's format, its processes count requests in one folder
(observability/requests.py), and a request with too long headers is refused in the API's format.
"""

import json
import os
import shutil
import socket
import tempfile
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine
from gunicorn.util import write_nonblock
from gunicorn.workers.gthread import ThreadWorker

from visage_app.observability import logs

# Same as in observability/requests.py, which cannot be imported here: prometheus_client looks for the
# folder when it is imported, and at this time it does not exist yet.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
logconfig_dict = logs.configured()
worker_class = "visage_app.serving.gunicorn_hooks.Worker"


class Worker(ThreadWorker):
    """One thread per request. A request that gunicorn refuses for its length never reaches Django and its
    path is unknown, so the response is always a problem of the API (docs/api.md)."""

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        if isinstance(exc, LimitRequestLine):
            status = HTTPStatus.REQUEST_URI_TOO_LONG
            detail = (
                f"The request line is longer than {self.cfg.limit_request_line:,} bytes. "
                "Send fewer or shorter parameters."
            )
        elif isinstance(exc, LimitRequestHeaders):
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            detail = (
                f"There are more than {self.cfg.limit_request_fields} header fields, or one is longer than "
                f"{self.cfg.limit_request_field_size:,} bytes. Send fewer or shorter ones."
            )
        else:
            super().handle_error(req, client, addr, exc)
            return
        self.log.warning("A request was refused with %s: %s", status.value, exc)
        with suppress(OSError):  # the client may have disconnected
            write_nonblock(client, refusal(status, detail))


def refusal(status: HTTPStatus, detail: str) -> bytes:
    """The raw HTTP response."""
    from annotation.api.errors import MEDIA_TYPE, problem  # Django is not set up yet when this file is read

    # An empty instance means the requested URL.
    body = json.dumps(problem(status=status, detail=detail, instance="")).encode()
    lines = (
        f"HTTP/1.1 {status.value} {status.phrase}",
        "Connection: close",
        f"Content-Type: {MEDIA_TYPE}",
        f"Content-Length: {len(body)}",
        "Cache-Control: private, no-store",
        "X-Content-Type-Options: nosniff",
    )
    return "\r\n".join((*lines, "", "")).encode() + body


def on_starting(server: Any) -> None:
    """Create a folder for this server only: its counters start at zero and do not mix with another
    server's."""
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="visage-metrics-")


def child_exit(server: Any, worker: Any) -> None:
    """Drop the gauges of the ended process; its counters stay."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(worker.pid)


def on_exit(server: Any) -> None:
    shutil.rmtree(os.environ.pop(FOLDER), ignore_errors=True)
