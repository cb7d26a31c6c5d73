"""`manage.py worker`: the embedded worker, which finds waiting jobs in the database (DESIGN §9)."""

import logging
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import close_old_connections
from django.utils import timezone

from annotation import export_files
from annotation.assignment.services import slots
from annotation.exports import tasks as export_tasks
from annotation.exports.services import jobs as export_jobs
from annotation.images import files as image_files
from annotation.imports import files as import_files
from annotation.imports import tasks as import_tasks
from annotation.imports.services import jobs as import_jobs
from annotation.webhooks.services import deliveries, events
from generation.jobs import tasks
from generation.jobs.services import work, workers
from generation.jobs.services.sickness import WorkerIll
from metrics.associations import tasks as association_tasks
from metrics.associations.services import lists as association_lists
from metrics.candidates import tasks as candidate_tasks
from metrics.candidates.services import lists as candidate_lists
from metrics.score_runs import services as score_runs
from metrics.score_runs import tasks as score_tasks
from metrics.score_runs.shared_resamples import sharing_resamples

log = logging.getLogger(__name__)
Duty = tuple[str, Callable[[], int]]
POLL_SECONDS = 1.0
# How long the other duties may wait while the worker works on a run.
SLICE_SECONDS = 20.0
SWEEP_SECONDS = 10.0
TIDY_SECONDS = 600.0
FORGET_SECONDS = 3600.0


class Command(BaseCommand):
    help = (
        "Process waiting jobs until stopped. Queue default: compute score runs, make exports, import "
        "uploaded files, deliver webhooks, return expired leases. Queue gpu: generate, caption and embed. "
        "With CELERY_BROKER_URL set, Celery's workers process scores, exports, imports and runs; this one "
        "does the rest and sends lost messages again."
    )
    _stopping = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="process the waiting jobs, then exit")
        parser.add_argument("--queue", choices=("default", "gpu", "all"), default="all", help="default: all")

    def handle(self, *args: Any, once: bool, queue: str, **options: Any) -> None:
        if settings.CELERY_BROKER_URL and queue == "gpu":
            raise CommandError(
                "CELERY_BROKER_URL is set, so Celery's workers do this. "
                "Run: celery -A visage_app worker -Q gpu -P solo"
            )
        if not once:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._stop)
        if settings.CELERY_BROKER_URL:
            self.stdout.write(
                "CELERY_BROKER_URL is set, so Celery's workers compute scores, make exports and import files "
                "(celery -A visage_app worker -Q default) and run models "
                "(celery -A visage_app worker -Q gpu -P solo). This worker returns expired leases, delivers "
                "webhooks and sends lost messages again."
            )
        with sharing_resamples():
            self._repeat(self._duties(queue), queue=queue, once=once)

    def _repeat(self, duties: list[Duty], *, queue: str, once: bool) -> None:
        """Repeat the rounds: with `once` until nothing is waiting, otherwise until stopped."""
        if once:
            while self._round(duties):
                pass
            return
        ill = ""
        with workers.reporting(queue=queue):
            while not self._stopping and not ill:
                # As before each web request: after a restart of the database, only one round fails.
                close_old_connections()
                try:
                    # If the round did something, start the next at once: more may be waiting.
                    if not self._round(duties):
                        time.sleep(POLL_SECONDS)
                except WorkerIll as error:
                    ill = str(error)
        if ill:
            raise CommandError(f"The worker ends because its device or model fails: {ill}")
        self.stdout.write("The worker has stopped.")

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Stop after the current row or batch. A kill loses nothing either: the lease expires (DESIGN §6)."""
        self._stopping = True

    def _duties(self, queue: str) -> list[Duty]:
        """The duties of a round, in order."""
        default: list[Duty] = [
            ("returning expired leases", _release),
            ("delivering webhooks", _deliver),
            ("deleting old webhook messages", _every(FORGET_SECONDS, deliveries.forget_old)),
            ("deleting old exports", _every(TIDY_SECONDS, export_files.clean_up)),
            ("deleting old uploads", _every(TIDY_SECONDS, import_files.clean_up)),
            ("deleting unfinished image files", _every(TIDY_SECONDS, image_files.sweep_unfinished)),
        ]
        if settings.CELERY_BROKER_URL:
            return [*default, ("sending lost messages again", _every(SWEEP_SECONDS, _sweep))]
        default.append(("computing a score run", _compute))
        default.append(("finding candidates", candidate_lists.compute_pending))
        default.append(("finding associations", association_lists.compute_pending))
        default.append(("making an export", self._export))
        default.append(("importing uploaded files", self._import))
        gpu = [("working on a run", self._work)]
        return {"default": default, "gpu": gpu, "all": [*default, *gpu]}[queue]

    def _round(self, duties: list[Duty]) -> int:
        """Do one piece of each duty, so that none waits for long; return how much was done."""
        return sum(_do_safely(what, duty) for what, duty in duties if not self._stopping)

    def _work(self) -> int:
        return work.work_pending(seconds=SLICE_SECONDS, stopping=lambda: self._stopping)

    def _export(self) -> int:
        return export_jobs.make_pending(limit=1, stopping=lambda: self._stopping)

    def _import(self) -> int:
        return import_jobs.work_pending(limit=1, stopping=lambda: self._stopping)


def _release() -> int:
    return slots.release_expired(now=timezone.now())


def _deliver() -> int:
    """Create messages about new answers and send waiting ones."""
    return events.queue_messages() + deliveries.deliver_pending()


def _sweep() -> None:
    tasks.sweep()
    # Scores first: the others take longer, and a message of any kind in the queue stops the others.
    score_tasks.sweep()
    candidate_tasks.sweep()
    association_tasks.sweep()
    export_tasks.enqueue_waiting()
    import_tasks.enqueue_waiting()


def _every(seconds: float, work: Callable[[], object]) -> Callable[[], int]:
    """A duty that is done every `seconds`. It returns 0: that it was done does not mean that more waits."""
    done_at = float("-inf")

    def duty() -> int:
        nonlocal done_at
        if time.monotonic() - done_at >= seconds:
            done_at = time.monotonic()
            work()
        return 0

    return duty


def _compute() -> int:
    # One at a time, so that the worker can stop between two of them.
    return score_runs.compute_pending(limit=1)


def _do_safely(what: str, duty: Callable[[], int]) -> int:
    """Do one duty. An error is logged and ends only this round of the duty, not the worker, unless the worker
    itself is ill."""
    try:
        return duty()
    except WorkerIll:
        raise
    except Exception:
        log.exception("%s failed; trying again in the next round", what)
        return 0
