"""Shared by all torch backends: imports, devices, number types, and torch's errors as our own.

Importing this module does not import torch.
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
_MEMORY_ERRORS = (
    "DefaultCPUAllocator",
    "can't allocate memory",
    "out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)


def import_library(name: str) -> Any:
    """Import torch, diffusers, transformers or open_clip, with torch set to repeatable results.

    Raises BackendError if it is not installed or cannot be imported.
    """
    # Set before CUDA starts: otherwise cuBLAS may choose another workspace, which changes the sums.
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


def choose_device(name: str) -> torch.device:
    """The device `name`; "" is the first GPU, else the CPU. Raises BackendError if it does not exist."""
    lib = import_library("torch")
    available = [f"cuda:{number}" for number in range(lib.cuda.device_count())]
    available += ["mps"] * lib.backends.mps.is_available() + ["cpu"]
    chosen = name or available[0]
    if chosen not in available and f"{chosen}:0" not in available:
        raise BackendError(f"There is no device '{name}' on this machine. There is: {', '.join(available)}.")
    device: torch.device = lib.device(chosen)
    return device


def device_name(device: torch.device) -> str:
    """For example 'NVIDIA H100 80GB HBM3' or 'cpu (x86_64)'."""
    if device.type == "cuda":
        return str(import_library("torch").cuda.get_device_name(device))
    return f"{device.type} ({platform.machine()})"


def device_gib(device: torch.device) -> float | None:
    """The device's total memory in GiB; None if torch cannot tell."""
    if device.type != "cuda":
        return None
    return float(import_library("torch").cuda.get_device_properties(device).total_memory) / 2**30


def dtype(name: str) -> torch.dtype:
    """torch's dtype for 'float32', 'float16' or 'bfloat16'."""
    found: torch.dtype = getattr(import_library("torch"), name)
    return found


def versions(*distributions: str) -> dict[str, str]:
    """Name -> version of the libraries that made an image, caption or embedding."""
    return {name: metadata.version(name) for name in distributions}


@contextlib.contextmanager
def memory_errors_translated() -> Iterator[None]:
    """Turn torch's out-of-memory errors into OutOfMemory, and free the batch's memory."""
    torch = import_library("torch")
    message = ""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        full = isinstance(error, torch.OutOfMemoryError | MemoryError)
        if not full and not any(text in str(error) for text in _MEMORY_ERRORS):
            raise
        message = str(error) or "The machine's memory is full."
        # The error's frames hold the batch's tensors; with them a smaller batch would not fit either.
        traceback.clear_frames(error.__traceback__)
    if message:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        raise OutOfMemory(message)
