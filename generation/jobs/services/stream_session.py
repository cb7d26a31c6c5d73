"""One worker's time with one run whose model is on a server: many jobs are asked at once, each result is
stored as soon as it is there.

The calling thread does all database work except renewing leases; requests wait in an event loop of their own
(loaded_model.py). A job takes up one of the places in flight until its result is stored, so that a worker
that is killed asks again at most what was in flight. Jobs are claimed ahead, and were not asked yet then.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from annotation.core import storage_trouble
from annotation.core.leases import Claim, Heartbeat
from generation.backends.base import BackendError, Refused, RemoteModel, ServerAway
from generation.core.texts import storable
from generation.jobs.services import claims, pauses
from generation.jobs.services.handlers import JobHandler, JobRefused, JobResult
from generation.jobs.services.loaded_model import run_coroutine
from generation.jobs.services.retries import with_retries
from generation.jobs.services.storing import store_all
from generation.jobs.services.turn import Turn
from generation.models import Job
from generation.recipes import limits

log = logging.getLogger(__name__)


@dataclass
class _Ended:
    """What came of the jobs that have ended. `failed` may be tried again, `refused` may not; `later`: neither
    the job nor the model is to blame."""

    made: list[JobResult] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    later: dict[int, str] = field(default_factory=dict)


class StreamSession:
    """One worker asking a server for one run."""

    def __init__(self, turn: Turn, handler: JobHandler, model: RemoteModel) -> None:
        self._turn, self._handler = turn, handler
        self._places = limits.from_json(turn.run.limits).in_flight or model.in_flight
        self._waiting: deque[Job] = deque()
        self._asked: dict[Future[JobResult], Job] = {}
        self._finished: SimpleQueue[Future[JobResult]] = SimpleQueue()
        self._claim: Claim[Job] | None = None
        """All jobs that wait or are asked: later claims have the key of the first, so that one transaction
        stores what ends together."""
        self._look_at = 0.0
        """When to look whether the run goes on, by the monotonic clock."""
        self._made = self._failed = 0
        self._away = False
        self._held_until: datetime | None = None
        """Until when the server asked to wait, if that is long."""
        self._heartbeat = Heartbeat()
        self._threads = ThreadPoolExecutor(min(16, (os.cpu_count() or 1) + 2), thread_name_prefix="files")

    def work(self) -> int:
        with self._heartbeat:
            try:
                self._fill()
                while self._asked:
                    self._store(self._await())
                    self._fill()
                self._turn.pause_if_exhausted()
            finally:
                self._release_all()
        return self._made

    def _fill(self) -> None:
        """Ask until all places are taken, and claim ahead."""
        self._ask_waiting()
        # Jobs that were tried before are claimed one by one.
        wanted = max(1, self._places // 2)
        while len(self._waiting) < wanted and not self._away and not self._turn.must_stop():
            claim = self._turn.claim(self._places, key=self._claim.key if self._claim else None)
            if claim is None:
                break
            self._waiting.extend(claim.jobs)
            self._claim = replace(claim, jobs=(*self._asked.values(), *self._waiting))
            self._heartbeat.add(self._claim)
            with_retries(partial(self._handler.claimed, claim.jobs))
            self._ask_waiting()

    def _ask_waiting(self) -> None:
        while self._waiting and len(self._asked) < self._places:
            job = self._waiting.popleft()
            future = run_coroutine(self._ask(job))
            self._asked[future] = job
            future.add_done_callback(self._finished.put)

    async def _ask(self, job: Job) -> JobResult:
        model_input = await self._without_waiting(self._handler.read, job)
        began = time.perf_counter()
        output = await self._handler.ask(model_input)
        seconds = time.perf_counter() - began
        while True:
            try:
                stored = await self._without_waiting(self._handler.store, job, output)
            except Exception as error:
                if not storage_trouble.is_temporary(error):
                    raise
                # It is paid for: keep it until the storage is back.
                log.warning(
                    "%s; trying again in %s s", storage_trouble.message(error), pauses.STORAGE_SECONDS
                )
                await asyncio.sleep(pauses.STORAGE_SECONDS)
            else:
                return JobResult(job, stored, seconds)

    async def _without_waiting(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a method of the handler returns; if it opens files, other askings go on meanwhile."""
        if not self._handler.opens_files:
            return function(*arguments)
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def _await(self) -> _Ended:
        """Wait until something has ended; what has."""
        ended: list[Future[JobResult]] = []
        while not ended:
            with suppress(Empty):
                ended.append(self._finished.get(timeout=pauses.POLL_SECONDS))
                while True:
                    ended.append(self._finished.get_nowait())
            if time.monotonic() >= self._look_at:
                self._look_at = time.monotonic() + pauses.POLL_SECONDS
                if self._turn.must_stop_now():
                    self._release_waiting()
        sorted_out = _Ended()
        for future in ended:
            self._sort(future, self._asked.pop(future), sorted_out)
        return sorted_out

    def _sort(self, future: Future[JobResult], job: Job, ended: _Ended) -> None:
        try:
            ended.made.append(future.result())
        except BackendError as error:
            self._turn.pause(str(error))
            self._away = True
            ended.later[job.pk] = str(error)
        except ServerAway as error:
            self._away = True
            self._hold_back(error.seconds or 0.0)
            ended.later[job.pk] = str(error)
        except (Refused, JobRefused) as error:
            ended.refused[job.pk] = str(error)
        except Exception as error:
            if storage_trouble.is_temporary(error):
                ended.later[job.pk] = storage_trouble.message(error)
            else:
                log.warning("job %s failed", job.pk, exc_info=True)
                ended.failed[job.pk] = storable(f"{type(error).__name__}: {error}")

    def _store(self, ended: _Ended) -> None:
        claim = self._claim
        assert claim is not None, "what has ended was claimed"
        if ended.made:
            stored, unstorable = store_all(self._handler, claim, ended.made)
            self._made += stored
            ended.failed |= unstorable
        if ended.refused:
            with_retries(partial(claim.fail, ended.refused, final=True))
        if ended.failed:
            with_retries(partial(claim.fail, ended.failed))
        if ended.later:
            later = self._held_until or timezone.now() + timedelta(seconds=pauses.SERVER_SECONDS)
            message = next(iter(ended.later.values()))
            with_retries(partial(claim.release, ended.later, error=message, not_before=later))
        self._failed += len(ended.failed) + len(ended.refused)
        pauses_itself = (
            (ended.failed or ended.refused)
            and self._failed > self._made
            and with_retries(partial(claims.pause_if_most_fail, self._turn.run.pk))
        )
        if pauses_itself or self._away:
            self._release_waiting()

    def _hold_back(self, seconds: float) -> None:
        """Have no job of the run asked for so long, by anybody: each would be refused as this one was."""
        if self._held_until is None and seconds > pauses.SERVER_SECONDS:
            self._held_until = timezone.now() + timedelta(seconds=seconds)
            with_retries(partial(claims.hold_back, run_id=self._turn.run.pk, until=self._held_until))

    def _release_waiting(self) -> None:
        """Give back what was claimed and not asked."""
        ids = [job.pk for job in self._waiting]
        self._waiting.clear()
        if ids and self._claim is not None:
            with_retries(partial(self._claim.release, ids, not_before=self._held_until))

    def _release_all(self) -> None:
        """Release what is still claimed: nothing, unless something went wrong."""
        for future, job in self._asked.items():
            future.cancel()
            self._waiting.append(job)
        self._asked.clear()
        try:
            self._release_waiting()
        except (OperationalError, InterfaceError):
            log.warning("jobs stay claimed until their lease expires")
        self._threads.shutdown(wait=False, cancel_futures=True)
