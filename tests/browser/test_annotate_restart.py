"""The server is killed under the page and started again, as it is run in earnest: `manage.py serve` with
gunicorn, in a process of its own, with hashed and compressed static files."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.browser.desk import item_shown, painted, saved, state
from tests.processes import drills
from tests.processes.conftest import ROOT, Installation, installation, migrated, migrated_file

__all__ = ["installation", "migrated", "migrated_file"]  # fixtures
pytestmark = [pytest.mark.browser, pytest.mark.processes]
PAGE = "/studies/words/annotate/"
VALUES = {"1": 5, "2": 4, "3": 2, "4": 1}

SET_UP = """
import django; django.setup()
from tests import factories
study = factories.rating_study(name="words", texts=[f"word {number:02}" for number in range(40)])
factories.enrolment(study, who=factories.annotator(user=factories.user("amal")), consented=True)
"""
KEPT = """
import json
import django; django.setup()
from annotation.models import Judgement, Response, Slot
said = Judgement.objects.order_by("pk")
print(json.dumps({
    "said": list(said.values_list("option__attribute__text", "value", "justification")),
    "responses": Response.objects.filter(current=True, slot__isnull=False).count(),
    "filled": Slot.objects.filter(state="filled").count(),
}))
"""


class Server:
    """`manage.py serve` on a port of its own, with all that it starts."""

    def __init__(self, made: Installation) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._env = made.env
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; returns once it answers."""
        bind = ("--bind", f"127.0.0.1:{self.port}", "--workers", "1")
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", *bind],
            cwd=ROOT,
            env=self._env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self._process.poll() is None, "the server ended by itself"
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return
            time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def freeze(self) -> None:
        """The server takes connections, and does nothing with them."""
        self._signal(signal.SIGSTOP)

    def kill(self) -> None:
        """As a machine that loses its power: nobody gets to clean up."""
        if self._process is None:
            return
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._process = None
        # its children may take a moment longer to let go of the port
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                time.sleep(0.01)
                continue
            return
        raise AssertionError("the server is still there")

    def _signal(self, number: int) -> None:
        assert self._process is not None
        for pid in _family(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _family(pid: int) -> list[int]:
    """A process and all that it started, and they started."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    children: dict[int, list[int]] = {}
    for line in listed.stdout.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    family = [pid]
    for member in family:
        family += children.get(member, [])
    return family


@pytest.fixture(scope="session")
def collected(tmp_path_factory) -> Path:
    """The static files as they are served in earnest: hashed names, compressed."""
    folder = tmp_path_factory.mktemp("collected")
    made = Installation({**os.environ, "VAR_DIR": str(folder), "STATIC_MANIFEST": "yes"})
    made.run("manage.py", "collectstatic", "--noinput", "-v0")
    return folder / "static"


@pytest.fixture
def server(installation: Installation, collected: Path) -> Iterator[Server]:
    installation.env |= {"DJANGO_SETTINGS_MODULE": "visage_app.settings", "STATIC_MANIFEST": "yes"}
    Path(installation.env["VAR_DIR"], "static").symlink_to(collected)
    installation.run("-c", SET_UP)
    made = Server(installation)
    made.start()
    yield made
    made.kill()


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """The page at work, reached through the login."""
    context = browser.new_context(base_url=server.url)
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    opened.goto(f"/accounts/login/?next={PAGE}")
    opened.get_by_label("Username").fill("amal")
    opened.get_by_label("Password").fill("a-long-password")
    opened.get_by_role("button", name="Log in").click()
    painted(opened)
    yield opened
    context.close()


def kept(installation: Installation):
    return json.loads(installation.run("-c", KEPT))


def word(number: int) -> str:
    return f"word {number:02}"


def answer(page: Page, number: int, key: str) -> tuple[str, int, str]:
    item_shown(page, word(number))
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    return word(number), VALUES[key], ""


def sent_in_the_end(page: Page) -> None:
    """The page tries again by itself, later and later; coming back to its window makes it try at once."""
    expect(page.locator("[data-state=saved]")).to_contain_text("All answers saved", timeout=60_000)


def test_an_answer_whose_server_is_killed_before_it_replies_is_sent_to_the_next_one(
    page, server, installation
):
    clicked = [answer(page, 0, "1")]
    item_shown(page, word(1))
    saved(page)
    server.freeze()
    clicked.append(answer(page, 1, "2"))
    state(page, "Sending")
    item_shown(page, word(2))
    server.kill()
    state(page, "answers kept here: 1")
    clicked.append(answer(page, 2, "3"))
    state(page, "answers kept here: 2")
    assert len(kept(installation)["said"]) == 1

    server.start()
    sent_in_the_end(page)
    clicked += [answer(page, number, "4") for number in (3, 4)]
    item_shown(page, word(5))
    saved(page)
    found = kept(installation)
    assert [tuple(row) for row in found["said"]] == clicked
    assert (found["responses"], found["filled"]) == (5, 5)


def test_an_answer_whose_server_is_killed_after_it_wrote_it_is_not_there_twice(page, server, installation):
    written = []

    def killed_before_the_reply(route) -> None:
        if written:
            route.abort("connectionrefused")
            return
        written.append(route.fetch().status)
        server.kill()
        route.abort("connectionreset")

    page.route("**/studies/*/desk/answers/", killed_before_the_reply)
    clicked = [answer(page, 0, "1")]
    item_shown(page, word(1))
    state(page, "answers kept here: 1")
    assert written == [200]
    assert len(kept(installation)["said"]) == 1
    clicked.append(answer(page, 1, "2"))
    state(page, "answers kept here: 2")
    page.unroute("**/studies/*/desk/answers/")
    server.start()
    sent_in_the_end(page)
    item_shown(page, word(2))
    found = kept(installation)
    assert [tuple(row) for row in found["said"]] == clicked
    assert (found["responses"], found["filled"]) == (2, 2)


def test_a_draft_and_an_answer_outlive_the_server_and_the_page(page, server, installation):
    item_shown(page, word(0))
    page.keyboard.press("1")
    server.kill()
    page.keyboard.press("Enter")
    state(page, "answers kept here: 1")
    item_shown(page, word(1))
    page.keyboard.press("5")
    page.keyboard.type("half a thou")
    with pytest.raises(Error, match="ERR_CONNECTION_REFUSED"):
        page.reload()
    server.start()
    page.goto(PAGE)
    item_shown(page, word(1))
    expect(page.get_by_label("Why are you unsure?")).to_have_value("half a thou")
    sent_in_the_end(page)
    page.get_by_label("Why are you unsure?").press("End")
    page.keyboard.type("ght")
    page.keyboard.press("Control+Enter")
    item_shown(page, word(2))
    saved(page)
    assert kept(installation)["said"] == [[word(0), 5, ""], [word(1), 3, "half a thought"]]


def test_a_server_killed_again_and_again_while_answers_come_in_loses_and_doubles_none(
    page, server, installation
):
    """Kills it a few milliseconds after a click: before the answer came in, while it is written, after it."""
    rng = drills.dice(3)
    deaths = {number: rng.uniform(0, 0.04) for number in (4, 9, 14, 19, 24)}
    clicked, restarts = [], []
    for number in range(30):
        clicked.append(answer(page, number, rng.choice("1234")))
        if number in deaths:
            for restart in restarts:
                restart.join()
            time.sleep(deaths[number])
            server.kill()
            # it comes back while the page works on with what is at hand, and then waits
            back = threading.Thread(target=server.start)
            back.start()
            restarts.append(back)
    for restart in restarts:
        restart.join()
    sent_in_the_end(page)
    item_shown(page, word(30))
    found = kept(installation)
    assert [tuple(row) for row in found["said"]] == clicked
    assert (found["responses"], found["filled"]) == (30, 30)
