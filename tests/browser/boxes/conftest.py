"""Opens the box editor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.boxes.editor import Editor
from tests.browser.conftest import PATIENCE_MS, note_complaints


@pytest.fixture(scope="module")
def _window(browser: Browser, live_server) -> Iterator[tuple[Page, list[str]]]:
    """One for all tests of a module, and what it complains of: a new one takes as long as a test. The editor
    stores nothing, so a page that is loaded anew knows nothing of the one before."""
    context = browser.new_context(base_url=live_server.url)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    complaints: list[str] = []
    note_complaints(page, complaints)
    yield page, complaints
    context.close()


@pytest.fixture
def open_editor(_window, settings):
    """open_editor(boxes=..., size..., page_width=...): the editor, with drawing armed for 'sombrero'."""
    settings.ROOT_URLCONF = "tests.browser.boxes.urls"
    page, complaints = _window
    complaints.clear()

    def opened(*, page_width: int = 1280, page_height: int = 1000, dark: bool = False, **asked) -> Editor:
        page.mouse.move(0, 0)  # away from what the next page shows there
        page.set_viewport_size({"width": page_width, "height": page_height})
        page.emulate_media(color_scheme="dark" if dark else "light")
        return Editor(page, **asked)

    yield opened
    page.unroute_all()
    assert complaints == []
