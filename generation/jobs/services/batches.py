"""One batch on its way: its jobs read, made, their files kept. No database here, only threads."""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from generation.backends.base import BackendError, OutOfMemory
from generation.jobs.services import loaded_model
from generation.jobs.services.claims import Claimed
from generation.jobs.services.loaded_model import Model
from generation.jobs.services.products import JobRefused, Kind, Made
from generation.models import Job

log = logging.getLogger(__name__)
_Part = list[tuple[Job, Any]]
"""Jobs with what the model needs for them."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@dataclass
class Outcome:
    """What became of a batch's jobs: each is in exactly one of the three."""

    made: list[Made] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    no_room: dict[int, str] = field(default_factory=dict)


@dataclass
class Batch:
    """Claimed jobs on the device or waiting for it."""

    claimed: Claimed
    future: Future[Outcome]


class Line:
    """The way of batches through a worker: files and pixels in threads, the model in its own."""

    def __init__(self, kind: Kind, model: Model) -> None:
        self._kind, self._model = kind, model
        self._threads = ThreadPoolExecutor(
            max_workers=min(16, (os.cpu_count() or 1) + 2), thread_name_prefix="files"
        )

    def begin(self, claimed: Claimed) -> Batch:
        """Have a batch read now, and made as soon as the device is free."""
        reading = [(job, self._threads.submit(self._kind.read, job)) for job in claimed.jobs]
        return Batch(claimed, loaded_model.on_device(self._make, reading))

    def keep(self, outcome: Outcome) -> Outcome:
        """Store the files of what was made; waits for them. The device goes on with the next batch."""
        keeping = [(one, self._threads.submit(self._kind.keep, one.job, one.product)) for one in outcome.made]
        kept = Outcome(failed=dict(outcome.failed))
        for one, future in keeping:
            try:
                kept.made.append(Made(one.job, future.result(), one.seconds))
            except OSError as error:
                there = kept.no_room if error.errno in _FULL else kept.failed
                there[one.job.pk] = _reason(error)
            except Exception as error:
                kept.failed[one.job.pk] = _reason(error)
        return kept

    def end(self) -> None:
        self._threads.shutdown(cancel_futures=True)

    def _make(self, reading: Sequence[tuple[Job, Future[Any]]]) -> Outcome:
        outcome = Outcome()
        ready: _Part = []
        for job, future in reading:
            try:
                ready.append((job, future.result()))
            except Exception as error:
                outcome.failed[job.pk] = _reason(error)
        todo = [ready]
        while todo:
            part = todo.pop()
            # asked each time: it shrinks on the way
            if len(part) > self._model.batch:
                todo += _parts(part, self._model.batch)
            elif part:
                todo += self._try(part, outcome)
        return outcome

    def _try(self, part: _Part, outcome: Outcome) -> list[_Part]:
        """Make a part of a batch; what is left to be tried, in smaller parts or with a smaller batch."""
        began, batch = time.perf_counter(), self._model.batch
        try:
            products = self._kind.make([read for _, read in part])
            if len(products) != len(part):
                raise ValueError(f"the model was given {len(part)} jobs and returned {len(products)}")
        except BackendError:
            raise
        except (OutOfMemory, MemoryError) as error:
            self._halve(batch, error)
            return [part]
        except Exception as error:
            if len(part) > 1:
                # One of them did it: halves find it, and the others are made.
                return _parts(part, (len(part) + 1) // 2)
            [(job, _)] = part
            log.warning("job %s failed", job.pk, exc_info=True)
            outcome.failed[job.pk] = _reason(error)
            return []
        share = (time.perf_counter() - began) / len(part)
        outcome.made += [Made(job, product, share) for (job, _), product in zip(part, products, strict=True)]
        return []

    def _halve(self, tried: int, error: BaseException) -> None:
        if tried <= 1:
            raise BackendError(
                "The device's memory does not hold even one at a time. Use a larger device, a smaller "
                f"size or dtype float16 ({error})."
            ) from error
        # A model may have halved it already.
        self._model.batch = min(self._model.batch, tried // 2)
        log.warning("out of memory at %s at once; going on with %s", tried, self._model.batch)


def _parts(whole: _Part, size: int) -> list[_Part]:
    """The last first, as a pile is taken from its top."""
    return [whole[start : start + size] for start in reversed(range(0, len(whole), size))]


def _reason(error: BaseException) -> str:
    """An error in words for the run's page."""
    return str(error) if isinstance(error, JobRefused) else f"{type(error).__name__}: {error}"


__all__ = ["Batch", "Line", "Outcome"]
