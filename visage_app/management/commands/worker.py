"""`manage.py worker`: the embedded worker, which finds waiting work in the tables (DESIGN §9)."""

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

from annotation import export_files as services_files
from annotation.assignment.services import slots
from annotation.exports import tasks as export_tasks
from annotation.exports.services import jobs as export_jobs
from annotation.webhooks.services import deliveries, events
from generation.jobs import tasks
from generation.jobs.services import work, workers
from metrics.score_runs import services as score_runs
from metrics.score_runs import tasks as score_tasks
from metrics.score_runs.shared_resamples import sharing_resamples

log = logging.getLogger(__name__)
POLL_SECONDS = 1.0
# How long the other duties of this worker may wait while it works on a run.
SLICE_SECONDS = 20.0
SWEEP_SECONDS = 10.0
TIDY_SECONDS = 600.0
FORGET_SECONDS = 3600.0


class Command(BaseCommand):
    help = (
        "Do waiting work until told to stop. Queue default: compute score runs, make exports, return expired "
        "leases. "
        "Queue gpu: generate, caption and embed. With CELERY_BROKER_URL set, Celery's workers do the work; "
        "this one returns leases and rings again for work whose message was lost."
    )
    _stopping = False
    _swept = _tidied = float("-inf")
    _forgot = float("-inf")

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="do what is waiting now, then end")
        parser.add_argument("--queue", choices=("default", "gpu", "all"), default="all", help="default: all")

    def handle(self, *args: Any, once: bool, queue: str, **options: Any) -> None:
        if settings.CELERY_BROKER_URL and queue == "gpu":
            raise CommandError(
                "CELERY_BROKER_URL is set: Celery's workers do this. "
                "Run: celery -A visage_app worker -Q gpu -P solo"
            )
        if not once:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._stop)
        if settings.CELERY_BROKER_URL:
            self.stdout.write(
                "CELERY_BROKER_URL is set: Celery's workers compute the scores and make the exports "
                "(celery -A visage_app worker -Q default) and do what needs a model "
                "(celery -A visage_app worker -Q gpu -P solo). This one returns expired leases and rings "
                "again for work whose message was lost."
            )
        duties = self._duties(queue)
        with sharing_resamples():
            self._repeat(duties, queue=queue, once=once)

    def _repeat(self, duties: list[tuple[str, Callable[[], int]]], *, queue: str, once: bool) -> None:
        """Round after round: until nothing is waiting if `once`, else until told to stop."""
        if once:
            while self._round(duties):
                pass
            return
        with workers.reporting(queue=queue):
            self._until_told(duties)
        self.stdout.write("The worker has stopped.")

    def _until_told(self, duties: list[tuple[str, Callable[[], int]]]) -> None:
        while not self._stopping:
            # As a web server does before each request: a database that was restarted costs one round.
            close_old_connections()
            # A round that found work looks again at once: more may be waiting behind it.
            if not self._round(duties):
                time.sleep(POLL_SECONDS)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Stop after the row or batch at hand. A kill loses nothing either: its lease expires (DESIGN §6)."""
        self._stopping = True

    def _duties(self, queue: str) -> list[tuple[str, Callable[[], int]]]:
        """What is done in a round, in this order."""
        default: list[tuple[str, Callable[[], int]]] = [
            ("returning expired leases", _release),
            ("delivering webhooks", self._deliver),
            ("deleting old exports", self._tidy),
        ]
        if settings.CELERY_BROKER_URL:
            return [*default, ("ringing for waiting work", self._sweep)]
        default.append(("computing a score run", _compute))
        default.append(("making an export", self._export))
        gpu = [("working on a run", self._work)]
        return {"default": default, "gpu": gpu, "all": [*default, *gpu]}[queue]

    def _round(self, duties: list[tuple[str, Callable[[], int]]]) -> bool:
        """A piece of each duty, so that none waits for another to be through; whether anything was done."""
        done = False
        for what, duty in duties:
            if not self._stopping and _survive(what, duty):
                done = True
        return done

    def _work(self) -> int:
        return work.work_pending(seconds=SLICE_SECONDS, stopping=lambda: self._stopping)

    def _deliver(self) -> int:
        """Write messages about new answers, and send what waits; once an hour, forget what is long done."""
        if time.monotonic() - self._forgot >= FORGET_SECONDS:
            self._forgot = time.monotonic()
            deliveries.forget_old()
        return events.queue_messages() + deliveries.deliver_pending()

    def _export(self) -> int:
        return export_jobs.make_pending(limit=1, stopping=lambda: self._stopping)

    def _sweep(self) -> int:
        """Now and then; an answer of 0, since ringing is not work that more may wait behind."""
        if time.monotonic() - self._swept >= SWEEP_SECONDS:
            self._swept = time.monotonic()
            tasks.sweep()
            # scores first: an export takes longer, and one message of either keeps the other's away
            score_tasks.sweep()
            export_tasks.enqueue_waiting()
        return 0

    def _tidy(self) -> int:
        """Now and then, as above."""
        if time.monotonic() - self._tidied >= TIDY_SECONDS:
            self._tidied = time.monotonic()
            services_files.clean_up()
        return 0


def _release() -> int:
    return slots.release_expired(now=timezone.now())


def _compute() -> int:
    # One at a time, so that a request to stop is heard between two of them.
    return score_runs.compute_pending(limit=1)


def _survive(what: str, duty: Callable[[], int]) -> int:
    """Do one duty; an error is logged and costs this round only, never the worker."""
    try:
        return duty()
    except Exception:
        log.exception("%s failed; trying again in the next round", what)
        return 0
