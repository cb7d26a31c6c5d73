"""A model's weights: find them, check that they are complete, and identify them.

The libraries replace missing weights with random numbers and only log a warning; the results still look
plausible. Here missing weights are an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
from collections.abc import Iterator
from pathlib import Path

from generation.backends.base import BackendError, OutOfMemory

DAMAGED = "The files are incomplete, damaged or of another kind: copy or download them again."
_LIBRARIES = ("diffusers", "transformers")
_MISSING = "newly initialized"
_HASHED_BYTES = 2**20  # of each file: different weights differ in their first tensors already


def folder_of(model: str) -> Path | None:
    """The local folder that `model` names; None for a hub id. Raises BackendError if it is missing."""
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    if path.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1:
        raise BackendError(
            f"There is no folder '{model}' on this machine. Name the folder that holds the model's files, "
            "or a hub id such as CompVis/stable-diffusion-v1-4."
        )
    return None


def revision_of(path: Path) -> str:
    """Identify the weights in a file or folder: the hub's commit, or 'files-' and a hash of the files' names,
    sizes and first bytes."""
    if path.parent.name == "snapshots":
        return path.name
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    combined = hashlib.sha256()
    for file in files:
        name = file.relative_to(path.parent if path.is_file() else path)
        if name.parts[0].startswith("."):
            continue  # metadata of a download
        with file.open("rb") as opened:
            beginning = opened.read(_HASHED_BYTES)
        combined.update(
            f"{name.as_posix()} {file.stat().st_size} ".encode() + hashlib.sha256(beginning).digest()
        )
    return f"files-{combined.hexdigest()[:32]}"


def cached_folder(model: str, file: str, revision: str = "") -> Path:
    """The folder in the hub's cache, named by its commit, of a model that was just loaded.

    `file` is one that every such model has.
    """
    hub = importlib.import_module("huggingface_hub")
    return Path(hub.try_to_load_from_cache(model, file, revision=revision or None)).parent


def download_hint(model: str) -> str:
    """How to get the weights of a hub id."""
    return (
        f"On a machine with a network, run 'hf download {model} --local-dir FOLDER' (after 'hf auth login' "
        "if "
        "the model asks for it) and name that folder as the model."
    )


def loading(model: str, revision: str = "") -> contextlib.AbstractContextManager[None]:
    """`require_complete` for a hub id or a local folder."""
    if folder_of(model) is not None:
        return require_complete(f"The model in the folder {model}", cure=DAMAGED)
    named = f"'{model}'" + f", revision '{revision}'," * bool(revision)
    what = f"The model {named} (a hub id, searched in this machine's cache and on the hub)"
    return require_complete(what, cure=download_hint(model))


@contextlib.contextmanager
def require_complete(what: str, *, cure: str) -> Iterator[None]:
    """Raise BackendError with the `cure` if a library fails to load `what`, or logs that weights are
    missing."""
    handler = _MissingWeights()
    loggers = [logging.getLogger(name) for name in _LIBRARIES]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.WARNING)
    try:
        yield
    except (BackendError, OutOfMemory):
        raise
    except (
        Exception
    ) as error:  # each library raises its own: SafetensorError, OSError, KeyError, RuntimeError ...
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:600]
        raise BackendError(f"{what} cannot be loaded ({cause}). {cure}") from error
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)
    if handler.messages:
        raise BackendError(f"{what} lacks weights ({' '.join(handler.messages[0].split())[:600]}). {cure}")


class _MissingWeights(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if _MISSING in (message := record.getMessage()):
            self.messages.append(message)
