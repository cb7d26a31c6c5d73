"""The worker's loop: claim, make, keep, complete; the next batch is on the device meanwhile.

All of the database's work is done in the calling thread, the leases apart (heartbeat.py). A worker that is
killed anywhere leaves claimed jobs, which are somebody else's when their lease is over, and at worst a file
that no row names yet: the job that is done again writes the same bytes to the same name.
"""

from __future__ import annotations

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

from generation.backends.base import BackendError
from generation.jobs.services import claims, loaded_model, model_versions, products
from generation.jobs.services.batches import Batch, Line, Outcome
from generation.jobs.services.heartbeat import Heartbeat
from generation.jobs.services.loaded_model import Model
from generation.jobs.services.products import Kind
from generation.models import Run, RunState
from generation.recipes import recipes

log = logging.getLogger(__name__)
T = TypeVar("T")
# One on the device and one ready for it.
_AHEAD = 2
# Within it a pause, a cancellation or a request to stop is heard, however long a batch takes.
_LOOK_SECONDS = 1.0
_ROOM_SECONDS = 60
# A database that is restarted is back within this; what has been made is worth the wait.
_DATABASE_PAUSES = (0.5, 1, 2, 4, 8, 16, 30)


def _never() -> bool:
    return False


def work(
    *,
    run_id: int,
    seconds: float | None = None,
    batches: int | None = None,
    stopping: Callable[[], bool] = _never,
) -> int:
    """Do the waiting jobs of a running run; returns how many were finished.

    Ends when nothing is left to claim, after `seconds` or `batches` (what was begun is finished), when
    `stopping()` or when the run is paused or cancelled. Never raises for what goes wrong with a job or
    a model: the rows tell. Raises OperationalError if the database stays away.
    """
    running = Run.objects.select_related("image_set").filter(pk=run_id, state=RunState.RUNNING)
    run = _through(running.first)
    if run is None:
        return 0
    if not _through(claims.claimable().filter(run_id=run_id).exists):
        _through(lambda: claims.close(run_id=run_id))
        return 0
    try:
        recipe = _through(lambda: model_versions.pinned(run, recipes.from_json(run.recipe)))
        model = loaded_model.on_device(loaded_model.load, recipe).result()
        # it may have taken minutes, in which a connection that nobody used is cut
        _through(lambda: model_versions.note(run, model.about))
    except (BackendError, recipes.RecipeRefused) as error:
        reason = str(error)
        log.warning("run %s is paused: %s", run_id, reason)
        _through(lambda: claims.stop(run_id=run_id, error=reason))
        return 0
    if run.batch_size is not None:
        model.batch = min(model.batch, run.batch_size)
    kind = products.kind_of(run, recipe, model)
    shift = _Shift(run, kind, model, until=_until(seconds), batches=batches, stopping=stopping)
    done = shift.work()
    _through(lambda: claims.close(run_id=run_id))
    return done


def work_pending(
    *,
    seconds: float | None = None,
    batches: int | None = None,
    stopping: Callable[[], bool] = _never,
) -> int:
    """Work on the running run that waits longest; returns how many jobs were finished.

    What the embedded worker calls. The run that was started first is finished first, so that a model is
    loaded once.
    """
    for run_id in runs_to_ring():
        done = work(run_id=run_id, seconds=seconds, batches=batches, stopping=stopping)
        if done or stopping():
            return done
    return 0


def runs_to_ring() -> list[int]:
    """The running runs that a worker should look at: something can be claimed, or nothing is open any more.
    The one started first comes first."""
    now = timezone.now()
    running = Run.objects.filter(state=RunState.RUNNING).order_by("started_at", "pk")
    ids = list(running.values_list("pk", flat=True))
    ready = claims.claimable(now)
    return [
        pk
        for pk in ids
        if ready.filter(run_id=pk).exists() or not claims.open_jobs().filter(run_id=pk).exists()
    ]


class _Shift:
    """One worker's time with one run."""

    def __init__(
        self,
        run: Run,
        kind: Kind,
        model: Model,
        *,
        until: float | None,
        batches: int | None,
        stopping: Callable[[], bool],
    ) -> None:
        self._run, self._kind, self._model = run, kind, model
        self._until, self._batches, self._stopping = until, batches, stopping
        self._held = model.batch
        self._line = Line(kind, model)
        self._waiting: deque[Batch] = deque()
        self._beat = Heartbeat()
        self._worker = f"{socket.gethostname()} {os.getpid()}"

    def work(self) -> int:
        done = 0
        with self._beat:
            try:
                self._claim_ahead()
                while self._waiting:
                    done += self._finish(self._waiting[0])
                    self._claim_ahead()
            except BackendError as error:
                reason = str(error)
                log.warning("run %s is paused: %s", self._run.pk, reason)
                _through(lambda: claims.stop(run_id=self._run.pk, error=reason))
            finally:
                self._leave()
        return done

    def _claim_ahead(self) -> None:
        while len(self._waiting) < _AHEAD and not self._over():
            limit = min(self._model.batch, self._kind.most)
            claimed = _through(partial(claims.claim, run_id=self._run.pk, limit=limit, worker=self._worker))
            if claimed is None:
                return
            if self._batches is not None:
                self._batches -= 1
            self._beat.hold(claimed)
            self._waiting.append(self._line.begin(claimed))

    def _over(self) -> bool:
        late = self._until is not None and time.monotonic() >= self._until
        return late or self._batches == 0 or self._stopping()

    def _finish(self, batch: Batch) -> int:
        """Wait for a batch, keep what came of it, and say so; how many jobs were finished."""
        outcome = self._await(batch)
        if self._model.batch < self._held:
            self._remember()
        kept = self._line.keep(outcome)
        done = self._tell(batch, kept)
        self._waiting.remove(batch)
        self._beat.release(batch.claimed)
        if kept.no_room:
            self._rest()
        return done

    def _await(self, batch: Batch) -> Outcome:
        while not wait([batch.future], timeout=_LOOK_SECONDS).done:
            if self._stopping() or not self._is_running():
                self._give_back_waiting()
        return batch.future.result()

    def _tell(self, batch: Batch, kept: Outcome) -> int:
        claimed = batch.claimed
        done = 0
        if kept.made:
            try:
                done = _through(lambda: self._kind.complete(claimed, kept.made))
            except (OperationalError, InterfaceError):
                raise
            except Exception as error:
                log.warning("what was made of %s jobs was refused", len(kept.made), exc_info=True)
                what = (
                    "something has its place already"
                    if isinstance(error, IntegrityError)
                    else type(error).__name__
                )
                reason = f"What was made could not be stored ({what}): {error}"
                kept.failed |= {one.job.pk: reason for one in kept.made}
        if kept.failed:
            _through(lambda: claims.fail(claimed, kept.failed))
        if kept.no_room:
            later = timezone.now() + timedelta(seconds=_ROOM_SECONDS)
            told = next(iter(kept.no_room.values()))
            log.warning("no room for files (%s); trying again in %s s", told, _ROOM_SECONDS)
            _through(lambda: claims.give_back(claimed, ids=kept.no_room, error=told, not_before=later))
        return done

    def _remember(self) -> None:
        """Keep what the memory was found to hold; of two workers the smaller counts."""
        size = self._model.batch
        larger = Q(batch_size__isnull=True) | Q(batch_size__gt=size)
        _through(lambda: Run.objects.filter(larger, pk=self._run.pk).update(batch_size=size))
        _through(lambda: model_versions.note(self._run, self._model.about))
        self._held = size

    def _rest(self) -> None:
        """A full disk is not filled at once again: wait, without holding anything, for room."""
        self._give_back_waiting()
        rested = time.monotonic() + _ROOM_SECONDS
        while time.monotonic() < rested and not self._over() and self._is_running():
            time.sleep(_LOOK_SECONDS)

    def _is_running(self) -> bool:
        try:
            return Run.objects.filter(pk=self._run.pk, state=RunState.RUNNING).exists()
        except (OperationalError, InterfaceError):
            return True  # not known: the next claim asks again

    def _give_back_waiting(self) -> None:
        """Put back the batches that the device has not begun."""
        for batch in list(self._waiting):
            if batch.future.cancel():
                self._waiting.remove(batch)
                self._beat.release(batch.claimed)
                _through(partial(claims.give_back, batch.claimed))

    def _leave(self) -> None:
        """Put back what is still held: nothing, unless something went wrong."""
        for batch in self._waiting:
            batch.future.cancel()
            try:
                claims.give_back(batch.claimed)
            except (OperationalError, InterfaceError):
                log.warning("%s jobs stay claimed until their lease is over", len(batch.claimed.jobs))
        self._waiting.clear()
        self._line.end()


def _until(seconds: float | None) -> float | None:
    return None if seconds is None else time.monotonic() + seconds


def _through(do: Callable[[], T]) -> T:
    """Do something with the database, again if the connection is lost. What it does asks for the claim's
    key, so that a change whose acknowledgement was lost is not made twice."""
    for pause in _DATABASE_PAUSES:
        try:
            return do()
        except (OperationalError, InterfaceError) as error:
            if connection.in_atomic_block:
                raise
            log.warning("the database is away (%s); trying again in %s s", error, pause)
            connection.close()
            time.sleep(pause)
    return do()


__all__ = ["runs_to_ring", "work", "work_pending"]
