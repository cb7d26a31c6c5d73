"""Simulated annotators over HTTP. They follow the annotation page's rules (annotate/sender.js): an answer is
sent again under the same key until the server has acknowledged it, and asks for the next item only the first
time."""

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
    """Answers items of the study `load` until none is left.

    `ports`: the web servers' ports; each request goes to any of them. `answers`: key -> value;
    `acknowledged`: key -> the server's outcome; `failures`: counts of failed requests, which were sent again.
    """

    def __init__(self, session: str, ports: Sequence[int], seed: int) -> None:
        super().__init__(daemon=True)
        self.answers: dict[str, int] = {}
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
            while (reply := self._post("items", {"have": [], "wanted": 3}))["state"] == "items":
                queue = reply["items"]
                while queue:
                    item, *queue = queue
                    following = self._answer(item, have=[other["client_key"] for other in queue])
                    # Like the page, drop items whose leases have expired meanwhile.
                    queue = [other for other in queue if other["client_key"] in following.get("held", [])]
                    queue += following.get("items", [])
        except Exception as error:  # AnnotatorPool raises it
            self.error = error

    def _answer(self, item: dict[str, Any], *, have: list[str]) -> dict[str, Any]:
        """The next items that came with the reply."""
        [option] = item["options"]
        value = self._dice.choice((1, 2, 4, 5))
        self.answers[item["client_key"]] = value
        judgement = {"option": option["id"], "value": value, "position": option["position"]}
        body = {
            "unit": item["unit"],
            "client_key": item["client_key"],
            "active_ms": 900,
            "answers": [judgement],
        }
        reply = self._post("answers", body, first={"next": {"have": have, "wanted": 3}})
        self.acknowledged[item["client_key"]] = reply["outcome"]
        return reply.get("next", {})

    def _post(
        self, endpoint: str, body: dict[str, Any], *, first: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send until it succeeds. `first`: added to the body at the first attempt only."""
        until = time.monotonic() + PATIENCE_SECONDS
        more = first or {}
        while time.monotonic() < until:
            status, content = self._send(f"/studies/load/annotate/{endpoint}/", json.dumps({**body, **more}))
            if status == 200:
                return json.loads(content)
            # The page would not send this again: a login page or a refusal.
            if status and status < 500:
                raise AssertionError(f"{endpoint}: {status} {content[:300]!r}")
            self.failures[f"{endpoint} {status}"] += 1
            more = {}
            time.sleep(self._dice.uniform(0.05, 0.3))
        raise AssertionError(f"{endpoint}: no answer in {PATIENCE_SECONDS} s; {dict(self.failures)}")

    def _send(self, path: str, body: str) -> tuple[int, bytes]:
        """Status and body; status 0 if nobody answers."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._dice.choice(self._ports), timeout=PATIENCE_SECONDS
        )
        try:
            connection.request("POST", path, body, self._headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()


class AnnotatorPool:
    """Several annotators at the same time."""

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

    def wait_for_answers(self, number: int) -> None:
        """Wait until so many answers are acknowledged."""
        wait_for(lambda: self.acknowledged() >= number or self._failed(), f"fewer than {number} answers")
        self._check()

    def wait_until_done(self) -> None:
        """Wait until nothing is left for anybody. Fails if no answer is acknowledged for too long."""
        done, since = -1, time.monotonic()
        while any(person.is_alive() for person in self.people):
            if self.acknowledged() > done:
                done, since = self.acknowledged(), time.monotonic()
            assert time.monotonic() - since < PATIENCE_SECONDS, f"still at work: {dict(self.failures())}"
            time.sleep(0.05)
        self._check()

    def check_kept(self, counted: dict[str, Any]) -> None:
        """Check that every answer is stored once with its value, and every slot filled once. `counted`: the
        result of actors.count."""
        answers = {key: value for person in self.people for key, value in person.answers.items()}
        assert counted["keys"] == answers, "answers that were lost, or that nobody gave"
        assert counted["responses"] == counted["judgements"] == len(answers)
        assert counted["filled"] == counted["slots"]
        assert counted["met_twice"] == []

    def _failed(self) -> bool:
        return any(person.error for person in self.people)

    def _check(self) -> None:
        for person in self.people:
            if person.error is not None:
                raise person.error
