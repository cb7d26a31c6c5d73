"""Annotators who work over HTTP, each with the rules of the page at work (annotate/sender.js): an
answer is sent again, under the same key, until the server has acknowledged it, and asks for the next item the
first time only."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.processes import drills
from tests.waiting import PATIENCE_SECONDS, wait_for

_TOKEN = "t" * 32


class Annotator(threading.Thread):
    """Somebody at work in the study `load` until nothing is left for them.

    `ports`: of the web servers, any of which may get a request. `said`: value by key of what they answered,
    `acknowledged`: what the server said of it; `failures`: how requests failed that were sent again.
    """

    def __init__(self, session: str, ports: Sequence[int], seed: int) -> None:
        super().__init__(daemon=True)
        self.said: dict[str, int] = {}
        self.acknowledged: dict[str, str] = {}
        self.failures: Counter[str] = Counter()
        self.error: Exception | None = None
        self._ports, self._dice = ports, random.Random(seed)
        self._headers = {
            "Cookie": f"sessionid={session}; csrftoken={_TOKEN}",
            "X-CSRFToken": _TOKEN,
            "Content-Type": "application/json",
        }

    def run(self) -> None:
        try:
            while (given := self._ask("items", {"have": [], "wanted": 3}))["state"] == "items":
                at_hand = given["items"]
                while at_hand:
                    item, *at_hand = at_hand
                    fresh = self._answer(item, have=[other["client_key"] for other in at_hand])
                    # what ran out meanwhile is put away, as the page does it
                    at_hand = [other for other in at_hand if other["client_key"] in fresh.get("held", [])]
                    at_hand += fresh.get("items", [])
        except Exception as error:  # told where the thread is joined
            self.error = error

    def _answer(self, item: dict[str, Any], *, have: list[str]) -> dict[str, Any]:
        """What came with the reply."""
        [option] = item["options"]
        value = self._dice.choice((1, 2, 4, 5))
        self.said[item["client_key"]] = value
        told = {"option": option["id"], "value": value, "position": option["position"]}
        body = {"unit": item["unit"], "client_key": item["client_key"], "active_ms": 900, "answers": [told]}
        reply = self._ask("answers", body, first={"next": {"have": have, "wanted": 3}})
        self.acknowledged[item["client_key"]] = reply["outcome"]
        return reply.get("next", {})

    def _ask(
        self, endpoint: str, body: dict[str, Any], *, first: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """`first`: what is asked the first time only."""
        until = time.monotonic() + PATIENCE_SECONDS
        more = first or {}
        while time.monotonic() < until:
            status, said = self._post(f"/studies/load/annotate/{endpoint}/", json.dumps({**body, **more}))
            if status == 200:
                return json.loads(said)
            # what the page would not send again: a login page, a refusal
            if status and status < 500:
                raise AssertionError(f"{endpoint}: {status} {said[:300]!r}")
            self.failures[f"{endpoint} {status}"] += 1
            more = {}
            time.sleep(self._dice.uniform(0.05, 0.3))
        raise AssertionError(f"{endpoint}: no answer in {PATIENCE_SECONDS} s; {dict(self.failures)}")

    def _post(self, path: str, body: str) -> tuple[int, bytes]:
        """Status and body; status 0 if nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self._dice.choice(self._ports), timeout=20)
        try:
            connection.request("POST", path, body, self._headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()


class AnnotatorPool:
    """Several annotators at work side by side."""

    def __init__(self, sessions: Sequence[str], *ports: int) -> None:
        self.people = [
            Annotator(session, ports, drills.seed(number)) for number, session in enumerate(sessions)
        ]
        for person in self.people:
            person.start()

    def acknowledged(self) -> int:
        return sum(len(person.acknowledged) for person in self.people)

    def failures(self) -> Counter[str]:
        return sum((person.failures for person in self.people), Counter())

    def until(self, number: int) -> None:
        """Wait until so many answers were acknowledged."""
        wait_for(lambda: self.acknowledged() >= number or self._failed(), f"fewer than {number} answers")
        self._check()

    def at_end(self) -> None:
        """Wait until nothing is left for anybody: on a busy machine long, but not without an answer."""
        done, since = -1, time.monotonic()
        while any(person.is_alive() for person in self.people):
            if self.acknowledged() > done:
                done, since = self.acknowledged(), time.monotonic()
            assert time.monotonic() - since < PATIENCE_SECONDS, f"still at work: {dict(self.failures())}"
            time.sleep(0.05)
        self._check()

    def check_kept(self, counted: dict[str, Any]) -> None:
        """Every answer is there once with its value, every slot filled once; `counted` is actors.count."""
        said = {key: value for person in self.people for key, value in person.said.items()}
        assert counted["keys"] == said, "answers that were lost, or that nobody gave"
        assert counted["responses"] == counted["judgements"] == len(said)
        assert counted["filled"] == counted["slots"]
        assert counted["met_twice"] == []

    def _failed(self) -> bool:
        return any(person.error for person in self.people)

    def _check(self) -> None:
        for person in self.people:
            if person.error is not None:
                raise person.error
