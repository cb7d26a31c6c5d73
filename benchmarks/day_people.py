"""The people of benchmarks/day.py as locust has them: annotators, leads who watch, an admin who exports.

    python -m benchmarks.day_people PLAN.json JOURNAL.json

First somebody works alone (*alone*), then everybody comes, one by one (*coming*), and is at work (*day*).
"""

from __future__ import annotations

import json
import random
import re
import socket
import sys
import time
from collections import defaultdict
from http.cookiejar import DefaultCookiePolicy
from itertools import count
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import gevent
from locust import FastHttpUser, events, task  # which has gevent take the place of waiting threads
from locust.env import Environment
from locust.exception import StopUser

PLAN: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
ORIGIN = f"https://{PLAN['from_proxy']['Host']}"
ENDPOINTS = "/studies/day/annotate"
AT_HAND = 3
LANGUAGE = "en"


class Journal:
    """What the browsers know: sent, acknowledged, how long it took and what went wrong."""

    def __init__(self) -> None:
        self.phase = "alone"
        self.sent: set[str] = set()
        self.acknowledged: dict[str, dict[int, int]] = {}
        self.taken: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self.errors: list[str] = []
        self.counted: dict[str, int] = defaultdict(int)

    def heard(self, *, name: str, response_time: float, exception: Any, **rest: Any) -> None:
        if exception is not None:
            self.errors.append(f"{name}: {exception!r}"[:300])
        else:
            self.taken[self.phase][name].append(response_time)

    def write(self, path: str) -> None:
        said = {name: getattr(self, name) for name in ("acknowledged", "taken", "errors", "counted")}
        Path(path).write_text(json.dumps(said | {"sent": sorted(self.sent)}))


JOURNAL = Journal()
PEOPLE = count()


class Somebody(FastHttpUser):
    """A browser: cookies, forms with their token."""

    abstract = True
    host = PLAN["host"]
    network_timeout = connection_timeout = 60.0
    # The server hangs up on who is silent for two seconds; a proxy, which is not here, would know that.
    default_headers: ClassVar[dict[str, str]] = {"Connection": "close", **PLAN["from_proxy"]}

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        # the way to the proxy, which is not here, is HTTPS
        self.client.cookiejar.set_policy(DefaultCookiePolicy(secure_protocols=("http", "https")))

    def page(self, name: str, path: str, **options: Any) -> Any:
        """GET; StopUser if it fails, which the journal has then."""
        answer = self.client.get(path, name=name, **options)
        if answer.status_code not in (200, 204):
            raise StopUser
        return answer

    def form(self, name: str, path: str, **fields: str) -> Any:
        fields["csrfmiddlewaretoken"] = self.token()
        answer = self.client.post(path, data=fields, name=name, headers={"Referer": f"{ORIGIN}{path}"})
        if answer.status_code != 200:
            raise StopUser
        return answer

    def token(self) -> str:
        return next(one.value for one in self.client.cookiejar if one.name == "csrftoken")

    def log_in(self, username: str) -> None:
        self.page("log in", "/accounts/login/")
        path = "/accounts/login/"
        with self.client.post(
            path,
            data={"username": username, "password": PLAN["password"], "csrfmiddlewaretoken": self.token()},
            name="log in: password",
            headers={"Referer": f"{ORIGIN}{path}"},
            catch_response=True,
        ) as answer:
            if "sessionid" not in {one.name for one in self.client.cookiejar}:
                answer.failure(f"{username} was not let in: {answer.status_code}")
                raise StopUser


class Annotator(Somebody):
    """Comes by invitation or password, agrees, and judges one page after another until the day is over."""

    weight = 100
    think: ClassVar[float] = PLAN["think_seconds"]

    def on_start(self) -> None:
        number = next(PEOPLE)
        self.dice = random.Random(f"{PLAN['seed']}-{number}")
        # so many of them take their data out, after some answers
        self.left = self.dice.randint(1, 5) if number % PLAN["one_withdraws_of"] == 2 else None
        self.at_hand: list[dict[str, Any]] = []
        self.seen: set[str] = set()
        if self.dice.random() < PLAN["with_password"] and PLAN["accounts"]:
            self.log_in(PLAN["accounts"].pop())
            consent = self.page("consent", "/studies/day/consent/")
        else:
            self.page("join", "/join/day/")
            consent = self.form("join: accept", "/join/day/")
        [text] = re.findall(r'name="text" value="(\d+)"', consent.text)
        self.form("consent: agree", "/studies/day/consent/", text=text)
        self.open_page()

    def open_page(self) -> None:
        """The page at work with what it loads; the browser keeps files and pictures."""
        shown = self.page("page at work", "/studies/day/annotate/")
        self.at_hand = []
        for path in set(re.findall(r'"(/static/[^"]+\.(?:js|css|svg))"', shown.text)) - self.seen:
            self.seen.add(path)
            self.page("static file", path)

    @task
    def one_item(self) -> None:
        if len(self.at_hand) < AT_HAND:
            self.fetch()
        if not self.at_hand:
            raise StopUser
        gevent.sleep(self.dice.lognormvariate(0, 0.5) * self.think)
        self.answer(self.at_hand.pop(0))
        if self.left is not None:
            self.left -= 1
        if self.left == 0:
            JOURNAL.counted["withdrawals"] += 1
            self.page("withdraw", "/studies/day/withdraw/")
            self.form("withdraw: confirm", "/studies/day/withdraw/", choice="delete", sure="on")
            raise StopUser
        if self.dice.random() < PLAN["close"]:
            JOURNAL.counted["browsers closed"] += 1
            gevent.sleep(self.dice.uniform(1, 3) * self.think)
            self.open_page()

    def fetch(self) -> None:
        have = [item["client_key"] for item in self.at_hand]
        given = self.send("next", "items", {"have": have, "wanted": AT_HAND})
        if given is not None:
            self.take(given)

    def take(self, given: dict[str, Any]) -> None:
        for item in given["items"]:
            self.at_hand.append(item)
            path = urlsplit(item["image"]["url"]).path
            if path not in self.seen:
                self.seen.add(path)
                self.page("image", path)

    def answer(self, item: dict[str, Any]) -> None:
        *words, none = item["options"]
        chosen = [one for one in words if self.dice.random() < 0.3]
        values = {one["id"]: int(one in chosen or (one is none and not chosen)) for one in item["options"]}
        body = {
            "unit": item["unit"],
            "client_key": item["client_key"],
            "active_ms": 1000 * self.think,
            "language": LANGUAGE,
            "answers": [
                {
                    "option": one["id"],
                    "value": values[one["id"]],
                    "position": number,
                    **({"boxes": [[8, 8, 99, 99]]} if one in chosen else {}),
                }
                for number, one in enumerate(item["options"], 1)
            ],
        }
        JOURNAL.sent.add(item["client_key"])
        chance = self.dice.random()
        # the next item comes with the reply to what is sent for the first time, as the page has it
        asking = {**body, "next": {"have": [one["client_key"] for one in self.at_hand], "wanted": AT_HAND}}
        if lost := chance < PLAN["resend"]:
            self.lose_the_reply(asking)
        told = self.send("submit", "answers", body if lost else asking)
        if told is None:
            return
        JOURNAL.counted[f"outcome {told['outcome']}"] += 1
        JOURNAL.acknowledged[item["client_key"]] = values
        if PLAN["resend"] <= chance < 2 * PLAN["resend"]:
            self.send("submit again", "answers", body)
        self.take(told.get("next", {"items": []}))

    def send(self, name: str, endpoint: str, body: dict[str, Any]) -> Any:
        """What the page's script sends; None where the server was away, which the journal has then."""
        answer = self.client.post(f"{ENDPOINTS}/{endpoint}/", json=body, headers=self.of_page(), name=name)
        return answer.json() if answer.status_code == 200 else None

    def of_page(self) -> dict[str, str]:
        return {"X-CSRFToken": self.token(), "Referer": f"{ORIGIN}/studies/day/annotate/"}

    def lose_the_reply(self, body: dict[str, Any]) -> None:
        """Send an answer and hang up before the reply: the journal of the browser sends it again."""
        JOURNAL.counted["replies lost"] += 1
        at, data = urlsplit(self.host), json.dumps(body).encode()
        cookies = "; ".join(f"{one.name}={one.value}" for one in self.client.cookiejar)
        said = {"Cookie": cookies, "Content-Type": "application/json", "Content-Length": len(data)}
        headers = PLAN["from_proxy"] | self.of_page() | said
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        with socket.create_connection((at.hostname, at.port), timeout=60) as wire:
            wire.sendall(f"POST {ENDPOINTS}/answers/ HTTP/1.1\r\n{head}\r\n".encode() + data)
            gevent.sleep(self.dice.uniform(0, 0.05))


class Alone(Annotator):
    """The single user with whom the day is compared: the same work, with little to think about."""

    think = PLAN["alone_think_seconds"]


class Lead(Somebody):
    """Watches the study: the overview, whose live part is asked for every few seconds."""

    fixed_count = len(PLAN["leads"])
    free: ClassVar[list[str]] = list(PLAN["leads"])

    def on_start(self) -> None:
        self.log_in(self.free.pop())
        self.page("overview", "/studies/day/overview/")

    @task
    def watch(self) -> None:
        for _ in range(10):
            gevent.sleep(PLAN["poll_seconds"])
            self.page("overview: live", "/studies/day/overview/live/", headers={"HX-Request": "true"})
        self.page("people", "/studies/day/people/")


class Admin(Somebody):
    """Has an export made in the background and scores computed, again and again."""

    fixed_count = 1

    def on_start(self) -> None:
        self.log_in(PLAN["admin"])

    @task
    def export_and_score(self) -> None:
        self.page("export page", "/studies/day/export/")
        self.form("export: ask", "/studies/day/export/list/", format="csv", when="later")
        fresh = self.page("scores: ask", "/studies/day/scores/fresh/?of=tendency:corrected")
        runs = "&".join(f"waiting={number}" for number in re.findall(r"waiting=(\d+)", fresh.text))
        until = time.monotonic() + 60
        scored, path = not runs, None
        while time.monotonic() < until and not (scored and path):
            gevent.sleep(PLAN["poll_seconds"])
            asked = {"HX-Request": "true"}
            listed = self.page("export: list", "/studies/day/export/list/", headers=asked).text
            path = next(iter(re.findall(r'"(/studies/day/export/\d+/file/)"', listed)), None)
            if not scored:
                told = self.page("scores: wait", f"/studies/day/scores/fresh/?{runs}", headers=asked)
                scored = told.status_code == 200
        if path:
            self.page("export: fetch", path)
            JOURNAL.counted["exports fetched"] += 1
        if scored:
            self.page("identities", "/studies/day/identities/")
            JOURNAL.counted["scores seen"] += 1


def run(classes: list[type[Somebody]], *, people: int, ramp: float, seconds: float) -> None:
    """Let `people` come within `ramp` seconds and stay until `seconds` are over."""
    environment = Environment(user_classes=classes, events=events, stop_timeout=10)
    runner = environment.create_local_runner()
    runner.start(people, spawn_rate=max(people / ramp, 0.1))
    gevent.sleep(seconds)
    runner.quit()


def main() -> None:
    events.request.add_listener(JOURNAL.heard)
    run([Alone], people=1, ramp=1, seconds=PLAN["alone_seconds"])
    JOURNAL.phase = "coming"
    gevent.spawn_later(PLAN["ramp_seconds"], setattr, JOURNAL, "phase", "day")
    others = Lead.fixed_count + Admin.fixed_count
    everybody: list[type[Somebody]] = [Annotator, Lead, Admin]
    run(everybody, people=PLAN["annotators"] + others, ramp=PLAN["ramp_seconds"], seconds=PLAN["seconds"])
    JOURNAL.write(sys.argv[2])


if __name__ == "__main__":
    main()
