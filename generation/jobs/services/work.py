"""A worker's turn: choose a run, load its model and work on it (session.py)."""

import logging
import time
from collections.abc import Callable
from typing import cast

from django.utils import timezone

from generation.backends.base import BackendError, DeviceFailed, LocalModel, is_remote
from generation.jobs.services import batch_sizes, claims, loaded_model, model_versions, sickness, workers
from generation.jobs.services.asking_handlers import HANDLERS
from generation.jobs.services.loaded_model import Loaded
from generation.jobs.services.needed_labels import check_labels
from generation.jobs.services.retries import with_retries
from generation.jobs.services.session import Session
from generation.jobs.services.stream_session import StreamSession
from generation.jobs.services.turn import Turn
from generation.models import Run, RunState
from generation.recipes import recipes
from generation.recipes.checks import RecipeRefused

log = logging.getLogger(__name__)
FAIR_SECONDS = 600.0
"""How long the loaded model's run goes on before another run has its turn."""


def work(
    *,
    run_id: int,
    seconds: float | None = None,
    batches: int | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> int:
    """Do the pending jobs of a running run; returns how many were finished.

    Ends when nothing is left to claim, after `seconds` or `batches` (a started batch is finished), when
    `stopping()` or when the run is paused or cancelled. Loading the model does not count. Errors of a job or
    a model are stored in the rows, not raised. Raises WorkerIll if this process must end (sickness.py), and
    OperationalError if the database stays unreachable.
    """
    running = Run.objects.select_related("image_set").filter(pk=run_id, state=RunState.RUNNING)
    run = with_retries(running.first)
    if run is None:
        return 0
    if not with_retries(claims.claimable_jobs().filter(run_id=run_id).exists):
        with_retries(lambda: claims.close_run(run_id=run_id))
        return 0
    try:
        recipe = with_retries(lambda: model_versions.pin_revision(run, recipes.from_json(run.recipe)))
        if not loaded_model.is_loaded(recipe):
            with_retries(lambda: workers.note(run=run, loading=True))
        loaded = loaded_model.run_on_device(loaded_model.load, recipe).result()
        check_labels(recipe, loaded.model)
        # Loading may take minutes, and an idle connection may be cut meanwhile.
        with_retries(lambda: model_versions.record(run, loaded.model.about))
    except DeviceFailed as error:
        reason = str(error)
        with_retries(lambda: sickness.judge(run, reason, device=True))
    except (BackendError, RecipeRefused) as error:
        reason = str(error)
        log.warning("run %s is paused: %s", run_id, reason)
        with_retries(lambda: claims.pause_run(run_id=run_id, error=reason))
        with_retries(lambda: workers.note(run=None))
        return 0
    with_retries(lambda: workers.note(run=run))
    handler = HANDLERS[run.kind](run, recipe, loaded.model)
    until = None if seconds is None else time.monotonic() + seconds
    turn = Turn(run, recipe, until=until, batches=batches, stopping=stopping)
    if is_remote(loaded.model):
        done = StreamSession(turn, handler, loaded.model).work()
    else:
        local = cast("Loaded[LocalModel]", loaded)
        with_retries(lambda: batch_sizes.limit(run, local))
        done = Session(turn, handler, local).work()
    with_retries(lambda: claims.close_run(run_id=run_id))
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


def next_run(run_id: int) -> int:
    """The run to work on when it is the turn of `run_id`: the one whose model is loaded, for a fair time."""
    waiting = runs_needing_work()
    recipe_of = dict(Run.objects.filter(pk__in=waiting).values_list("pk", "recipe"))
    for other in waiting:
        try:
            seconds = loaded_model.seconds_loaded(recipes.from_json(recipe_of[other]))
        except RecipeRefused:
            continue  # its own turn pauses it and says why
        if seconds is not None and (seconds < FAIR_SECONDS or run_id not in waiting):
            return other
    return run_id


def runs_needing_work() -> list[int]:
    """Ids of running runs with claimable jobs, or with no open jobs left (to be closed); oldest first."""
    now = timezone.now()
    running = Run.objects.filter(state=RunState.RUNNING).order_by("started_at", "pk")
    ids = list(running.values_list("pk", flat=True))
    ready = claims.claimable_jobs(now)
    unfinished = claims.open_jobs()
    return [pk for pk in ids if ready.filter(run_id=pk).exists() or not unfinished.filter(run_id=pk).exists()]
