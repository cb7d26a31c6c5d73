"""Measure on the device that models run on: its name, clock and utilisation."""

from __future__ import annotations

import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def models_on_sqlite() -> Iterator[tuple[Any, Path]]:
    """Set up Django on a temporary database; yields torch and a folder. Exits where models cannot run."""
    with tempfile.TemporaryDirectory(prefix="visage-bench-") as folder:
        os.environ |= {"VAR_DIR": folder, "STATIC_MANIFEST": "no", "CELERY_BROKER_URL": ""}
        os.environ |= {"DJANGO_SETTINGS_MODULE": "visage_app.settings", "LOG_LEVEL": "ERROR"}
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/bench.sqlite3"
        from generation.backends.base import BackendError
        from generation.backends.torch_support import import_library

        try:
            torch = import_library("torch")
        except BackendError as error:
            sys.exit(f"NO MODELS: nothing was measured. {error}")
        import django

        django.setup()
        yield torch, Path(folder)


def rate(number: int, do: Callable[[], object]) -> float:
    """Items per second: the median of three runs."""
    taken = []
    for _ in range(3):
        began = clock()
        do()
        synchronize()
        taken.append(clock() - began)
    return number / statistics.median(taken)


def best_by_batch(sizes: Iterable[int], measure: Callable[[int], float]) -> dict[int, float]:
    """Batch size -> items per second, from the smallest on until memory runs out.

    Raises OutOfMemory if even the smallest does not fit.
    """
    from generation.backends.base import OutOfMemory
    from generation.backends.torch_support import memory_errors_translated

    found: dict[int, float] = {}
    for size in sizes:
        try:
            with memory_errors_translated():
                found[size] = measure(size)
        except OutOfMemory:
            if not found:
                raise
            break
    return found


def percent_busy(seen: list[float]) -> float | None:
    """The mean without the first and last samples, when work starts and ends; None without samples."""
    return statistics.mean(seen[2:-2] or seen) if seen else None


def clock() -> float:
    import torch

    return time.perf_counter() if torch.cuda.is_available() else time.process_time()


def synchronize() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


@contextmanager
def busy() -> Iterator[list[float]]:
    """Fill the list with this process's GPU utilisation in percent, five times a second; it stays empty
    without a GPU or nvidia-smi."""
    seen: list[float] = []
    import torch

    if not torch.cuda.is_available() or shutil.which("nvidia-smi") is None:
        yield seen
        return
    # nvidia-smi reports all GPUs, also those that this process may not use.
    card = torch.cuda.get_device_properties(torch.cuda.current_device()).uuid
    command = ["nvidia-smi", f"--id=GPU-{card}", "--query-gpu=utilization.gpu"]
    command += ["--format=csv,noheader,nounits", "-lms", "200"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        yield seen
        watching.terminate()
        assert watching.stdout is not None
        seen += [float(line) for line in watching.stdout if line.strip().isdigit()]


def device_name() -> str:
    import torch

    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    described = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.+)", described.read_text()) if described.is_file() else None
    return f"{named[1] if named else platform.processor()}, {os.cpu_count()} processors, no GPU"


def rounded(figure: Any) -> Any:
    if isinstance(figure, dict):
        return {name: rounded(value) for name, value in figure.items()}
    return float(f"{figure:.3g}") if isinstance(figure, float) else figure
