"""The one model that a process keeps loaded, and the one thread that runs it."""

import gc
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

from django.conf import settings

from generation import backends
from generation.backends.base import (
    BackendError,
    Captioner,
    DeviceFailed,
    Encoder,
    OutOfMemory,
    TextToImage,
    is_device_error,
)
from generation.recipes.recipes import CaptionRecipe, ImageRecipe, Recipe

Model = TextToImage | Captioner | Encoder
T = TypeVar("T")
GROW_AFTER = 50
"""Full batches before a larger one is tried: memory may have been short only for a while."""


@dataclass
class Loaded:
    """The loaded model. `largest_batch`: its own. `since`: when it was loaded, by the monotonic clock.
    `full_batches`: how many since the batch size changed; at `grow_after` it grows (batch_sizes.py)."""

    recipe: Recipe
    model: Model
    largest_batch: int
    since: float = field(default_factory=time.monotonic)
    full_batches: int = 0
    grow_after: int = GROW_AFTER


_loaded: list[Loaded] = []


@cache
def _thread() -> ThreadPoolExecutor:
    # Created on first use, so in the forked worker and not in its parent: threads do not survive a fork.
    # Always the same thread: each thread that computes with torch has its own thread pool.
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="device")


def run_on_device(function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Call `function` in the model's thread, after the calls submitted before."""
    return _thread().submit(function, *arguments)


def is_loaded(recipe: Recipe) -> bool:
    return any(recipe in (each.recipe, _with_commit(each.recipe, each.model)) for each in _loaded)


def seconds_loaded(recipe: Recipe) -> float | None:
    """For how long the recipe's model has been loaded; None if another is, or none."""
    return time.monotonic() - _loaded[0].since if is_loaded(recipe) else None


def load(recipe: Recipe) -> Loaded:
    """The recipe's model; the one loaded last is reused if it has the same recipe.

    Call it through `run_on_device`. Raises DeviceFailed, and BackendError for every other failure, also
    unexpected ones: without a model no job can be tried.
    """
    if is_loaded(recipe):
        return _loaded[0]
    # Two models do not fit on most GPUs, so the previous one is freed first.
    if _loaded:
        _loaded.clear()
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
    _loaded.append(Loaded(recipe, model, model.batch))
    return _loaded[0]


def _with_commit(recipe: Recipe, model: Model) -> Recipe:
    """The recipe with the loaded revision, as its later workers see it (model_versions.py)."""
    if isinstance(recipe, ImageRecipe | CaptionRecipe) and not recipe.revision:
        return replace(recipe, revision=model.about.revision)
    return recipe
