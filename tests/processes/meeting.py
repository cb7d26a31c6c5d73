"""Where processes of a test wait for each other: a clock would not do, a busy machine starts them late."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 170


def wait_for(what: Callable[[], T], said: str) -> T:
    """What `what` returns, once that is true; AssertionError with `said` if that takes too long."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not (found := what()):
        assert time.monotonic() < until, said
        time.sleep(0.02)
    return found


def meet(place: str, number: int | str) -> None:
    """Return once `number` processes have come to the folder `place`, in all of them at the same moment."""
    folder = Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(os.getpid())).touch()
    until = time.monotonic() + PATIENCE_SECONDS
    while len(list(folder.iterdir())) < int(number):
        if time.monotonic() > until:
            raise TimeoutError(f"{len(list(folder.iterdir()))} of {number} processes came to {place}.")
        time.sleep(0.005)
