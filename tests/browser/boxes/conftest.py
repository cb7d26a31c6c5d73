"""Opens the box editor."""

from __future__ import annotations

import pytest

from tests.browser.boxes.editor import Editor


@pytest.fixture
def open_editor(new_page, settings):
    """open_editor(boxes=..., size..., page_width=...): the editor, with drawing armed for 'sombrero'."""
    settings.ROOT_URLCONF = "tests.browser.boxes.urls"

    def opened(*, page_width: int = 1280, page_height: int = 1000, dark: bool = False, **asked) -> Editor:
        return Editor(new_page(width=page_width, height=page_height, dark=dark), **asked)

    return opened
