"""The one model that a process keeps loaded, and the thread that runs it or the loop that asks it."""

import asyncio
import atexit
import gc
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar

from django.conf import settings

from generation import backends
from generation.backends.base import (
    BackendError,
    DeviceFailed,
    Model,
    OutOfMemory,
    is_device_error,
    is_remote,
)
from generation.recipes.recipes import FAKE, Recipe, at_revision

T = TypeVar("T")
M = TypeVar("M", bound=Model, covariant=True)
GROW_AFTER = 50
"""Full batches before a larger one is tried: memory may have been short only for a while."""


@dataclass
class Loaded(Generic[M]):
    """The loaded model. `largest_batch`: its own; 0 on a server. `since`: when it was loaded, by the
    monotonic clock. `full_batches`: how many since the batch size changed; at `grow_after` it grows
    (batch_sizes.py)."""

    recipe: Recipe
    model: M
    largest_batch: int
    since: float = field(default_factory=time.monotonic)
    full_batches: int = 0
    grow_after: int = GROW_AFTER


_loaded: list[Loaded[Model]] = []


@cache
def _thread() -> ThreadPoolExecutor:
    # Created on first use, so in the forked worker and not in its parent: threads do not survive a fork.
    # Always the same thread: each thread that computes with torch has its own thread pool.
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="device")


def run_on_device(function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Call `function` in the model's thread, after the calls submitted before."""
    return _thread().submit(function, *arguments)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop of requests to servers, in a thread of its own; created on first use as above."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="requests", daemon=True).start()
    return loop


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run `coroutine` beside the others that wait for servers."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())


def is_loaded(recipe: Recipe) -> bool:
    return any(recipe in (each.recipe, _with_commit(each.recipe, each.model)) for each in _loaded)


def seconds_loaded(recipe: Recipe) -> float | None:
    """For how long the recipe's model has been loaded; None if another is, or none."""
    return time.monotonic() - _loaded[0].since if is_loaded(recipe) else None


def load(recipe: Recipe) -> Loaded[Model]:
    """The recipe's model; the one loaded last is reused if it has the same recipe.

    Call it through `run_on_device`. Raises DeviceFailed, and BackendError for every other failure, also
    unexpected ones: without a model no job can be tried.
    """
    if is_loaded(recipe):
        return _loaded[0]
    # Two models do not fit on most GPUs, so the previous one is freed first.
    if _loaded:
        was_real = _loaded[0].recipe.backend != FAKE
        _close(_loaded.pop().model)
        if was_real:  # to look for its parts among all objects takes up to half a second
            gc.unfreeze()
            gc.collect()
    try:
        model = backends.load(recipe, device=settings.MODEL_DEVICE)
    except BackendError:
        raise
    except (OutOfMemory, MemoryError) as error:
        raise BackendError(
            f"The model of this recipe does not fit into memory ({error}). Use a larger device, or a recipe "
            "with dtype float16."
        ) from error
    except Exception as error:
        if is_device_error(error):
            raise DeviceFailed(f"{type(error).__name__}: {error}") from error
        raise BackendError(
            f"The model of this recipe could not be loaded: {type(error).__name__}: {error}"
        ) from error
    if recipe.backend != FAKE:
        # What is in memory now stays: to look for garbage in it stops all threads for a tenth of a second.
        gc.collect()
        gc.freeze()
    _loaded.append(Loaded(recipe, model, getattr(model, "batch", 0)))
    return _loaded[0]


def _close(model: Model) -> None:
    if is_remote(model):
        run_coroutine(model.close()).result()


@atexit.register
def _close_at_exit() -> None:
    """Close the connections to a server, which would complain otherwise."""
    while _loaded:
        _close(_loaded.pop().model)


def _with_commit(recipe: Recipe, model: Model) -> Recipe:
    """The recipe with the loaded revision, as its later workers see it (model_versions.py)."""
    return at_revision(recipe, model.about.revision)
