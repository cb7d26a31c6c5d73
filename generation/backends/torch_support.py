"""Shared by all torch backends: devices, batches, errors. Importing this module does not import torch."""

from __future__ import annotations

import contextlib
import math
import os
import platform
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, TypeVar

from generation.backends.base import About, BackendError, OutOfMemory
from generation.recipes.recipes import Recipe

if TYPE_CHECKING:
    import torch

_EXTRA = "Install the models' libraries on this machine: pip install '.[models]' in the program's folder."
_MEMORY_ERRORS = (
    "DefaultCPUAllocator",
    "can't allocate memory",
    "out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)


_NO_OPERATORS = "operator torchvision::nms does not exist"
_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[Any] = []  # torch drops a Library's schemas when the object is garbage-collected
_Item = TypeVar("_Item")
_Recipe = TypeVar("_Recipe", bound=Recipe)


def import_library(name: str) -> Any:
    """Import torch, diffusers, transformers or open_clip.

    Raises BackendError if it is not installed or cannot be imported.
    """
    # The workspace decides the order of sums, and is chosen once, when CUDA starts: so also for a recipe that
    # need not repeat, because the process may load a repeatable one later.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    try:
        import_module("torch")
        _import_torchvision()
        found = import_module(name)
    except (ImportError, OSError) as error:
        # torch makes the folder of its compiler's cache when it is imported.
        folder = error.filename if isinstance(error, OSError) else None
        cure = f"Let the worker write to {folder} (TORCHINDUCTOR_CACHE_DIR)." if folder else _EXTRA
        raise BackendError(
            f"This backend needs {name}, which cannot be imported ({error}). {cure}"
        ) from error
    return found


def _import_torchvision() -> None:
    """Import torchvision, also where its compiled part was not built for this torch.

    The ordinary wheel is linked with CUDA. Beside a CPU build of torch it fails at import, because the
    schemas of two compiled operators are missing. No backend calls them, but open_clip and transformers
    import torchvision, so the schemas are declared here.

    No pin can replace this: each torchvision requires exactly one torch, so there is no other version to
    choose, and pip prefers torch's CPU build where an index has it, although that index may have no CPU build
    of torchvision. `make test` needs it there, but so do workers and `manage.py generate`, `caption` and
    `embed`, which is why it is not only in the tests.
    """
    try:
        import_module("torchvision")
        return
    except RuntimeError as error:
        if _NO_OPERATORS not in str(error):
            raise
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]  # half-imported modules would make the second import fail
    library = import_module("torch.library").Library("torchvision", "DEF")
    for schema in _SCHEMAS:
        library.define(schema)
    _declared.append(library)
    import_module("torchvision")


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


def settle(recipe: _Recipe, device: torch.device) -> _Recipe:
    """Set torch up for `recipe`, and return the recipe as it is on `device`: a number type instead of "auto",
    and repeatable wherever that costs nothing, which is everywhere but on a GPU.

    torch's settings hold for the whole process, which has one model at a time: each load sets them again.
    """
    lib = import_library("torch")
    fast = device.type == "cuda" and not recipe.repeatable
    lib.backends.cudnn.benchmark = fast
    lib.backends.cudnn.deterministic = not fast
    # TF32 for products of float32. Convolutions use it in both cases: it is torch's default, and repeats.
    lib.set_float32_matmul_precision("high" if fast else "highest")
    dtype = recipe.dtype
    if dtype == "auto" and device.type == "cuda":
        native = lib.cuda.get_device_capability(device)[0] >= 8  # older cards only emulate bfloat16
        dtype = "bfloat16" if native else "float16"
    elif dtype == "auto":
        dtype = "float32"
    return replace(recipe, dtype=dtype, repeatable=not fast)


def fitting_batch(device: torch.device, *, per_gib: float, most: float) -> int:
    """How many should fit on the device if `per_gib` need 1 GiB: a power of two, at most `most`; 1 if torch
    cannot tell the device's memory."""
    if device.type != "cuda":
        return 1
    memory = float(import_library("torch").cuda.get_device_properties(device).total_memory) / 2**30
    return _power_of_two(max(1, min(memory * per_gib, most)))


def dtype(name: str) -> torch.dtype:
    """torch's dtype for 'float32', 'float16' or 'bfloat16'."""
    found: torch.dtype = getattr(import_library("torch"), name)
    return found


def about(model: str, revision: str, device: torch.device, dtype: str, *distributions: str) -> About:
    """A loaded model, with the versions of the libraries that made an image, caption or embedding."""
    versions = {name: metadata.version(name) for name in (*distributions, "numpy", "pillow")}
    return About(model, revision, f"{device_name(device)}, {dtype}", versions)


class FullBatches:
    """A model whose device gets at most `batch` items at a time, a power of two, and exactly so many if
    `full`: the order of summation in a kernel depends on the batch size. `about` names the size, because a
    repetition needs it."""

    def __init__(self, about: About, batch: int, *, full: bool) -> None:
        self._device, self.full = about.device, full
        self.about = about
        self.batch = batch

    @property
    def batch(self) -> int:
        return self._batch

    @batch.setter
    def batch(self, size: int) -> None:
        self._batch = _power_of_two(size)
        self.about = replace(self.about, device=f"{self._device}, {self._batch} at a time")

    def batch_for(self, items: int, *, most: int | None = None) -> int:
        """The size for `padded_batches` of so many items: `most` (default: `batch`) if batches must be full,
        else the batches are even, so that hardly anything is padded."""
        most = most or self.batch
        if self.full or not items:
            return most
        return math.ceil(items / math.ceil(items / most))

    @contextlib.contextmanager
    def halved_when_full(self) -> Iterator[None]:
        """Turn torch's out-of-memory errors into OutOfMemory, and halve `batch`."""
        try:
            with memory_errors_translated():
                yield
        except OutOfMemory:
            self.batch = max(1, self.batch // 2)
            raise


@contextlib.contextmanager
def must_fit(what: str, device: torch.device) -> Iterator[None]:
    """Raise BackendError if `what` does not fit into the device's memory."""
    try:
        with memory_errors_translated():
            yield
    except OutOfMemory as error:
        raise BackendError(f"{what} does not fit into {device_name(device)}: {error}") from error


def padded_batches(items: Sequence[_Item], size: int) -> Iterator[tuple[list[_Item], int]]:
    """Batches of exactly `size` items, the last padded with repeats, each with its number of real items."""
    for start in range(0, len(items), size):
        batch = list(items[start : start + size])
        yield [*batch, *[batch[-1]] * (size - len(batch))], len(batch)


def _power_of_two(size: float) -> int:
    """The largest power of two that is at most `size` (>= 1)."""
    return int(2 ** int(math.log2(size)))


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
