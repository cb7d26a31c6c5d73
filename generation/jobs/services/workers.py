"""Workers report that they are alive, and how much of their device's memory is used."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Q
from django.utils import timezone

from annotation.core.code_version import code_version
from annotation.core.heartbeat import PeriodicThread
from generation.backends.memory import device_memory
from generation.models import Worker

log = logging.getLogger(__name__)
REPORT_EVERY = 30.0
"""seconds between two reports"""
SILENT_AFTER = timedelta(seconds=4 * REPORT_EVERY)
"""A worker that has not reported for this long is considered gone."""
_DELETED_AFTER = timedelta(days=1)


def report(*, queue: str, now: datetime | None = None) -> Worker:
    """Record that this process works on `queue`.

    Deletes workers that have been gone for a day, and those on this machine that fell silent before this one
    started: it replaces them.
    """
    now = now or timezone.now()
    host = socket.gethostname()[:120]
    memory = device_memory(settings.MODEL_DEVICE)
    values = {
        "seen_at": now,
        "device": memory.device[:80] if memory else "",
        "memory_used": memory.used if memory else None,
        "memory_total": memory.total if memory else None,
    }
    fixed = {"host": host, "queue": queue, "version": code_version()[:80], "started_at": now}
    worker, _ = Worker.objects.update_or_create(
        name=_name(queue), defaults=values, create_defaults=values | fixed
    )
    gone = Q(seen_at__lt=now - _DELETED_AFTER)
    replaced = Q(host=host, queue=queue, seen_at__lt=min(now - SILENT_AFTER, worker.started_at))
    Worker.objects.filter(gone | replaced).delete()
    return worker


@contextmanager
def reporting(*, queue: str) -> Iterator[None]:
    """`with reporting(queue="default"): ...` reports at once, then every half minute from a thread.

    At the end it deletes the worker's row: a worker that is stopped on purpose is not missing.
    """
    _log_database_errors(lambda: report(queue=queue))
    with PeriodicThread(lambda: bool(report(queue=queue)), every=lambda: REPORT_EVERY, name="report"):
        yield
    _log_database_errors(lambda: Worker.objects.filter(name=_name(queue)).delete())


def _log_database_errors(query: Callable[[], object]) -> None:
    """A worker starts even if it cannot report, for example while the database restarts."""
    try:
        query()
    except DatabaseError as error:
        log.warning("the worker could not report: %s", error)
    finally:
        # Celery forks, and a child must not find this connection.
        connection.close()


def _name(queue: str) -> str:
    return f"{queue} {socket.gethostname()[:120]} {os.getpid()}"
