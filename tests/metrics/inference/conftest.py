"""A model of natural language inference that answers by rule."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from generation import backends
from generation.backends.base import About
from generation.jobs.services import loaded_model


class Rule:
    """Entailment of everything that Mexicans and Nepalis bought."""

    about = About(model="rule", revision="", device="cpu", libraries={})
    batch = 8
    labels: tuple[str, ...] = ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")

    def classify(self, texts):
        return [(0.1, 0.8, 0.1) if self._entails(each.pair) else (0.1, 0.2, 0.7) for each in texts]

    @staticmethod
    def _entails(text: str) -> bool:
        return " bought " in text and ("Mexican" in text or "Nepali" in text)


@pytest.fixture
def model(monkeypatch):
    """The model of every recipe; its `labels` can be changed."""
    made = Rule()
    module = SimpleNamespace(load=lambda recipe, *, device: made)
    monkeypatch.setattr(backends, "_module", lambda recipe: module)
    monkeypatch.setattr(backends, "names", lambda kind: {"fake": "A rule."})
    monkeypatch.setattr(loaded_model, "_loaded", [])
    return made
