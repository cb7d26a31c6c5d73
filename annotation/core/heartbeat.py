"""A thread that calls a function at intervals during long work."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Self

from django.db import connection

log = logging.getLogger(__name__)


class PeriodicThread:
    """`with PeriodicThread(beat, every=seconds, name="heartbeat"): ...` calls `beat` every `seconds()`
    seconds until it returns False or the block ends. The thread has its own database connection."""

    def __init__(self, beat: Callable[[], bool], *, every: Callable[[], float], name: str) -> None:
        self._beat, self._every = beat, every
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._every()):
            try:
                if not self._beat():
                    return
            except Exception:
                # The next beat may succeed. If the claim expires, another worker takes over and the results
                # of this one are refused, so nothing is done twice.
                log.exception("%s: a beat failed", self._thread.name)
            finally:
                # `connection` is local to this thread.
                connection.close()
