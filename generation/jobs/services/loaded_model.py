"""The one model that a process keeps loaded, and the one thread that works with it."""

from __future__ import annotations

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
_kept: list[tuple[Recipe, Model]] = []


@cache
def _thread() -> ThreadPoolExecutor:
    # Made when it is first needed, that is in a forked worker, not in its parent: threads are not forked.
    # Always the same thread: each one that computes with torch has a pool of threads of its own.
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="device")


def on_device(do: Callable[..., T], *arguments: Any) -> Future[T]:
    """Do something with the model, after what is being done with it; the caller goes on meanwhile."""
    return _thread().submit(do, *arguments)


def load(recipe: Recipe) -> Model:
    """The recipe's model: the one loaded last, if it is of the same recipe.

    Call it through `on_device`. Raises BackendError, also for what a backend did not foresee: without a
    model no try can begin.
    """
    for kept, model in _kept:
        if recipe in (kept, _with_commit(kept, model)):
            return model
    # Two do not fit on most cards: the one before goes first.
    if _kept:
        _kept.clear()
        gc.collect()
    try:
        model = backends.load(recipe, device=settings.MODEL_DEVICE)
    except BackendError:
        raise
    except (OutOfMemory, MemoryError) as error:
        raise BackendError(
            f"The memory does not hold the model of this recipe ({error}). Use a larger device, or a recipe "
            "with dtype float16."
        ) from error
    except Exception as error:
        raise BackendError(
            f"The model of this recipe could not be loaded: {type(error).__name__}: {error}"
        ) from error
    _kept.append((recipe, model))
    return model


def _with_commit(recipe: Recipe, model: Model) -> Recipe:
    """The recipe as it is once its run remembers which revision was loaded (model_versions.py)."""
    if isinstance(recipe, ImageRecipe | CaptionRecipe) and not recipe.revision:
        return replace(recipe, revision=model.about.revision)
    return recipe


__all__ = ["Model", "load", "on_device"]
