"""Where processes of a test wait for each other: a clock would not do, a busy machine starts them late."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.waiting import PATIENCE_SECONDS


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
