"""A model's weights: where they are looked for, whether they are whole, and which ones they were.

The libraries fill weights that a folder lacks with random numbers and only log it; pictures of such a model
look like pictures. Here that is an error.
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
_FILLED_IN = "newly initialized"
_LOOKED_AT = 2**20  # bytes of each file: weights that differ at all differ in their first tensors


def folder_of(model: str) -> Path | None:
    """The local folder that `model` names, None for a hub id. Raises BackendError if it is missing."""
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    if path.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1:
        raise BackendError(
            f"There is no folder '{model}' on this machine. Name the folder that holds the model's files, "
            "or a hub id such as CompVis/stable-diffusion-v1-4."
        )
    return None


def revision_of(place: Path) -> str:
    """What names the weights in a file or folder: the hub's commit, or 'files-' and a hash of their names,
    sizes and beginnings."""
    if place.parent.name == "snapshots":
        return place.name
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    seen = hashlib.sha256()
    for path in files:
        named = path.relative_to(place.parent if place.is_file() else place)
        if named.parts[0].startswith("."):
            continue  # a download's own notes
        with path.open("rb") as file:
            beginning = file.read(_LOOKED_AT)
        seen.update(
            f"{named.as_posix()} {path.stat().st_size} ".encode() + hashlib.sha256(beginning).digest()
        )
    return f"files-{seen.hexdigest()[:32]}"


def fetched(model: str, file: str, revision: str = "") -> Path:
    """The folder, named by its commit, in which the hub's client keeps the hub id that was just loaded;
    `file` is one that every such model has."""
    hub = importlib.import_module("huggingface_hub")
    return Path(hub.try_to_load_from_cache(model, file, revision=revision or None)).parent


def from_hub(model: str) -> str:
    """How the weights of a hub id are got."""
    return (
        f"Where there is a network, run 'hf download {model} --local-dir FOLDER' (after 'hf auth login' if "
        "the model asks for it) and name that folder as the model."
    )


def loading(model: str, revision: str = "") -> contextlib.AbstractContextManager[None]:
    """`complete` for a hub id or a local folder."""
    if folder_of(model) is not None:
        return complete(f"The model in the folder {model}", cure=DAMAGED)
    named = f"'{model}'" + f", revision '{revision}'," * bool(revision)
    tried = f"The model {named} (a hub id, looked for in this machine's cache and on the hub)"
    return complete(tried, cure=from_hub(model))


@contextlib.contextmanager
def complete(tried: str, *, cure: str) -> Iterator[None]:
    """Whatever a library raises while it loads what was `tried`, or logs of weights that it lacks, as
    BackendError with the `cure`."""
    log = _Filled()
    loggers = [logging.getLogger(name) for name in _LIBRARIES]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(log)
        logger.setLevel(logging.WARNING)
    try:
        yield
    except (BackendError, OutOfMemory):
        raise
    except Exception as error:  # each library has its own: safetensors', OSError, KeyError, RuntimeError ...
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:600]
        raise BackendError(f"{tried} cannot be loaded ({cause}). {cure}") from error
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(log)
            logger.setLevel(level)
    if log.told:
        raise BackendError(f"{tried} lacks weights ({' '.join(log.told[0].split())[:600]}). {cure}")


class _Filled(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if _FILLED_IN in (told := record.getMessage()):
            self.told.append(told)


__all__ = ["DAMAGED", "complete", "fetched", "folder_of", "from_hub", "loading", "revision_of"]
