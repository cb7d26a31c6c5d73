"""Workers say that they live, and what of their device's memory is used."""

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
EVERY = 30.0
"""seconds between two reports"""
SILENT = timedelta(seconds=4 * EVERY)
"""Who has not reported for so long is gone, or its machine is."""
_FORGOTTEN = timedelta(days=1)


def report(*, queue: str, now: datetime | None = None) -> Worker:
    """Note that this process works on `queue`. Those that have long been gone are forgotten, and those that
    fell silent on this machine before this one began: it took their place."""
    now = now or timezone.now()
    host = socket.gethostname()[:120]
    memory = device_memory(settings.MODEL_DEVICE)
    told = {
        "seen_at": now,
        "device": memory.device[:80] if memory else "",
        "memory_used": memory.used if memory else None,
        "memory_total": memory.total if memory else None,
    }
    made = {"host": host, "queue": queue, "version": code_version()[:80], "started_at": now}
    worker, _ = Worker.objects.update_or_create(name=_name(queue), defaults=told, create_defaults=told | made)
    gone = Q(seen_at__lt=now - _FORGOTTEN)
    replaced = Q(host=host, queue=queue, seen_at__lt=min(now - SILENT, worker.started_at))
    Worker.objects.filter(gone | replaced).delete()
    return worker


@contextmanager
def reporting(*, queue: str) -> Iterator[None]:
    """`with reporting(queue="default"): ...` reports at once, then every half minute from a thread, and takes
    the name off the list at the end: who is told to end is not missed."""
    _survive(lambda: report(queue=queue))
    with PeriodicThread(lambda: bool(report(queue=queue)), every=lambda: EVERY, name="report"):
        yield
    _survive(lambda: Worker.objects.filter(name=_name(queue)).delete())


def _survive(do: Callable[[], object]) -> None:
    """Reporting is not worth a worker: one whose database is just being restarted begins all the same."""
    try:
        do()
    except DatabaseError as error:
        log.warning("the worker could not report: %s", error)
    finally:
        # Celery forks, and a child must not find this connection.
        connection.close()


def _name(queue: str) -> str:
    return f"{queue} {socket.gethostname()[:120]} {os.getpid()}"


__all__ = ["EVERY", "SILENT", "report", "reporting"]
