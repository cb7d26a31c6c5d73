"""The models that make images, captions and embeddings and answer questions, each behind a small protocol
(base.py). Nothing else imports torch, diffusers, transformers, open_clip or openai."""

import importlib
import pkgutil
from functools import cache
from typing import Any

from generation.backends.base import BackendError, Model
from generation.recipes.recipes import Recipe

_PREFIX = {
    "images": "image_",
    "captions": "caption_",
    "embeddings": "encode_",
    "completions": "complete_",
    "descriptions": "describe_",
    "classifications": "classify_",
}


def names(kind: str) -> dict[str, str]:
    """The backends of a kind of run: name -> the first line of its module."""
    return dict(_names_in(tuple(__path__), kind))


@cache
def _names_in(folders: tuple[str, ...], kind: str) -> dict[str, str]:
    """Read once, since forms and checks ask several times in a request."""
    prefix = _PREFIX[kind]
    found = {}
    for module in pkgutil.iter_modules(folders):
        if module.name.startswith(prefix):
            doc = importlib.import_module(f"{__name__}.{module.name}").__doc__ or ""
            found[module.name.removeprefix(prefix)] = doc.strip().splitlines()[0] if doc else ""
    return found


def check(recipe: Recipe) -> None:
    """Raise BackendError for what the backend cannot do with any weights, such as an unknown option.

    Needs no model libraries. A backend with its own options has its own `check`.
    """
    backend_check = getattr(_module(recipe), "check", None)
    if backend_check is not None:
        backend_check(recipe)


def load(recipe: Recipe, *, device: str = "") -> Model:
    """The model of a recipe, on `device` ("" chooses: a GPU if there is one).

    Raises BackendError for an unknown backend, or if its model, its libraries or the device are missing.
    """
    loaded: Model = _module(recipe).load(recipe, device=device)
    return loaded


def _module(recipe: Recipe) -> Any:
    kind = recipe.kind
    if recipe.backend not in names(kind):
        known = ", ".join(names(kind))
        raise BackendError(f"There is no backend '{recipe.backend}' for {kind}. Choose one of: {known}.")
    return importlib.import_module(f"{__name__}.{_PREFIX[kind]}{recipe.backend}")
