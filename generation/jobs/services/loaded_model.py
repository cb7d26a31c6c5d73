"""The one model that a process keeps loaded, and the one thread that runs it."""

import gc
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from django.conf import settings

from generation import backends
from generation.backends.base import BackendError, Captioner, Encoder, OutOfMemory, TextToImage
from generation.recipes.recipes import CaptionRecipe, ImageRecipe, Recipe

Model = TextToImage | Captioner | Encoder
T = TypeVar("T")
_loaded: list[tuple[Recipe, Model]] = []


@cache
def _thread() -> ThreadPoolExecutor:
    # Created on first use, so in the forked worker and not in its parent: threads do not survive a fork.
    # Always the same thread: each thread that computes with torch has its own thread pool.
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="device")


def run_on_device(function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Call `function` in the model's thread, after the calls submitted before."""
    return _thread().submit(function, *arguments)


def load(recipe: Recipe) -> Model:
    """The recipe's model; the one loaded last is reused if it has the same recipe.

    Call it through `run_on_device`. Raises BackendError for every failure, also unexpected ones: without a
    model no job can be tried.
    """
    for loaded, model in _loaded:
        if recipe in (loaded, _with_commit(loaded, model)):
            return model
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
        raise BackendError(
            f"The model of this recipe could not be loaded: {type(error).__name__}: {error}"
        ) from error
    _loaded.append((recipe, model))
    return model


def _with_commit(recipe: Recipe, model: Model) -> Recipe:
    """The recipe with the loaded revision, as its later workers see it (model_versions.py)."""
    if isinstance(recipe, ImageRecipe | CaptionRecipe) and not recipe.revision:
        return replace(recipe, revision=model.about.revision)
    return recipe
