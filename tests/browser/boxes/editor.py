"""The box editor of the harness page (urls.py), as a hand or a keyboard finds it."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.waiting import wait_for


class Editor:
    """The editor of the harness page (urls.py); points are in pixels of the natural image."""

    def __init__(self, page: Page, *, width: int = 512, height: int = 512, **asked) -> None:
        self.page = page
        if "boxes" in asked:
            asked["boxes"] = json.dumps(asked["boxes"])
        self.size = (width, height)
        page.goto(f"/boxes/?{urlencode({'size': f'{width}x{height}', **asked})}")
        page.wait_for_selector("body[data-ready]")
        expect(page.locator(".boxes-image")).to_have_js_property("complete", True)
        self.view = page.get_by_role("application")
        self._devices = page.context.new_cdp_session(page)

    def until(self, expression: str) -> None:
        """Wait until the page finds the expression true. Playwright's own `wait_for_function` evaluates it in
        the page from the second time on, which the page's policy forbids."""
        wait_for(lambda: self.page.evaluate(expression), f"never true: {expression}")

    def seen(self) -> dict[str, float]:
        """Where the image lies on the screen."""
        return self.page.evaluate(
            "(({x, y, width, height}) => ({x, y, width, height}))"
            "(document.querySelector('.boxes-image').getBoundingClientRect())"
        )

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The point of the screen that shows the pixel (x, y), which may lie outside the image."""
        seen, (width, height) = self.seen(), self.size
        return seen["x"] + x * seen["width"] / width, seen["y"] + y * seen["height"] / height

    def drag(self, start: tuple[float, float], end: tuple[float, float], *, button: str = "left") -> None:
        self.page.mouse.move(*self.at(*start))
        self.page.mouse.down(button=button)
        self.page.mouse.move(*self.at((start[0] + end[0]) / 2, (start[1] + end[1]) / 2))
        self.page.mouse.move(*self.at(*end))
        self.page.mouse.up(button=button)

    def click(self, x: float, y: float) -> None:
        self.page.mouse.click(*self.at(x, y))

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        """A touch event with the fingers that are down, in image pixels."""
        self.touch_screen(kind, *(self.at(*point) for point in points))

    def touch_screen(self, kind: str, *points: tuple[float, float]) -> None:
        fingers = [{"x": x, "y": y, "id": index} for index, (x, y) in enumerate(points)]
        self._devices.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})

    def swipe(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.touch("touchStart", start)
        self.touch("touchMove", ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2))
        self.touch("touchMove", end)
        self.touch("touchEnd")

    def pen(self, kind: str, x: float, y: float) -> None:
        where = dict(zip(("x", "y"), self.at(x, y), strict=True))
        pressed = {"button": "left", "buttons": 0 if kind == "mouseReleased" else 1, "clickCount": 1}
        self._devices.send(
            "Input.dispatchMouseEvent", {"type": kind, **where, **pressed, "pointerType": "pen"}
        )

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def call(self, method: str, *arguments):
        return self.page.evaluate("([name, args]) => window.editor[name](...args)", [method, list(arguments)])

    def begin_again(self, *boxes: dict, width: int = 512, height: int = 512) -> None:
        """Another image with these boxes, as if the page had been loaded anew, which takes longer."""
        self.size = (width, height)
        options = [{"id": 11, "label": "sombrero", "number": 3}, {"id": 12, "label": "poor", "number": 1}]
        source = f"/boxes/{width}x{height}.png"
        shown = {"src": source, "width": width, "height": height, "boxes": boxes, "options": options}
        self.call("load", shown)
        self.call("setActive", 11)
        self.call("setMode", "draw")
        self.page.evaluate("for (const told of Object.values(window.log)) told.length = 0")
        self.until_loaded()

    def until_loaded(self) -> None:
        """Nothing is drawn over an image that has not come."""
        self.until("window.editor.loaded")

    def boxes(self) -> list[tuple[float, float, float, float]]:
        return [(box["x0"], box["y0"], box["x1"], box["y1"]) for box in self.call("allBoxes")]

    def reasons(self) -> list[str]:
        return self.page.evaluate("window.log.changes.map(change => change.reason)")

    def said(self) -> str:
        """What was said last."""
        return self.page.evaluate("window.log.said.at(-1)")


def near(boxes, *expected, within: float = 1.0) -> bool:
    assert len(boxes) == len(expected), f"{boxes} instead of {expected}"
    for box, wanted in zip(boxes, expected, strict=True):
        assert box == pytest.approx(wanted, abs=within)
    return True


def box(x0, y0, x1, y1, *, id="a", option=11) -> dict:
    return {"id": id, "option": option, "x0": x0, "y0": y0, "x1": x1, "y1": y1}
