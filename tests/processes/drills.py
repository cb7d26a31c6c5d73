"""Chance in the drills: with DRILL_SEED=2 kills, pauses and answers are others (docs/operations.md)."""

from __future__ import annotations

import os
import random

DRILL_SEED = int(os.environ.get("DRILL_SEED", "0"))


def seed(number: int) -> int:
    """What a drill hands to a process of its own as seed; `number` tells one from another."""
    return number + 1000 * DRILL_SEED


def dice(number: int) -> random.Random:
    return random.Random(seed(number))
