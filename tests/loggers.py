"""Which loggers pytest listens to: the root logger.

By itself it listens also to those that hand nothing on to it. To find these it goes through all eight hundred
six times a test, and ties itself each time to the sixty of torch, which no test reads.
"""

from __future__ import annotations

import logging

from _pytest.logging import catching_logs


def listen(catching: catching_logs) -> logging.Handler:
    """What `catching_logs` does at its start."""
    logging.root.addHandler(catching.handler)
    catching.attached_loggers.append(logging.root)
    return catching.handler
