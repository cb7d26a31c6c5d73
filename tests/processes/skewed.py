"""The web server on a machine whose clock is wrong by the seconds that stand in the file CLOCK_SKEW."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

_FILE = Path(os.environ["CLOCK_SKEW"])
_now, _time = timezone.now, time.time


def _skew() -> float:
    return float(_FILE.read_text())


timezone.now = lambda: _now() + timedelta(seconds=_skew())
time.time = lambda: _time() + _skew()

from visage_app.wsgi import application  # noqa: E402

__all__ = ["application"]
