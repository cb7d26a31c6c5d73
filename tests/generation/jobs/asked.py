"""A server that answers as it is told to, and runs that ask it."""

from __future__ import annotations

import asyncio
from collections import Counter

from generation.backends.base import About, Reply
from generation.plans import services as plans
from generation.plans.askings import Asking
from generation.recipes.askings import CompletionRecipe
from generation.recipes.limits import Limits
from generation.runs import services as runs


class Server:
    """Answers `answers[prompt]`, raises it, or repeats the prompt; counts what it is asked.

    `together`: so many must wait at once before any is answered.
    """

    about = About("m", "", "test server", {})

    def __init__(self, *, in_flight: int = 4, together: int = 1) -> None:
        self.in_flight, self._together = in_flight, together
        self.answers: dict[str, Reply | Exception] = {}
        self.asked: Counter[str] = Counter()
        self.now = self.most = 0
        self._full = asyncio.Event()

    async def answer(self, question) -> Reply:
        self.asked[question.prompt] += 1
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now >= self._together:
            self._full.set()
        await self._full.wait()
        self.now -= 1
        found = self.answers.get(question.prompt, Reply(question.prompt.upper(), "stop", 3, 2))
        if isinstance(found, Exception):
            raise found
        return found

    async def close(self) -> None:
        pass


def run_of(
    *prompts: str,
    recipe: CompletionRecipe | None = None,
    limits: Limits | None = None,
    name: str = "asked",
):
    """A running run that asks these prompts."""
    plan = plans.plan_askings(
        recipe=recipe or CompletionRecipe(model="m", max_tokens=10),
        name=name,
        askings=[Asking(prompt, prompt) for prompt in prompts],
        limits=limits,
    )
    run = runs.ensure(plan=plan, by=None).run
    runs.start(run=run, by=None)
    return run
