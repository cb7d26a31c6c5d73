"""A real Chromium for the tests marked `browser`."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from tests.browser import axe
from tests.waiting import PATIENCE_SECONDS, wait_for

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
]

# A machine that is busy with other tests is slow; what is right comes in the end.
PATIENCE_MS = 1000 * PATIENCE_SECONDS
expect.set_options(timeout=PATIENCE_MS)

# To hunt for what only works when all comes at once: seconds by which each reply is late, and how many times
# slower pages think (README, "Working on it").
LATE_REPLIES = float(os.environ.get("LATE_REPLIES", "0"))
SLOW_PAGES = float(os.environ.get("SLOW_PAGES", "1"))

# Playwright's synchronous interface runs an event loop in the thread of the tests, which makes Django
# think that its database is used from asynchronous code.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


def chromium_path() -> str | None:
    """Where Chromium is: CHROMIUM, the system's own, or None for the one Playwright brought."""
    # The first draws pages and nothing around them; the others open whole windows, out of sight.
    found = map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))
    return os.environ.get("CHROMIUM") or next(filter(None, found), None)


@pytest.fixture(scope="session", autouse=True)
def _late_replies() -> Iterator[None]:
    if not LATE_REPLIES:
        yield
        return
    in_time = WSGIHandler.__call__

    def late(handler, environ, start_response):
        time.sleep(LATE_REPLIES)
        return in_time(handler, environ, start_response)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WSGIHandler, "__call__", late)
        yield


@pytest.fixture(scope="session", autouse=True)
def _axe_served() -> Iterator[None]:
    """The live server has axe-core as well."""
    script = axe.SCRIPT.encode()
    headers = [
        ("Content-Type", "text/javascript; charset=utf-8"),
        ("Content-Length", str(len(script))),
        ("Cache-Control", "max-age=86400"),
    ]
    program = WSGIHandler.__call__

    def served(handler, environ, start_response):
        if environ["PATH_INFO"] != axe.ADDRESS:
            return program(handler, environ, start_response)
        start_response("200 OK", headers)
        return [script]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WSGIHandler, "__call__", served)
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        except Error as error:
            pytest.skip(f"NO CHROMIUM (set CHROMIUM): no page was tried in a browser. {error.message[:200]}")
        yield started
        started.close()


@pytest.fixture
def offline_is_expected() -> None:
    """The test cuts the network, of which the browser complains in the console."""


@pytest.fixture
def new_page(browser: Browser, live_server, request) -> Iterator[Callable[..., Page]]:
    """Opens pages: new_page(user, width=..., dark=..., javascript=..., language=...), and `seen`, what
    somebody asks of their system (forced_colors, contrast, reduced_motion) or has in their hands (has_touch,
    is_mobile). At the end of the test no page may have complained in its console, except of answers with an
    error status, which tests ask for."""
    complaints: list[str] = []
    cuts = "offline_is_expected" in request.fixturenames
    contexts = []

    def opened(
        user=None,
        *,
        width: int = 1280,
        height: int = 800,
        dark: bool = False,
        javascript: bool = True,
        language: str | None = None,
        **seen: str | bool,
    ) -> Page:
        context = browser.new_context(
            base_url=live_server.url,
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=javascript,
            **seen,
        )
        if language is not None:
            name = settings.LANGUAGE_COOKIE_NAME
            context.add_cookies([{"name": name, "value": language, "url": live_server.url}])
        contexts.append(context)
        if user is not None:
            # one of its own: who logs in after another with the same client logs the other one out
            client = Client()
            client.force_login(user)
            cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
            context.add_cookies(
                [{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}]
            )
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        if SLOW_PAGES > 1:
            context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOW_PAGES})
        note_complaints(page, complaints, cuts=cuts)
        return page

    yield opened
    for context in contexts:
        context.close()
    _until_served()
    assert complaints == []


def note_complaints(page: Page, complaints: list[str], *, cuts: bool = False) -> None:
    """Add whatever the page complains of from now on; `cuts`: a network that is cut is expected."""

    def note(message) -> None:
        if cuts and "net::ERR_" in message.text:
            return
        if (
            message.type in {"error", "warning"}
            and "the server responded with a status of" not in message.text
        ):
            complaints.append(message.text)

    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", note)


def _until_served() -> None:
    """Until the live server is done with what closed pages had still asked for: PostgreSQL cannot empty a
    table in the middle of a request, and a late request must not write into the next test."""
    wait_for(
        # Python names a thread after the function it runs: socketserver.ThreadingMixIn has one a connection
        lambda: not [one for one in threading.enumerate() if "process_request_thread" in one.name],
        "the live server is still at a request after the pages were closed",
    )


# what is on its way to another colour or place is not what anybody reads
AT_REST = """() => Promise.all(document.getAnimations()
    .filter(one => one.effect?.getComputedTiming().endTime < Infinity)
    .map(one => one.finished.catch(() => {})))
    .then(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))))"""


def _sound(page: Page, rules: dict[str, object] | None = None) -> None:
    found = axe.faults(page, rules)
    assert not found, f"{page.url}\n{found}"


def _fitting(page: Page) -> None:
    wide, seen = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= seen, f"{page.url} is {wide} px wide in a window of {seen} px"


@pytest.fixture
def accessible() -> Callable[..., None]:
    """Asserts that axe-core finds nothing wrong in a page, by its rules and its best practices, and that it
    does not scroll sideways. `without`: rules that a page is not held to."""

    def check(page: Page, *, without: tuple[str, ...] = ()) -> None:
        # a click on a link ends when the next page begins to come
        page.wait_for_load_state()
        page.evaluate(AT_REST)
        _sound(page, {"rules": {rule: {"enabled": False} for rule in without}})
        _fitting(page)

    return check


@pytest.fixture
def accessible_everywhere() -> Callable[..., None]:
    """`accessible` for one page in windows of these widths without loading it again: no page asks how wide
    its window is. All rules in the light where most is seen and in the dark where there is least room; no
    scrolling sideways at any width. Colours and what is hidden depend on the width at the page at work alone
    (`tests/visage_app/test_look.py`): with `both`, the rules about colours the other way round as well."""

    def check(page: Page, *, widths: tuple[int, ...] = (1280, 768, 360), both: bool = False) -> None:
        page.wait_for_load_state()
        assert page.viewport_size is not None
        height = page.viewport_size["height"]

        def seen(width: int, *, dark: bool, rules: dict[str, object] | None = None) -> None:
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme="dark" if dark else "light")
            page.evaluate(AT_REST)
            try:
                _sound(page, rules)
                _fitting(page)
            except AssertionError as error:
                error.add_note(f"{width} px wide, {'dark' if dark else 'light'}")
                raise

        widest, *between, narrowest = widths
        if both:
            seen(widest, dark=True, rules=axe.CONTRAST)
        seen(widest, dark=False)
        for width in between:
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate(AT_REST)
            _fitting(page)
        if both:
            seen(narrowest, dark=False, rules=axe.CONTRAST)
        seen(narrowest, dark=True)
        page.set_viewport_size({"width": widest, "height": height})
        page.emulate_media(color_scheme="light")

    return check
