"""A thread that does one small thing again and again while long work goes on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType

from django.db import connection

log = logging.getLogger(__name__)


class Pulse:
    """`with Pulse(beat, every=seconds, name="heartbeat"): ...` calls `beat` every so many seconds, on a
    database connection of the thread's own, until it answers False or the block ends."""

    def __init__(self, beat: Callable[[], bool], *, every: Callable[[], float], name: str) -> None:
        self._beat, self._every = beat, every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Pulse:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._every()):
            try:
                if not self._beat():
                    return
            except Exception:
                # Whatever it was: the next beat may succeed, and a claim that has run out keeps what is done
                # meanwhile from doubling.
                log.exception("%s: a beat failed", self._thread.name)
            finally:
                # This thread's own: another one's would be closed under its hands.
                connection.close()


__all__ = ["Pulse"]
