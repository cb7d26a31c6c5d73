"""The model that every run of these tests loads, and the server that runs of askings ask."""

from __future__ import annotations

import pytest

from generation import backends
from generation.jobs.services import loaded_model, pauses
from tests.generation.jobs.asked import Server
from tests.generation.jobs.world import Moody


@pytest.fixture(autouse=True)
def model(db, monkeypatch, settings):
    """What every run loads; no pauses that a test would have to wait for."""
    moody = Moody()
    monkeypatch.setattr(loaded_model, "_loaded", [])
    monkeypatch.setattr(backends, "load", lambda recipe, device: moody)
    monkeypatch.setattr(pauses, "POLL_SECONDS", 0.02)
    settings.JOB_RETRY_SECONDS = 0
    return moody


@pytest.fixture
def server(model, monkeypatch):
    monkeypatch.setattr(pauses, "SERVER_SECONDS", 0)
    monkeypatch.setattr(backends, "check", lambda recipe: None)

    def use(**options) -> Server:
        found = Server(**options)
        monkeypatch.setattr(backends, "load", lambda recipe, device: found)
        return found

    return use
