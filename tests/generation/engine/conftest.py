"""The model that every run of these tests loads."""

from __future__ import annotations

import pytest

from generation import backends
from generation.services import models_loaded, work
from tests.generation.work_world import (
    Moody,
)


@pytest.fixture(autouse=True)
def model(db, monkeypatch, settings):
    """What every run loads; no pauses that a test would have to wait for."""
    moody = Moody()
    monkeypatch.setattr(models_loaded, "_kept", [])
    monkeypatch.setattr(backends, "load", lambda recipe, device: moody)
    monkeypatch.setattr(work, "_LOOK_SECONDS", 0.02)
    settings.JOB_RETRY_SECONDS = 0
    return moody
