"""The server is killed under the page and started again: gunicorn, in processes of its own, with static
files under hashed names."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.browser.annotation_page import wait_for_attribute, wait_for_item, wait_for_status, wait_until_saved
from tests.browser.conftest import PATIENCE_MS
from tests.processes import drills
from tests.processes.conftest import Installation, embedded, installation, migrated, migrated_file
from tests.processes.servers import Web

__all__ = ["installation", "migrated", "migrated_file"]  # fixtures
pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.real_time]
PAGE = "/studies/words/annotate/"
VALUES = {"1": 5, "2": 4, "3": 2, "4": 1}


COLLECT = """
import django; django.setup()
from django.core.management import call_command
from visage_app.serving.static_files import HashedFiles
HashedFiles.compress_files = lambda self, paths: iter(())
call_command("collectstatic", interactive=False, verbosity=0)
"""


@pytest.fixture(scope="session")
def collected(tmp_path_factory) -> Path:
    """The static files as they are served in earnest, but not compressed: that would take a minute."""
    folder = tmp_path_factory.mktemp("collected")
    made = Installation({**embedded(folder), "STATIC_MANIFEST": "yes"})
    made.run("-c", COLLECT)
    return folder / "static"


@pytest.fixture
def server(installation: Installation, collected: Path) -> Iterator[Web]:
    installation.env |= {"DJANGO_SETTINGS_MODULE": "visage_app.settings", "STATIC_MANIFEST": "yes"}
    Path(installation.env["VAR_DIR"], "static").symlink_to(collected)
    installation.act("give_words", 40)
    made = Web(installation.env, workers=1)
    yield made
    made.kill()


@pytest.fixture
def page(browser: Browser, server: Web) -> Iterator[Page]:
    """The page at work, reached through the login."""
    context = browser.new_context(base_url=server.url)
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    opened.goto(f"/accounts/login/?next={PAGE}")
    opened.get_by_label("Username").fill("amal")
    opened.get_by_label("Password").fill("a-long-password")
    opened.get_by_role("button", name="Log in").click()
    wait_for_item(opened)
    yield opened
    context.close()


def kept(installation: Installation):
    return installation.act("said")


def word(number: int) -> str:
    return f"word {number:02}"


def answer(page: Page, number: int, key: str) -> tuple[str, int, str]:
    wait_for_attribute(page, word(number))
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    return word(number), VALUES[key], ""


def sent_in_the_end(page: Page) -> None:
    """The page tries again by itself, later and later; coming back to its window makes it try at once."""
    wait_until_saved(page)


def test_an_answer_and_a_draft_outlive_a_server_that_is_killed_before_it_replies_or_after_it_wrote(
    page, server, installation
):
    """Three deaths in a row, of one server under one page."""
    clicked = [answer(page, 0, "1")]
    wait_for_attribute(page, word(1))
    wait_until_saved(page)
    clicked += _killed_before_it_replies(page, server, installation)
    _check(installation, clicked)
    clicked += _killed_after_it_wrote(page, server, installation, len(clicked))
    _check(installation, clicked)
    clicked += _killed_under_a_draft(page, server, len(clicked))
    _check(installation, clicked)


def _check(installation: Installation, clicked: list[tuple[str, int, str]]) -> None:
    found = kept(installation)
    assert [tuple(row) for row in found["said"]] == clicked
    assert found["responses"] == found["filled"] == len(clicked)


def _killed_before_it_replies(page, server, installation) -> list[tuple[str, int, str]]:
    server.freeze()
    clicked = [answer(page, 1, "2")]
    wait_for_status(page, "Sending")
    wait_for_attribute(page, word(2))
    server.kill()
    wait_for_status(page, "not sent yet: 1")
    clicked.append(answer(page, 2, "3"))
    wait_for_status(page, "not sent yet: 2")
    assert len(kept(installation)["said"]) == 1

    server.start()
    sent_in_the_end(page)
    clicked += [answer(page, number, "4") for number in (3, 4)]
    wait_for_attribute(page, word(5))
    wait_until_saved(page)
    return clicked


def _killed_after_it_wrote(page, server, installation, first: int) -> list[tuple[str, int, str]]:
    written = []

    def killed_before_the_reply(route) -> None:
        if written:
            route.abort("connectionrefused")
            return
        written.append(route.fetch().status)
        server.kill()
        route.abort("connectionreset")

    page.route("**/studies/*/annotate/answers/", killed_before_the_reply)
    clicked = [answer(page, first, "1")]
    wait_for_attribute(page, word(first + 1))
    wait_for_status(page, "not sent yet: 1")
    assert written == [200]
    assert len(kept(installation)["said"]) == first + 1
    clicked.append(answer(page, first + 1, "2"))
    wait_for_status(page, "not sent yet: 2")
    page.unroute("**/studies/*/annotate/answers/")
    server.start()
    sent_in_the_end(page)
    wait_for_attribute(page, word(first + 2))
    return clicked


def _killed_under_a_draft(page, server, first: int) -> list[tuple[str, int, str]]:
    wait_for_attribute(page, word(first))
    page.keyboard.press("1")
    server.kill()
    page.keyboard.press("Enter")
    wait_for_status(page, "not sent yet: 1")
    wait_for_attribute(page, word(first + 1))
    page.keyboard.press("5")
    page.keyboard.type("half a thou")
    with pytest.raises(Error, match="ERR_CONNECTION_REFUSED"):
        page.reload()
    # the browser's own page about it comes after the error
    page.wait_for_url("chrome-error://chromewebdata/", wait_until="commit")
    server.start()
    page.goto(PAGE)
    wait_for_attribute(page, word(first + 1))
    expect(page.get_by_label("Why are you unsure?")).to_have_value("half a thou")
    sent_in_the_end(page)
    wait_for_item(page)
    page.get_by_label("Why are you unsure?").press("End")
    page.keyboard.type("ght")
    page.keyboard.press("Control+Enter")
    wait_for_attribute(page, word(first + 2))
    wait_until_saved(page)
    return [(word(first), 5, ""), (word(first + 1), 3, "half a thought")]


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
    wait_for_attribute(page, word(30))
    _check(installation, clicked)
