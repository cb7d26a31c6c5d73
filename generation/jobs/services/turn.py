"""A worker's turn at one run: what it claims, and when it ends."""

import logging
import os
import socket
import time
from collections.abc import Callable
from functools import partial
from uuid import UUID

from django.db import InterfaceError, OperationalError

from annotation.core.leases import Claim
from generation.jobs.services import claims, workers
from generation.jobs.services.budget import Budget
from generation.jobs.services.retries import with_retries
from generation.models import Job, Run, RunState
from generation.recipes.recipes import Recipe

log = logging.getLogger(__name__)


class Turn:
    """`until`: by the monotonic clock. `batches`: claims at most. `stopping`: whether the worker must end."""

    def __init__(
        self,
        run: Run,
        recipe: Recipe,
        *,
        until: float | None,
        batches: int | None,
        stopping: Callable[[], bool],
    ) -> None:
        self.run = run
        self._until, self._batches, self._stopping = until, batches, stopping
        self._worker = f"{socket.gethostname()} {os.getpid()}"
        self.leave_own = with_retries(workers.others().exists)
        self._budget = with_retries(lambda: Budget.of(run, recipe))

    def claim(self, limit: int, *, key: UUID | None = None) -> Claim[Job] | None:
        """Claim up to `limit` jobs; None if there are none, or if the run's limits leave no room.
        `key`: as in Leases.claim."""
        claim = with_retries(
            partial(
                claims.claim,
                run_id=self.run.pk,
                limit=limit,
                worker=self._worker,
                leave_own=self.leave_own,
                budget=self._budget,
                key=key,
            )
        )
        if claim is not None and self._batches is not None:
            self._batches -= 1
        return claim

    def pause_if_exhausted(self) -> None:
        """Pause the run if its limits leave no room for one asking more, with none in flight."""
        if self._budget is None:
            return
        run = with_retries(Run.objects.filter(pk=self.run.pk, state=RunState.RUNNING).first)
        if run is not None and (reason := self._budget.exhausted(run)):
            self.pause(reason)

    def must_stop(self) -> bool:
        """Whether to claim no more."""
        late = self._until is not None and time.monotonic() >= self._until
        return late or self._batches == 0 or self._stopping()

    def must_stop_now(self) -> bool:
        """Whether also to give back what was claimed and not begun."""
        return self._stopping() or not self._is_running()

    def pause(self, reason: str) -> None:
        log.warning("run %s is paused: %s", self.run.pk, reason)
        with_retries(lambda: claims.pause_run(run_id=self.run.pk, error=reason))

    def _is_running(self) -> bool:
        try:
            return Run.objects.filter(pk=self.run.pk, state=RunState.RUNNING).exists()
        except (OperationalError, InterfaceError):
            return True  # unknown; the next claim checks again
