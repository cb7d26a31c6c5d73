"""A server with a key, and models on it whose clock is the test's own."""

from __future__ import annotations

import pytest

from generation import backends
from generation.recipes.askings import CompletionRecipe
from tests.fake_openai import (
    FakeOpenAI,
)
from tests.generation.backends.servers.asking import KEY, Time


@pytest.fixture
def server(monkeypatch):
    with FakeOpenAI(key=KEY) as started:
        monkeypatch.setenv("MODEL_SERVERS", f"lab={started.url}")
        monkeypatch.setenv("MODEL_SERVER_KEY_LAB", KEY)
        yield started


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def load(time):
    def of(kind=CompletionRecipe, **changed):
        recipe = kind(backend="openai", server="lab", model="m", **changed)
        model = backends.load(recipe)
        model._connection._clock = time.clock
        return model

    return of
