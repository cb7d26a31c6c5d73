"""Helpers for the annotation page that act only on what is on the screen."""

from __future__ import annotations

import io

from PIL import Image as Picture
from playwright.sync_api import Page, expect


def open_item(page: Page, path: str) -> None:
    """Open the annotation page, and wait for the item and for the browser's storage: what was begun before
    comes a moment after the item, and from then on what is begun outlives the page."""
    page.goto(path)
    expect(page.locator("[data-state-text]")).not_to_be_empty()
    wait_for_item(page)


def open_filled(page: Page, path: str) -> None:
    """The same, and wait for the items that the page asks for when it is there."""
    with page.expect_event("requestfinished", lambda asked: asked.url.endswith("/annotate/items/")):
        open_item(page, path)
    # it has come, and is read before the page has nothing to do
    page.evaluate(IDLE)


IDLE = "new Promise((done) => requestIdleCallback(() => done()))"


def wait_for_item(page: Page) -> None:
    """Wait until an item is on the screen with its image. The page drops earlier keys."""
    # Not wait_for_selector: this failure says what the page shows instead.
    expect(page.locator("#item[data-shown]"), f"no item on {page.url}").to_be_visible()
    for image in page.locator("#item img").all():
        expect(image).to_have_js_property("complete", True)


def wait_for_attribute(page: Page, attribute: str) -> None:
    """Wait for an item and the script: its button for shortcuts appears when it listens to keys."""
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"'{attribute}'")
    expect(page.get_by_role("button", name="Shortcuts")).to_be_visible()
    wait_for_item(page)


def wait_until_saved(page: Page, text: str = "All answers saved") -> None:
    """Wait until the server has acknowledged everything."""
    expect(page.locator("[data-state=saved]")).to_contain_text(text)


def wait_for_status(page: Page, text: str) -> None:
    """Wait for the page's status text: saved, sending, offline."""
    expect(page.locator("[data-state-text]")).to_contain_text(text)


def png(shade: int, *, width: int = 400, height: int = 300) -> bytes:
    """A picture to judge, as PNG."""
    file = io.BytesIO()
    Picture.new("RGB", (width, height), (shade, 120, 160)).save(file, "PNG")
    return file.getvalue()


def drag(page: Page, x0: float, y0: float, x1: float, y1: float) -> None:
    """Drag over the image, in fractions of its width and height."""
    start, end = points_on_image(page, (x0, y0), (x1, y1))
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def on_image(page: Page, x: float, y: float) -> tuple[float, float]:
    """A point of the screen, from fractions of the image's width and height."""
    [point] = points_on_image(page, (x, y))
    return point


def points_on_image(page: Page, *points: tuple[float, float]) -> list[tuple[float, float]]:
    """Points of the screen, all at one moment."""
    box = page.locator(".boxes-image").bounding_box()
    assert box is not None
    return [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
