"""A connection to a server that speaks OpenAI's HTTP interface: the first request, waiting and trying again.

The openai package itself never tries again (`max_retries=0`), since all askings of a process wait together
here. Importing this module does not import openai.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, TypeVar

from generation.backends.base import About, BackendError, Refused, ServerAway
from generation.backends.model_servers import DEFAULT, ModelServer
from generation.backends.openai_errors import ErrorInAnswer, Filtered, Malformed, Trouble, clean, trouble

if TYPE_CHECKING:
    import httpx2
    import openai

PATIENCE = 300.0
"""Seconds without any answer after which a server is away."""
MOST_FAILURES = 8
"""Of one asking, each with other askings answered since the one before: then the fault is the asking's."""
MOST_WAITS = 60
"""The same for being told to wait."""
_LONGEST_PAUSE = 60.0
_CONNECT_SECONDS = 10.0
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
        self._client: openai.AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def ask(self, send: Callable[[openai.AsyncOpenAI], Awaitable[_Answer]]) -> _Answer:
        """What `send` returns, tried again after failures that may pass.

        Raises Filtered, Refused, ServerAway, BackendError. No error refers to the request, whose headers hold
        the key.
        """
        import openai

        now = self._clock.monotonic()
        asking = _Asking(began=now, failed_at=now)
        while True:
            while (pause := self._open_at - self._clock.monotonic()) > 0:
                await self._clock.sleep(pause + self._clock.uniform(0, min(1.0, pause)))
            try:
                answer = await send(self._current_client())
            except (openai.OpenAIError, ErrorInAnswer, Malformed) as error:
                failure = _verdict(error, self.server, self._clock.time_of_day())
            else:
                self._answered_at = self._clock.monotonic()
                return answer
            if isinstance(failure, Exception):
                raise failure
            await self._clock.sleep(self._pause(asking, failure))

    async def post(self, client: openai.AsyncOpenAI, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object with which the server answers `body`. openai's own methods for chat and images
        check and convert each field, which takes longer than the rest of a request.

        Raises openai's errors, Malformed.
        """
        import httpx2  # openai's own client

        headers = _key_headers(self.server)
        response = await client.post(path, cast_to=httpx2.Response, body=body, options={"headers": headers})
        return _json_of(response)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    def _pause(self, asking: _Asking, failure: Trouble) -> float:
        """Seconds until the next try. Raises ServerAway, Refused."""
        now = self._clock.monotonic()
        asking.tries += 1
        others_answered = self._answered_at > asking.failed_at
        asking.failures += others_answered and not failure.busy
        asking.waits += others_answered and failure.busy
        asking.failed_at = now
        if asking.failures >= MOST_FAILURES or asking.waits >= MOST_WAITS:
            raise Refused(
                f"{failure.message} (after {asking.tries} tries, between which others were answered)"
            )
        backoff = min(_LONGEST_PAUSE, 0.5 * 2.0 ** min(asking.tries, 10))
        if failure.after is None:
            pause = backoff * self._clock.uniform(0.5, 1.0)
        else:
            pause = max(failure.after, min(1.0, backoff)) + self._clock.uniform(0, min(1.0, backoff))
        silent_for = now + pause - max(asking.began, self._answered_at)
        if silent_for > PATIENCE:
            asks = f" It asks to wait {failure.after:.0f} s." if failure.after else ""
            raise ServerAway(f"{failure.message}{asks}")
        if failure.busy:
            self._open_at = max(self._open_at, now + pause)
        return pause

    def _current_client(self) -> openai.AsyncOpenAI:
        """A client of the running event loop: connections of another one cannot be used."""
        import openai

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            # aiohttp's connections: httpx2's pool searches all of them for each request.
            http = openai.DefaultAioHttpClient(**_http_settings(self._timeout))
            self._client = openai.AsyncOpenAI(**_client_settings(self.server), http_client=http)
            self._loop = loop
        return self._client


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


def _json_of(response: httpx2.Response) -> dict[str, Any]:
    """The JSON object of a response. Raises Malformed."""
    try:
        found = json.loads(response.content)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    kind = response.headers.get("content-type", "no type")
    raise Malformed(f"answered with {kind} that is not the JSON of an answer: {response.text[:200]!r}")


def first_request(server: ModelServer, *, model: str, unlisted: bool = False) -> None:
    """List the server's models. Raises BackendError if it cannot be reached, refuses the key, or does not
    serve `model`. A server without such a list, or one that is still loading its model, passes.

    `unlisted`: the server serves more models than it lists.
    """
    import httpx2
    import openai

    http = openai.DefaultHttpxClient(**_http_settings(_CONNECT_SECONDS * 3))
    with openai.OpenAI(**_client_settings(server), http_client=http) as client:
        try:
            listed = _json_of(
                client.get("/models", cast_to=httpx2.Response, options={"headers": _key_headers(server)})
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


def _key_headers(server: ModelServer) -> dict[str, Any]:
    """More headers of each request: without a key, openai's header of the key is omitted."""
    import openai

    return {} if server.key else {"Authorization": openai.omit}


def _client_settings(server: ModelServer) -> dict[str, Any]:
    """Arguments of OpenAI and AsyncOpenAI. All that they would read from the environment is set here: it is
    meant for OpenAI, and must not go to other servers."""
    import openai

    headers: dict[str, Any] = {}
    if server.key:  # in place of one of OPENAI_CUSTOM_HEADERS
        headers["Authorization"] = f"Bearer {server.key}"
    if server.name != DEFAULT:
        lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
        names = [line.partition(":")[0].strip() for line in lines if ":" in line]
        headers = dict.fromkeys([*names, "OpenAI-Organization", "OpenAI-Project"], openai.omit) | headers
    return {
        "base_url": server.url,
        "api_key": server.key or "none",  # `_key_headers` omits the second
        "default_headers": headers,
        "max_retries": 0,
    }


def _http_settings(timeout: float) -> dict[str, Any]:
    """Arguments of the HTTP clients. No redirects: a key goes to the server that was configured only."""
    import openai

    return {
        "timeout": openai.Timeout(timeout, connect=_CONNECT_SECONDS, pool=None),
        "limits": _limits(),
        "follow_redirects": False,
    }


def _limits() -> Any:
    """As many connections as there are askings in flight; the engine limits these."""
    import httpx2

    return httpx2.Limits(max_connections=None, max_keepalive_connections=256)
