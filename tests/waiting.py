"""Waiting for an event, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 170


def wait_for(what: Callable[[], T], missing: str) -> T:
    """What `what` returns, once that is true; AssertionError that says `missing` after PATIENCE_SECONDS."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not (found := what()):
        assert time.monotonic() < until, missing
        time.sleep(0.02)
    return found
