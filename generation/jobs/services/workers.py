"""Workers report that they are alive, and how much of their device's memory is used."""

import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Concat
from django.utils import timezone

from annotation.core.code_version import code_version
from annotation.core.heartbeat import PeriodicThread
from generation.models import Run, RunState, Worker

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
    device, used, total = device_memory(settings.MODEL_DEVICE)
    values = {"seen_at": now, "device": device[:80], "memory_used": used, "memory_total": total}
    fixed = {"host": host, "queue": queue, "version": code_version()[:80], "started_at": now}
    worker, _ = Worker.objects.update_or_create(
        name=_name(queue), defaults=values, create_defaults=values | fixed
    )
    gone = Q(seen_at__lt=now - _DELETED_AFTER)
    # One that fell ill stays for a day, so that an admin sees which.
    silent = min(now - SILENT_AFTER, worker.started_at)
    replaced = Q(host=host, queue=queue, seen_at__lt=silent, ill_at=None)
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


def note(*, run: Run | None, loading: bool = False) -> None:
    """Record what this worker does, for the run's page. A process that does not report has no row."""
    with transaction.atomic():
        _own().update(run=run, loading_since=timezone.now() if loading else None)


def note_illness(run: Run, error: str) -> None:
    """Record that this worker's device or model fails, for the health page. It must end then."""
    now = timezone.now()
    ended = Concat("name", Value(f" {now.isoformat()}"))  # the next process may have the same number
    _own().update(name=ended, run=run, loading_since=None, ill_at=now, error=error)


def others() -> QuerySet[Worker]:
    """The other workers that report and can do jobs of runs."""
    alive = Worker.objects.filter(seen_at__gte=timezone.now() - SILENT_AFTER, ill_at=None)
    return alive.exclude(queue="default").exclude(pk__in=_own())


def loading(run: Run) -> datetime | None:
    """Since when a worker has been loading the run's model, if one is and no worker has it already."""
    busy = Worker.objects.filter(run=run, ill_at=None, seen_at__gte=timezone.now() - SILENT_AFTER)
    since = list(busy.values_list("loading_since", flat=True))
    return None if None in since else min(filter(None, since), default=None)


def runs_in_hand() -> set[int]:
    """The ids of the runs that living workers are on: their models are loaded or being loaded."""
    alive = Worker.objects.filter(seen_at__gte=timezone.now() - SILENT_AFTER, ill_at=None)
    at_work = alive.filter(Q(run__state=RunState.RUNNING) | Q(run__isnull=False, loading_since__isnull=False))
    return set(at_work.values_list("run", flat=True))


def _own() -> QuerySet[Worker]:
    """This process's rows, or its parent's: of Celery's workers the main process reports."""
    here = Worker.objects.filter(host=socket.gethostname()[:120])
    return here.filter(
        Q(name__endswith=f" {os.getpid()}") | Q(name__endswith=f" {os.getppid()}", queue__contains="gpu")
    )


def device_memory(device: str) -> tuple[str, int | None, int | None]:
    """Name and memory in bytes, used by all processes and in all, of the GPU that torch uses in this process:
    `device` (*cuda:1*), or the first.

    Empty without torch, without a GPU, for another kind of device, or before a model is on the GPU: this must
    neither import torch (11 s) nor allocate GPU memory itself.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or not (device or "cuda").startswith("cuda"):
        return "", None, None
    number = int(device.partition(":")[2] or 0)
    free, total = torch.cuda.mem_get_info(number)
    return f"cuda:{number} {torch.cuda.get_device_name(number)}", int(total - free), int(total)


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
