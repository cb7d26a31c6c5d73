"""A worker keeps to its memory: benchmarks/soak.py says how a whole server does."""

from __future__ import annotations

import json

import pytest

from tests.processes.conftest import Installation

pytestmark = pytest.mark.processes
ROUNDS, WARMING = 40, 10
MOST_BYTES = 8_000_000
"""For thirty rounds; they vary by half a megabyte."""


def test_exports_and_scores_leave_nothing_in_memory(installation: Installation):
    held = json.loads(installation.run("-m", "tests.processes.again", str(ROUNDS)))
    assert len(held) == ROUNDS
    assert max(held[WARMING:]) - held[WARMING] < MOST_BYTES, held
