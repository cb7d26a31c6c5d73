"""Process one batch: read its inputs, run the model, store the files. Threads only, no database."""

import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from annotation.core import storage_trouble
from annotation.core.leases import Claim
from generation.backends.base import (
    BackendError,
    DeviceFailed,
    LocalModel,
    OutOfMemory,
    Refused,
    is_device_error,
)
from generation.jobs.services import loaded_model
from generation.jobs.services.handlers import JobHandler, JobRefused, JobResult
from generation.models import Job

log = logging.getLogger(__name__)
_Inputs = list[tuple[Job, Any]]
"""Jobs, each with its input for the model."""


@dataclass
class Outcome:
    """The results of a batch. Each job is in exactly one of the first four.

    `failed` and `unread`: job id -> message. `unread`: the storage did not give what these jobs read.
    `unstored`: it did not take what these made, for the reason in `storage_error`. `broken`: how many the
    model failed, not their own files.
    """

    made: list[JobResult] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    unread: dict[int, str] = field(default_factory=dict)
    unstored: list[JobResult] = field(default_factory=list)
    storage_error: str = ""
    broken: int = 0

    @property
    def is_whole_failure(self) -> bool:
        """Whether the model failed every job that it was given."""
        return self.broken > 0 and not self.made


@dataclass
class Batch:
    """Claimed jobs on the device or waiting for it."""

    claim: Claim[Job]
    future: Future[Outcome]


class BatchPipeline:
    """Runs batches: files and pixels in a thread pool, the model in its own thread."""

    def __init__(self, handler: JobHandler, model: LocalModel) -> None:
        self._handler, self._model = handler, model
        self._threads = ThreadPoolExecutor(
            max_workers=min(16, (os.cpu_count() or 1) + 2), thread_name_prefix="files"
        )

    def submit(self, claim: Claim[Job]) -> Batch:
        """Start reading a batch now; the model runs it as soon as the device is free."""
        reading = [(job, self._threads.submit(self._handler.read, job)) for job in claim.jobs]
        return Batch(claim, loaded_model.run_on_device(self._make, reading))

    def store(self, outcome: Outcome) -> Outcome:
        """Store the files of what was made, and wait for them. The device continues with the next batch."""
        storing = [
            (made, self._threads.submit(self._handler.store, made.job, made.output)) for made in outcome.made
        ]
        stored = Outcome(failed=dict(outcome.failed), unread=dict(outcome.unread))
        for made, future in storing:
            try:
                stored.made.append(JobResult(made.job, future.result(), made.seconds))
            except Exception as error:
                if storage_trouble.is_temporary(error):
                    stored.unstored.append(made)
                    stored.storage_error = storage_trouble.message(error)
                else:
                    stored.failed[made.job.pk] = _reason(error)
        return stored

    def shutdown(self) -> None:
        self._threads.shutdown(cancel_futures=True)

    def _make(self, reading: Sequence[tuple[Job, Future[Any]]]) -> Outcome:
        outcome = Outcome()
        ready: _Inputs = []
        for job, future in reading:
            try:
                ready.append((job, future.result()))
            except Exception as error:
                if storage_trouble.is_temporary(error):
                    outcome.unread[job.pk] = storage_trouble.message(error)
                else:
                    outcome.failed[job.pk] = _reason(error)
        todo = [ready]
        while todo:
            chunk = todo.pop()
            # Read each time: it shrinks when memory runs out.
            if len(chunk) > self._model.batch:
                todo += _split(chunk, self._model.batch)
            elif chunk:
                todo += self._try(chunk, outcome)
        return outcome

    def _try(self, chunk: _Inputs, outcome: Outcome) -> list[_Inputs]:
        """Run the model on a chunk. Returns what is still to be tried, in smaller chunks."""
        began, batch = time.perf_counter(), self._model.batch
        try:
            outputs = self._handler.run([model_input for _, model_input in chunk])
            if len(outputs) != len(chunk):
                raise ValueError(f"the model was given {len(chunk)} jobs and returned {len(outputs)}")
        except (BackendError, DeviceFailed):
            raise
        except (OutOfMemory, MemoryError) as error:
            self._halve(batch, error)
            return [chunk]
        except Exception as error:
            if is_device_error(error):
                raise DeviceFailed(_reason(error)) from error
            if len(chunk) > 1:
                # One job caused it. Halving finds that job, and the others succeed.
                return _split(chunk, (len(chunk) + 1) // 2)
            [(job, _)] = chunk
            log.warning("job %s failed", job.pk, exc_info=True)
            outcome.failed[job.pk] = _reason(error)
            outcome.broken += 1
            return []
        share = (time.perf_counter() - began) / len(chunk)
        outcome.made += [
            JobResult(job, output, share) for (job, _), output in zip(chunk, outputs, strict=True)
        ]
        return []

    def _halve(self, tried: int, error: BaseException) -> None:
        if tried <= 1:
            raise BackendError(
                "The device's memory is too small even for one at a time. Use a larger device, a smaller "
                f"size or dtype float16 ({error})."
            ) from error
        # The model may have halved it already.
        self._model.batch = min(self._model.batch, tried // 2)
        log.warning("out of memory with a batch of %s; continuing with %s", tried, self._model.batch)


def _split(inputs: _Inputs, size: int) -> list[_Inputs]:
    """Chunks in reverse order, for a stack."""
    return [inputs[start : start + size] for start in reversed(range(0, len(inputs), size))]


def _reason(error: BaseException) -> str:
    """The error as the run's page shows it."""
    return str(error) if isinstance(error, JobRefused | Refused) else f"{type(error).__name__}: {error}"
