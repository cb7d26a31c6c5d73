"""The Redis of tests whose workers take whatever message there is."""

from __future__ import annotations

import os
import re


def own() -> str:
    """The address of CELERY_BROKER_URL with a database (10 to 14) of this process of pytest-xdist; "" without
    one. Tests empty it, and a worker of one process takes another's messages, for which it has no row."""
    number = int(re.sub(r"\D", "", os.environ.get("PYTEST_XDIST_WORKER", "")) or 0)
    return re.sub(r"/\d+$", f"/{10 + number % 5}", os.environ.get("CELERY_BROKER_URL", ""))
