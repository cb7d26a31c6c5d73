"""A connection to a server that speaks OpenAI's HTTP interface: the first request, waiting and trying again.

The openai package itself never tries again (`max_retries=0`), since all askings of a process wait together
here. Importing this module does not import openai.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import metadata
from typing import TypeVar

from generation.backends.base import About, BackendError, Refused, ServerAway
from generation.backends.model_servers import DEFAULT, ModelServer
from generation.backends.openai_errors import (
    ErrorInAnswer,
    Filtered,
    Malformed,
    Trouble,
    clean,
    followed,
    trouble,
)
from generation.backends.openai_requests import (
    CONNECT_SECONDS,
    Sender,
    client_settings,
    http_settings,
    json_of,
    key_headers,
)

PATIENCE = 300.0
"""Seconds without any answer after which a server is away."""
LONGEST_WAIT = 86_400.0
"""Seconds after which a server is asked again, however long it asks to wait."""
MOST_FAILURES = 8
"""Of one asking, each with other askings answered since the one before: then the fault is the asking's."""
MOST_WAITS = 60
"""The same for being told to wait."""
_LONGEST_PAUSE = 60.0
_HIDING = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")
"""Servers that list models by other names than those by which they are asked (Azure: deployments)."""
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Clock:
    """Time and chance, so that tests need neither."""

    monotonic: Callable[[], float] = time.monotonic
    time_of_day: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    uniform: Callable[[float, float], float] = random.uniform


class Connection:
    """All askings of this process to one server. Safe for many tasks of one event loop."""

    def __init__(self, server: ModelServer, *, timeout: float, clock: Clock | None = None) -> None:
        self.server = server
        self._timeout, self._clock = timeout, clock or Clock()
        self._open_at = self._answered_at = float("-inf")
        self._closed_by = ""
        """What the server said when it asked to wait until `_open_at`."""
        self._sender: Sender | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def ask(self, send: Callable[[Sender], Awaitable[_Answer]]) -> _Answer:
        """What `send` returns, tried again after failures that may pass.

        Raises Filtered, Refused, ServerAway, BackendError. No error refers to the request, whose headers hold
        the key.
        """
        import openai

        now = self._clock.monotonic()
        asking = _Asking(began=now, failed_at=now)
        while True:
            while (pause := self._open_at - self._clock.monotonic()) > 0:
                if pause > PATIENCE:
                    raise ServerAway(self._closed_by, pause)
                await self._clock.sleep(pause + self._clock.uniform(0, min(1.0, pause)))
            try:
                answer = await send(self._current_sender())
            except (openai.OpenAIError, ErrorInAnswer, Malformed) as error:
                failure = _verdict(error, self.server, self._clock.time_of_day())
            else:
                self._answered_at = self._clock.monotonic()
                return answer
            if isinstance(failure, Exception):
                raise failure
            await self._clock.sleep(self._pause(asking, failure))

    async def close(self) -> None:
        sender, self._sender = self._sender, None
        if sender is not None and self._loop is asyncio.get_running_loop():
            await sender.close()

    def _pause(self, asking: _Asking, failure: Trouble) -> float:
        """Seconds until the next try. Raises ServerAway, Refused."""
        now = self._clock.monotonic()
        asking.tries += 1
        others_answered = self._answered_at > asking.failed_at
        asking.failures += others_answered and not failure.busy
        asking.waits += others_answered and failure.busy
        asking.failed_at = now
        if asking.failures >= MOST_FAILURES or asking.waits >= MOST_WAITS:
            tries = f"(after {asking.tries} tries, between which others were answered)"
            raise Refused(
                f"{failure.message} {tries}. Plan another prompt, or mend the server and retry the job."
            )
        backoff = min(_LONGEST_PAUSE, 0.5 * 2.0 ** min(asking.tries, 10))
        if failure.after is None:
            pause = backoff * self._clock.uniform(0.5, 1.0)
        else:
            pause = max(failure.after, min(1.0, backoff)) + self._clock.uniform(0, min(1.0, backoff))
        pause = min(pause, LONGEST_WAIT)
        message = followed(failure.message, _wish(failure.after)) if failure.after else failure.message
        if failure.busy and now + pause > self._open_at:
            self._open_at, self._closed_by = now + pause, message
        if now + pause - max(asking.began, self._answered_at) > PATIENCE:
            raise ServerAway(message, pause if failure.after else None)
        return pause

    def _current_sender(self) -> Sender:
        """One of the running event loop: connections of another one cannot be used."""
        loop = asyncio.get_running_loop()
        if self._sender is None or self._loop is not loop:
            self._sender, self._loop = Sender(self.server, timeout=self._timeout), loop
        return self._sender


def _wish(seconds: float) -> str:
    """How long a server asks to wait, for people."""
    return f"It asks to wait {f'{seconds:.0f} s' if seconds <= LONGEST_WAIT else 'more than a day'}."


@dataclass
class _Asking:
    began: float
    failed_at: float
    tries: int = 0
    failures: int = 0
    waits: int = 0


def _verdict(error: Exception, server: ModelServer, now: float) -> Trouble | Exception:
    try:
        return trouble(error, server, now=now)
    except (BackendError, Refused, Filtered) as final:
        return type(final)(*final.args)


def first_request(server: ModelServer, *, model: str, unlisted: bool = False) -> None:
    """List the server's models. Raises BackendError if it cannot be reached, refuses the key, or does not
    serve `model`. A server without such a list, or one that is still loading its model, passes.

    `unlisted`: the server serves more models than it lists.
    """
    import httpx2
    import openai

    http = openai.DefaultHttpxClient(**http_settings(CONNECT_SECONDS * 3))
    with openai.OpenAI(**client_settings(server), http_client=http) as client:
        try:
            listed = json_of(
                client.get("/models", cast_to=httpx2.Response, options={"headers": key_headers(server)})
            )
            problem = None
        except (openai.OpenAIError, Malformed) as error:
            problem = _first_problem(error, server)
            listed = {}
    if problem is not None:
        raise BackendError(problem)
    hides = unlisted or server.host.partition(":")[0].endswith(_HIDING)
    entries = listed.get("data")
    named = [one.get("id") for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
    names = [name for name in named if isinstance(name, str)]
    if names and not hides and not {model, f"{model}:latest"} & set(names):
        shown = ", ".join(sorted(names)[:20]) + (", …" if len(names) > 20 else "")
        raise BackendError(
            f"The server {server.where} serves no model '{clean(model, server)}'. It serves: "
            f"{clean(shown, server)}. Name one of these, or set options.unlisted=true if it serves models "
            "that it does not list."
        )


def _first_problem(error: Exception, server: ModelServer) -> str | None:
    import openai

    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        if status in (404, 405, 408, 429, 501) or status >= 500:
            return None
    verdict = _verdict(error, server, 0.0)
    message = str(verdict) if isinstance(verdict, Exception) else verdict.message
    if isinstance(error, openai.APIStatusError):
        return message
    variable = "OPENAI_BASE_URL or MODEL_SERVERS" if server.name == DEFAULT else "MODEL_SERVERS"
    return f"{message} Start it, or correct its URL in {variable} ({server.url}) and restart the workers."


def about(server: ModelServer, model: str) -> About:
    return About(model, "", server.where, {"openai": metadata.version("openai")})
