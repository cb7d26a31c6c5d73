"""One worker's time with one run: claim, run, store, complete, while the next batch is on the device.

The calling thread does all database work except renewing leases. A worker that is killed leaves claimed jobs,
which others claim when the lease expires, and at worst a file without a row: the job that is done again
writes the same bytes to the same name.
"""

import logging
import time
from collections import deque
from concurrent.futures import wait
from datetime import timedelta
from functools import partial

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from annotation.core.leases import Heartbeat
from generation.backends.base import BackendError, DeviceFailed, LocalModel
from generation.jobs.services import batch_sizes, claims, model_versions, pauses, sickness
from generation.jobs.services.batches import Batch, BatchPipeline, Outcome
from generation.jobs.services.handlers import JobHandler
from generation.jobs.services.loaded_model import Loaded
from generation.jobs.services.retries import with_retries
from generation.jobs.services.storing import store_all
from generation.jobs.services.turn import Turn

log = logging.getLogger(__name__)
# One batch on the device and one ready for it.
_BATCHES_IN_FLIGHT = 2


class Session:
    """One worker working on one run."""

    def __init__(
        self,
        turn: Turn,
        handler: JobHandler,
        loaded: Loaded[LocalModel],
    ) -> None:
        self._turn, self._run = turn, turn.run
        self._handler, self._loaded, self._model = handler, loaded, loaded.model
        self._batch_size = self._model.batch
        self._pipeline = BatchPipeline(handler, self._model)
        self._waiting: deque[Batch] = deque()
        self._suspect: list[tuple[Batch, Outcome]] = []
        self._made = self._failed = 0
        self._heartbeat = Heartbeat()

    def work(self) -> int:
        with self._heartbeat:
            try:
                self._claim_ahead()
                if not self._waiting and self._turn.leave_own and not self._turn.must_stop():
                    # What is left may be for other workers: do not ask for it in a busy loop.
                    time.sleep(pauses.POLL_SECONDS)
                while self._waiting:
                    self._finish(self._waiting[0])
                    self._claim_ahead()
                self._blame_jobs()
                self._turn.pause_if_exhausted()
            except BackendError as error:
                self._turn.pause(str(error))
            except DeviceFailed as error:
                self._fall_ill(str(error), device=True)
            finally:
                self._release_all()
        return self._made

    def _claim_ahead(self) -> None:
        while len(self._waiting) < _BATCHES_IN_FLIGHT and not self._turn.must_stop():
            claim = self._turn.claim(min(self._model.batch, self._handler.max_jobs))
            if claim is None:
                return
            self._heartbeat.add(claim)
            with_retries(partial(self._handler.claimed, claim.jobs))
            self._waiting.append(self._pipeline.submit(claim))

    def _finish(self, batch: Batch) -> None:
        """Wait for a batch, store its results and write the rows."""
        outcome = self._await(batch)
        self._note_size(batch)
        # Failures of whole batches in a row may be the worker's fault. New jobs tell: one that was tried
        # before may be to blame itself.
        if outcome.is_whole_failure and all(job.attempts == 1 for job in batch.claim.jobs):
            self._suspect.append((batch, outcome))
            self._waiting.remove(batch)
            if len(self._suspect) == sickness.BATCHES_IN_A_ROW:
                self._fall_ill(next(iter(outcome.failed.values())), device=False)
            return
        if outcome.made:
            self._blame_jobs()
        self._store(batch, outcome)
        self._waiting.remove(batch)

    def _blame_jobs(self) -> None:
        """The worker is well, so the jobs of the suspect batches failed by themselves."""
        for batch, outcome in self._suspect:
            self._store(batch, outcome)
        self._suspect.clear()

    def _fall_ill(self, error: str, *, device: bool) -> None:
        log.error("the worker gives its jobs back: %s", error)
        failed = [batch for batch, _ in self._suspect]
        if device:
            failed.append(self._waiting.popleft())
        with_retries(lambda: sickness.give_back(failed, error))
        self._suspect.clear()
        self._release_all()
        with_retries(lambda: sickness.judge(self._run, error, device=device))

    def _await(self, batch: Batch) -> Outcome:
        while not wait([batch.future], timeout=pauses.POLL_SECONDS).done:
            if self._turn.must_stop_now():
                self._release_waiting(but=batch)
        return batch.future.result()

    def _store(self, batch: Batch, outcome: Outcome) -> None:
        """Store what was made; as long as the storage does not take it, keep it and try again."""
        stored = self._pipeline.store(outcome)
        self._write(batch, stored)
        while stored.unstored:
            ids = [one.job.pk for one in stored.unstored]
            message = stored.storage_error
            log.warning("%s; trying again in %s s", message, pauses.STORAGE_SECONDS)
            with_retries(lambda: batch.claim.held(ids).update(error=message))  # noqa: B023 - called at once
            self._rest()
            if self._turn.must_stop_now():
                with_retries(lambda: batch.claim.release(ids, error=message))  # noqa: B023
                break
            stored = self._pipeline.store(Outcome(made=stored.unstored))
            self._write(batch, stored)
        self._heartbeat.remove(batch.claim)
        if outcome.unread:
            self._release_waiting()
            self._rest()

    def _write(self, batch: Batch, stored: Outcome) -> None:
        claim = batch.claim
        if stored.made:
            made, unstorable = store_all(self._handler, claim, stored.made)
            self._made += made
            stored.failed |= unstorable
        if stored.failed:
            with_retries(lambda: claim.fail(stored.failed))
            self._failed += len(stored.failed)
            if self._failed > self._made:
                with_retries(lambda: claims.pause_if_most_fail(self._run.pk))
        if stored.unread:
            later = timezone.now() + timedelta(seconds=pauses.STORAGE_SECONDS)
            message = next(iter(stored.unread.values()))
            log.warning("%s; trying again in %s s", message, pauses.STORAGE_SECONDS)
            with_retries(lambda: claim.release(stored.unread, error=message, not_before=later))

    def _note_size(self, batch: Batch) -> None:
        before, self._batch_size = self._batch_size, self._model.batch
        jobs = len(batch.claim.jobs)
        if with_retries(lambda: batch_sizes.update(self._run, self._loaded, before=before, jobs=jobs)):
            with_retries(lambda: model_versions.record(self._run, self._model.about))

    def _rest(self) -> None:
        """Wait before the storage is tried again."""
        until = time.monotonic() + pauses.STORAGE_SECONDS
        while time.monotonic() < until and not self._turn.must_stop_now():
            time.sleep(pauses.POLL_SECONDS)

    def _release_waiting(self, *, but: Batch | None = None) -> None:
        """Release the batches that the device has not started, except the one that is being waited for."""
        for batch in list(self._waiting):
            if batch is not but and batch.future.cancel():
                self._waiting.remove(batch)
                self._heartbeat.remove(batch.claim)
                with_retries(batch.claim.release)

    def _release_all(self) -> None:
        """Release what is still claimed: nothing, unless something went wrong."""
        for batch in [*self._waiting, *(batch for batch, _ in self._suspect)]:
            batch.future.cancel()
            try:
                batch.claim.release()
            except (OperationalError, InterfaceError):
                log.warning("%s jobs stay claimed until their lease expires", len(batch.claim.jobs))
        self._waiting.clear()
        self._suspect.clear()
        self._pipeline.shutdown()
