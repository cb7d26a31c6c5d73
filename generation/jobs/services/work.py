"""The worker's loop: claim, run, store, complete, while the next batch is on the device.

The calling thread does all database work except renewing leases. A worker that is killed leaves claimed jobs,
which others claim when the lease expires, and at worst a file without a row: the job that is done again
writes the same bytes to the same name.
"""

import logging
import os
import socket
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import wait
from datetime import timedelta
from functools import partial
from typing import TypeVar

from django.db import IntegrityError, InterfaceError, OperationalError, connection
from django.db.models import Q
from django.utils import timezone

from annotation.core.leases import Heartbeat
from generation.backends.base import BackendError
from generation.jobs.services import claims, loaded_model, model_versions
from generation.jobs.services.batches import Batch, BatchPipeline, Outcome
from generation.jobs.services.handlers import HANDLERS, JobHandler
from generation.jobs.services.loaded_model import Model
from generation.models import Run, RunState
from generation.recipes import recipes

log = logging.getLogger(__name__)
T = TypeVar("T")
# One batch on the device and one ready for it.
_BATCHES_IN_FLIGHT = 2
# A pause, a cancellation or a request to stop is noticed within this time, however long a batch takes.
_POLL_SECONDS = 1.0
_DISK_FULL_SECONDS = 60
# Together long enough for a database restart; losing the finished batch would cost more.
_DATABASE_PAUSES = (0.5, 1, 2, 4, 8, 16, 30)


def work(
    *,
    run_id: int,
    seconds: float | None = None,
    batches: int | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> int:
    """Do the pending jobs of a running run; returns how many were finished.

    Ends when nothing is left to claim, after `seconds` or `batches` (a started batch is finished), when
    `stopping()` or when the run is paused or cancelled. Errors of a job or a model are stored in the rows,
    not raised. Raises OperationalError if the database stays unreachable.
    """
    running = Run.objects.select_related("image_set").filter(pk=run_id, state=RunState.RUNNING)
    run = _with_retries(running.first)
    if run is None:
        return 0
    if not _with_retries(claims.claimable_jobs().filter(run_id=run_id).exists):
        _with_retries(lambda: claims.close_run(run_id=run_id))
        return 0
    try:
        recipe = _with_retries(lambda: model_versions.pin_revision(run, recipes.from_json(run.recipe)))
        model = loaded_model.run_on_device(loaded_model.load, recipe).result()
        # Loading may take minutes, and an idle connection may be cut meanwhile.
        _with_retries(lambda: model_versions.record(run, model.about))
    except (BackendError, recipes.RecipeRefused) as error:
        reason = str(error)
        log.warning("run %s is paused: %s", run_id, reason)
        _with_retries(lambda: claims.pause_run(run_id=run_id, error=reason))
        return 0
    if run.batch_size is not None:
        model.batch = min(model.batch, run.batch_size)
    handler = HANDLERS[run.kind](run, recipe, model)
    until = None if seconds is None else time.monotonic() + seconds
    done = _Session(run, handler, model, until=until, batches=batches, stopping=stopping).work()
    _with_retries(lambda: claims.close_run(run_id=run_id))
    return done


def work_pending(
    *,
    seconds: float | None = None,
    batches: int | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> int:
    """Work on the oldest running run; returns how many jobs were finished.

    Called by the embedded worker. The run that was started first is finished first, so that each model is
    loaded once.
    """
    for run_id in runs_needing_work():
        done = work(run_id=run_id, seconds=seconds, batches=batches, stopping=stopping)
        if done or stopping():
            return done
    return 0


def runs_needing_work() -> list[int]:
    """Ids of running runs with claimable jobs, or with no open jobs left (to be closed); oldest first."""
    now = timezone.now()
    running = Run.objects.filter(state=RunState.RUNNING).order_by("started_at", "pk")
    ids = list(running.values_list("pk", flat=True))
    ready = claims.claimable_jobs(now)
    unfinished = claims.open_jobs()
    return [pk for pk in ids if ready.filter(run_id=pk).exists() or not unfinished.filter(run_id=pk).exists()]


class _Session:
    """One worker working on one run."""

    def __init__(
        self,
        run: Run,
        handler: JobHandler,
        model: Model,
        *,
        until: float | None,
        batches: int | None,
        stopping: Callable[[], bool],
    ) -> None:
        self._run, self._handler, self._model = run, handler, model
        self._until, self._batches, self._stopping = until, batches, stopping
        self._batch_size = model.batch
        self._pipeline = BatchPipeline(handler, model)
        self._waiting: deque[Batch] = deque()
        self._heartbeat = Heartbeat()
        self._worker = f"{socket.gethostname()} {os.getpid()}"

    def work(self) -> int:
        done = 0
        with self._heartbeat:
            try:
                self._claim_ahead()
                while self._waiting:
                    done += self._finish(self._waiting[0])
                    self._claim_ahead()
            except BackendError as error:
                reason = str(error)
                log.warning("run %s is paused: %s", self._run.pk, reason)
                _with_retries(lambda: claims.pause_run(run_id=self._run.pk, error=reason))
            finally:
                self._release_all()
        return done

    def _claim_ahead(self) -> None:
        while len(self._waiting) < _BATCHES_IN_FLIGHT and not self._must_stop():
            limit = min(self._model.batch, self._handler.max_jobs)
            claim = _with_retries(
                partial(claims.claim, run_id=self._run.pk, limit=limit, worker=self._worker)
            )
            if claim is None:
                return
            if self._batches is not None:
                self._batches -= 1
            self._heartbeat.add(claim)
            self._waiting.append(self._pipeline.submit(claim))

    def _must_stop(self) -> bool:
        late = self._until is not None and time.monotonic() >= self._until
        return late or self._batches == 0 or self._stopping()

    def _finish(self, batch: Batch) -> int:
        """Wait for a batch, store its results, write the rows; returns how many jobs were finished."""
        outcome = self._await(batch)
        if self._model.batch < self._batch_size:
            self._save_batch_size()
        stored = self._pipeline.store(outcome)
        done = self._write(batch, stored)
        self._waiting.remove(batch)
        self._heartbeat.remove(batch.claim)
        if stored.disk_full:
            self._wait_for_disk()
        return done

    def _await(self, batch: Batch) -> Outcome:
        while not wait([batch.future], timeout=_POLL_SECONDS).done:
            if self._stopping() or not self._is_running():
                self._release_waiting(but=batch)
        return batch.future.result()

    def _write(self, batch: Batch, stored: Outcome) -> int:
        claim = batch.claim
        done = 0
        if stored.made:
            try:
                done = _with_retries(lambda: self._handler.complete(claim, stored.made))
            except (OperationalError, InterfaceError):
                raise
            except Exception as error:
                log.warning("the results of %s jobs could not be stored", len(stored.made), exc_info=True)
                taken = isinstance(error, IntegrityError)
                cause = "its place is already taken" if taken else type(error).__name__
                reason = f"The result could not be stored ({cause}): {error}"
                stored.failed |= {one.job.pk: reason for one in stored.made}
        if stored.failed:
            _with_retries(lambda: claim.fail(stored.failed))
        if stored.disk_full:
            later = timezone.now() + timedelta(seconds=_DISK_FULL_SECONDS)
            message = next(iter(stored.disk_full.values()))
            log.warning("the disk is full (%s); trying again in %s s", message, _DISK_FULL_SECONDS)
            _with_retries(lambda: claim.release(stored.disk_full, error=message, not_before=later))
        return done

    def _save_batch_size(self) -> None:
        """Save the batch size that fits into memory; the smallest of all workers wins."""
        size = self._model.batch
        larger = Q(batch_size__isnull=True) | Q(batch_size__gt=size)
        _with_retries(lambda: Run.objects.filter(larger, pk=self._run.pk).update(batch_size=size))
        _with_retries(lambda: model_versions.record(self._run, self._model.about))
        self._batch_size = size

    def _wait_for_disk(self) -> None:
        """Wait before the disk is tried again, without holding any jobs."""
        self._release_waiting()
        until = time.monotonic() + _DISK_FULL_SECONDS
        while time.monotonic() < until and not self._must_stop() and self._is_running():
            time.sleep(_POLL_SECONDS)

    def _is_running(self) -> bool:
        try:
            return Run.objects.filter(pk=self._run.pk, state=RunState.RUNNING).exists()
        except (OperationalError, InterfaceError):
            return True  # unknown; the next claim checks again

    def _release_waiting(self, *, but: Batch | None = None) -> None:
        """Release the batches that the device has not started, except the one that is being waited for."""
        for batch in list(self._waiting):
            if batch is not but and batch.future.cancel():
                self._waiting.remove(batch)
                self._heartbeat.remove(batch.claim)
                _with_retries(batch.claim.release)

    def _release_all(self) -> None:
        """Release what is still claimed: nothing, unless something went wrong."""
        for batch in self._waiting:
            batch.future.cancel()
            try:
                batch.claim.release()
            except (OperationalError, InterfaceError):
                log.warning("%s jobs stay claimed until their lease expires", len(batch.claim.jobs))
        self._waiting.clear()
        self._pipeline.shutdown()


def _with_retries(query: Callable[[], T]) -> T:
    """Run a database operation, again if the connection is lost.

    Updates check the claim's key, so one whose acknowledgement was lost is not applied twice.
    """
    for pause in _DATABASE_PAUSES:
        try:
            return query()
        except (OperationalError, InterfaceError) as error:
            if connection.in_atomic_block:
                raise
            log.warning("the database is unreachable (%s); trying again in %s s", error, pause)
            connection.close()
            time.sleep(pause)
    return query()
