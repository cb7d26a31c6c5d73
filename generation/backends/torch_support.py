"""What every backend on torch needs: its import, its device, its number type, and its errors in our words.

Importing this module imports no torch.
"""

from __future__ import annotations

import contextlib
import os
import platform
import traceback
from collections.abc import Iterator
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

from generation.backends.base import BackendError, OutOfMemory
from generation.backends.torchvision_support import make_importable

if TYPE_CHECKING:
    import torch

_EXTRA = "Install the models' libraries on this machine: pip install '.[models]' in the program's folder."
_FULL = ("DefaultCPUAllocator", "can't allocate memory", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED")


def library(name: str) -> Any:
    """The imported library (torch, diffusers, transformers, open_clip), set to give the same numbers twice.

    Raises BackendError if it is not installed or cannot be imported.
    """
    # Asked for before CUDA starts: without it cuBLAS may choose its work space, and so its sums, anew.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    try:
        torch = import_module("torch")
        make_importable()
        found = import_module(name)
    except (ImportError, OSError) as error:
        raise BackendError(
            f"This backend needs {name}, which cannot be imported ({error}). {_EXTRA}"
        ) from error
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    return found


def device(asked: str) -> torch.device:
    """`asked`, or with "" the first GPU, else the CPU. Raises BackendError if it is not there."""
    lib = library("torch")
    there = [f"cuda:{number}" for number in range(lib.cuda.device_count())]
    there += ["mps"] * lib.backends.mps.is_available() + ["cpu"]
    wanted = asked or there[0]
    if wanted not in there and f"{wanted}:0" not in there:
        raise BackendError(f"There is no device '{asked}' on this machine. There is: {', '.join(there)}.")
    chosen: torch.device = lib.device(wanted)
    return chosen


def device_name(chosen: torch.device) -> str:
    """What a reader knows it by: 'NVIDIA H100 80GB HBM3', 'cpu (x86_64)'."""
    if chosen.type == "cuda":
        return str(library("torch").cuda.get_device_name(chosen))
    return f"{chosen.type} ({platform.machine()})"


def device_gib(chosen: torch.device) -> float | None:
    """The device's whole memory in GiB; None where torch cannot tell."""
    if chosen.type != "cuda":
        return None
    return float(library("torch").cuda.get_device_properties(chosen).total_memory) / 2**30


def dtype(name: str) -> torch.dtype:
    """'float32', 'float16' or 'bfloat16' as torch knows it."""
    found: torch.dtype = getattr(library("torch"), name)
    return found


def versions(*distributions: str) -> dict[str, str]:
    """Name -> version of the libraries that a picture, caption or embedding came out of."""
    return {name: metadata.version(name) for name in distributions}


@contextlib.contextmanager
def memory_watched() -> Iterator[None]:
    """Turns torch's out-of-memory errors into OutOfMemory, with what the batch held set free."""
    torch = library("torch")
    told = ""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        full = isinstance(error, torch.OutOfMemoryError | MemoryError)
        if not full and not any(sign in str(error) for sign in _FULL):
            raise
        told = str(error) or "The machine's memory is full."
        # The error's frames hold the batch's tensors: with them the smaller batch would not fit either.
        traceback.clear_frames(error.__traceback__)
    if told:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        raise OutOfMemory(told)


__all__ = ["device", "device_gib", "device_name", "dtype", "library", "memory_watched", "versions"]
