"""What tests of askings share: a clock of their own, and a server with a key."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from generation.backends.base import Question
from generation.backends.openai_server import Clock
from tests import coroutines

KEY = "sk-proj-very-secret-0123456789"
NOON = 1_790_000_000.0


@dataclass
class Time:
    """A clock that a sleep puts forward. `slept`: each pause."""

    now: float = 0.0

    def __post_init__(self):
        self.slept = []

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    @property
    def clock(self):
        return Clock(lambda: self.now, lambda: NOON + self.now, self.sleep, lambda low, high: high)


def ask(model, *prompts, image=None):
    async def all_at_once():
        try:
            asked = (model.answer(Question(prompt, 7, image)) for prompt in prompts)
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.close()

    replies = coroutines.run(all_at_once())
    return replies if len(prompts) != 1 else replies[0]


def raised(kind, outcome):
    assert isinstance(outcome, kind), outcome
    return str(outcome)
