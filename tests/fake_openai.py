"""A small server that speaks OpenAI's HTTP interface, and fails, stalls, limits and lies on request.

In the process of a test: `with FakeOpenAI() as server: ... server.url`. As a process of its own, for
benchmarks and for tests that kill workers: `python -m tests.fake_openai --delay 0.2`, which prints its URL;
GET /asked then answers with the counts. Nothing here imports Django or openai.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image


@dataclass(frozen=True)
class Fault:
    """What one asking gets instead of an answer. `kind`: status (with `status`, `body`, `headers`), drop
    (the connection is cut before the answer), half (in the middle of it), stall (no answer until the server
    closes), or raw (`body` as it is, with status 200 and `headers`)."""

    kind: str
    status: int = 200
    body: Any = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def error(
    status: int, message: str = "", *, code: str | None = None, param: str | None = None, **headers: str
) -> Fault:
    """An error as OpenAI writes it; `headers`: with _ for -."""
    body = {"error": {"message": message, "type": "some_error", "code": code, "param": param}}
    return Fault("status", status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def limited(after: str = "1") -> Fault:
    return error(429, "Rate limit reached.", code="rate_limit_exceeded", retry_after=after)


DROP, HALF, STALL = Fault("drop"), Fault("half"), Fault("stall")
HTML = Fault("raw", body="<html>Bad gateway</html>", headers={"content-type": "text/html"})
GARBAGE = Fault("raw", body='{"choices": [{"mess')
EMPTY = Fault("raw", body={"id": "1", "object": "chat.completion", "choices": []})


def choice(text: str | None, ended: str = "stop", **message: Any) -> Fault:
    """An answer of this text, with the reason that it ended, and more fields of the message."""
    said = {"role": "assistant", "content": text, **message}
    return Fault("raw", body={"choices": [{"index": 0, "message": said, "finish_reason": ended}]})


class FakeOpenAI:
    """`delay`: seconds before each answer. `key`: the one that is right, "" for none. `models`: those that
    are listed; None: there is no list. `faults`: what the next askings get, in order; None in it is an
    answer. `always`: what a prompt gets every time. `judge`: decides by the request's fields; None: an
    answer. `rates`: each a fault and its share of the askings, drawn with `seed`. `reply`: the text of an
    answer by the request's fields. `keep`: whether `bodies` and `headers` of askings are kept."""

    def __init__(
        self,
        *,
        delay: float = 0.0,
        key: str = "",
        models: list[str] | None = None,
        reply: Callable[[Mapping[str, Any]], str] | None = None,
        rates: Sequence[tuple[Fault, float]] = (),
        seed: int = 0,
        keep: bool = True,
    ) -> None:
        self.delay, self.key, self.models = delay, key, models
        self.reply = reply or (lambda body: f"You said: {prompt_of(body)}")
        self.faults: deque[Fault | None] = deque()
        self.always: dict[str, Fault] = {}
        self.judge: Callable[[Mapping[str, Any]], Fault | None] = lambda body: None
        self.rates, self._random, self._keep = list(rates), random.Random(seed), keep
        self.first_fault: Fault | None = None  # of the list of models
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: Counter[str] = Counter()
        self.in_flight = self.most_in_flight = 0
        self.company = 0  # no answer before so many were in flight at once
        self.most_answers: int | None = None  # those after so many are held back until it is None again
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> FakeOpenAI:
        started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self.serve(started.set)))
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()
        self._loop.close()

    async def serve(self, started: Callable[[], None], port: int = 0) -> None:
        """Until it is closed."""
        self._closing = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", port, limit=2**26, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        started()
        await self._closing.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether the connection stays."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        pairs = (line.split(":", 1) for line in head[1:] if ":" in line)
        headers = {name.lower(): value.strip() for name, value in pairs}
        sent = await reader.readexactly(int(headers.get("content-length", 0)))
        self.paths[path] += 1
        if method == "GET":
            fault = self._listed(path, headers)
        else:
            fault = await self._asking(path, headers, json.loads(sent))
        if fault.kind == "stall":
            await self._closing.wait()
        if fault.kind in ("stall", "drop"):
            return False
        body = fault.body if isinstance(fault.body, str) else json.dumps(fault.body)
        data = body.encode("utf-8", "surrogatepass")
        lines = {"content-type": "application/json", "content-length": str(len(data)), **fault.headers}
        said = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"HTTP/1.1 {fault.status} X\r\n{said}\r\n".encode("latin-1"))
        writer.write(data[: len(data) // 2] if fault.kind == "half" else data)
        await writer.drain()
        return fault.kind != "half"

    def _listed(self, path: str, headers: Mapping[str, str]) -> Fault:
        if path == "/asked":
            counts = {
                "asked": self.asked,
                "answered": self.answered,
                "most_in_flight": self.most_in_flight,
            }
            return Fault("raw", body=counts)
        if self._keep:
            self.headers.append(dict(headers))
        if (refused := self._refused(headers)) is not None:
            return refused
        if self.first_fault is not None:
            return self.first_fault
        if self.models is None:
            return error(404, "Not found")
        return Fault("raw", body={"object": "list", "data": [{"id": name} for name in self.models]})

    async def _asking(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Fault:
        prompt = prompt_of(body)
        self.asked[prompt] += 1
        if self._keep:
            self.bodies.append(body)
            self.headers.append(dict(headers))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            while self.most_in_flight < self.company:
                await asyncio.sleep(0.01)
            while self.most_answers is not None and self.answered.total() >= self.most_answers:
                await asyncio.sleep(0.01)
            if self.delay:
                await asyncio.sleep(self.delay)
            fault = self._refused(headers) or self._fault(prompt, body)
            if fault is None:
                self.answered[prompt] += 1
                return self._answer(path, body)
            if fault.kind == "half":
                return Fault("half", body=self._answer(path, body).body)
            return fault
        finally:
            self.in_flight -= 1

    def _refused(self, headers: Mapping[str, str]) -> Fault | None:
        given = headers.get("authorization", "")
        if self.key and given != f"Bearer {self.key}":
            return error(
                401, f"Incorrect API key provided: {given.removeprefix('Bearer ')}.", code="invalid_api_key"
            )
        return None

    def _fault(self, prompt: str, body: Mapping[str, Any]) -> Fault | None:
        if self.faults:
            return self.faults.popleft()
        if (fault := self.always.get(prompt) or self.judge(body)) is not None:
            return fault
        number = self._random.random()
        for fault, share in self.rates:
            if number < share:
                return fault
            number -= share
        return None

    def _answer(self, path: str, body: Mapping[str, Any]) -> Fault:
        if path.endswith("/images/generations"):
            return Fault("raw", body={"created": 1, "data": [{"b64_json": picture(body["size"])}]})
        text = self.reply(body)
        usage = {"prompt_tokens": len(prompt_of(body).split()), "completion_tokens": len(text.split())}
        if path.endswith("/chat/completions"):
            said: dict[str, Any] = {"message": {"role": "assistant", "content": text}}
        else:
            said = {"text": text}
        made = {"id": "1", "model": body["model"], "usage": usage}
        return Fault("raw", body={**made, "choices": [{"index": 0, "finish_reason": "stop", **said}]})


def prompt_of(body: Mapping[str, Any]) -> str:
    """The prompt of a request: that, or the text of its last message."""
    if "prompt" in body:
        return str(body["prompt"])
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def picture(size: str) -> str:
    """A grey PNG of `size`, such as 64x64, as base64."""
    width, height = map(int, size.split("x"))
    written = io.BytesIO()
    Image.new("RGB", (width, height), (120, 120, 120)).save(written, "PNG")
    return base64.b64encode(written.getvalue()).decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--key", default="", help="the key that is right; none is needed without it")
    for name in ("limited", "failed", "dropped", "garbage"):
        parser.add_argument(f"--{name}", type=float, default=0.0, help="share of the askings")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rates = [(limited(), given.limited), (error(500, "Oops"), given.failed)]
    rates += [(DROP, given.dropped), (GARBAGE, given.garbage)]
    server = FakeOpenAI(delay=given.delay, key=given.key, rates=rates, seed=given.seed, keep=False)
    asyncio.run(server.serve(lambda: print(server.url, flush=True), given.port))


if __name__ == "__main__":
    main()
