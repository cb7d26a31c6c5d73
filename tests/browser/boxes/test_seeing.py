"""Zoom, blur, links between boxes and attributes, and the editor under axe."""

import pytest
from playwright.sync_api import expect

from tests.browser.boxes.editor import box, near

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("size", [(512, 512), (1600, 900), (300, 700)])
def test_zoomed_and_panned_drawing_gives_the_same_pixels(open_editor, size):
    width, height = size
    editor = open_editor(width=width, height=height)
    spot = (0.55 * width, 0.55 * height, 0.6 * width, 0.62 * height)
    editor.drag(spot[:2], spot[2:])
    editor.view.focus()
    editor.press("+", "+", "+")
    editor.drag(spot[:2], spot[2:])
    # space held down pans
    before = editor.seen()
    editor.page.keyboard.down(" ")
    editor.drag((0.55 * width, 0.55 * height), (0.5 * width, 0.52 * height))
    editor.page.keyboard.up(" ")
    assert editor.seen()["y"] < before["y"] - 5
    editor.drag(spot[:2], spot[2:])
    editor.press("-")
    editor.drag(spot[2:], spot[:2])
    editor.press("f")
    editor.drag(spot[:2], spot[2:])
    seen = editor.seen()
    pixel = max(1.0, width / seen["width"])  # no mouse is finer than a pixel of the screen
    assert near(editor.boxes(), *[spot] * 5, within=pixel + 0.5)


def test_the_wheel_zooms_around_the_pointer_only_with_control(open_editor):
    editor = open_editor(page_width=820)  # the zoomed image is wider than its frame
    before = editor.seen()
    editor.page.mouse.move(*editor.at(100, 300))
    there = editor.at(100, 300)
    editor.page.keyboard.down("Control")
    editor.page.mouse.wheel(0, -200)
    editor.page.keyboard.up("Control")
    wider = f"document.querySelector('.boxes-image').getBoundingClientRect().width > {before['width'] + 50}"
    editor.until(wider)
    assert editor.at(100, 300) == pytest.approx(there, abs=2)
    wide = editor.seen()["width"]
    editor.page.mouse.wheel(0, -100)
    assert editor.seen()["width"] == wide


def test_two_fingers_zoom_and_pan_and_draw_nothing(open_editor):
    editor = open_editor(page_width=390)
    before = editor.seen()
    a, b = editor.at(200, 200), editor.at(300, 300)
    editor.touch_screen("touchStart", a)
    editor.touch_screen("touchStart", a, b)
    for step in range(1, 6):
        apart = 8 * step
        editor.touch_screen("touchMove", (a[0] - apart, a[1] - apart), (b[0] + apart, b[1] + apart))
    editor.touch_screen("touchEnd")
    assert editor.seen()["width"] > 1.5 * before["width"]
    assert editor.at(250, 250) == pytest.approx(((a[0] + b[0]) / 2, (a[1] + b[1]) / 2), abs=3)
    assert editor.boxes() == []
    editor.swipe((230, 230), (270, 280))
    assert near(editor.boxes(), (230, 230, 270, 280), within=1.5)


def test_the_picture_is_never_cropped_when_it_is_fitted(open_editor):
    for size in ((512, 512), (1600, 400), (300, 900)):
        editor = open_editor(width=size[0], height=size[1], page_width=320)
        seen = editor.seen()
        view = editor.view.bounding_box()
        assert seen["width"] / seen["height"] == pytest.approx(size[0] / size[1], rel=0.02)
        assert seen["x"] >= view["x"]
        assert seen["x"] + seen["width"] <= view["x"] + view["width"]
        assert seen["y"] + seen["height"] <= view["y"] + view["height"]


def test_a_blurred_image_is_worked_on_only_after_it_was_revealed(open_editor):
    editor = open_editor(blurred="yes")
    blur = "getComputedStyle(document.querySelector('.boxes-image')).filter"
    assert editor.page.evaluate(blur) != "none"
    editor.drag((10, 10), (200, 90))
    assert editor.boxes() == []
    assert "Reveal the image first" in editor.said()
    editor.page.get_by_role("button", name="Reveal image").click()
    assert editor.page.evaluate(blur) == "none"
    expect(editor.view).to_be_focused()
    editor.drag((10, 10), (200, 90))
    assert len(editor.boxes()) == 1
    editor.press("i")
    assert editor.page.evaluate(blur) != "none"
    editor.press("i")
    assert editor.page.evaluate("window.log.revealed") == [True, False, True]


def test_boxes_and_attributes_are_linked_both_ways(open_editor):
    editor = open_editor(boxes=[box(50, 50, 150, 150), box(300, 300, 400, 400, id="b", option=12)])
    editor.page.mouse.move(*editor.at(100, 100))
    editor.page.mouse.move(*editor.at(200, 200))
    editor.page.mouse.move(*editor.at(350, 350))
    assert editor.page.evaluate("window.log.hovered") == [11, None, 12]
    editor.view.focus()
    editor.press("Tab")  # the focus links as well
    assert editor.page.evaluate("window.log.hovered.at(-1)") == 11
    editor.call("highlight", 12)
    expect(editor.page.locator(".boxes-box.is-highlighted")).to_have_attribute("data-box", "b")
    expect(editor.page.locator(".boxes-box.is-dimmed")).to_have_attribute("data-box", "a")
    editor.call("highlight", None)
    expect(editor.page.locator(".is-highlighted, .is-dimmed")).to_have_count(0)
    # told apart by number and pattern, not by colour alone
    assert editor.page.locator(".boxes-mark text").all_text_contents() == ["3", "1"]
    assert (
        len(set(editor.page.locator(".boxes-box").evaluate_all("all => all.map(e => e.dataset.pattern)")))
        == 2
    )


def test_an_image_that_does_not_come_is_said_and_can_be_tried_again(open_editor):
    editor = open_editor(src="/boxes/nowhere.png")
    expect(editor.page.get_by_role("alert")).to_contain_text("could not be loaded")
    editor.drag((50, 200), (100, 300))
    assert editor.boxes() == []
    assert editor.said() == "The image could not be loaded."
    editor.page.route("**/nowhere.png", lambda route: route.fulfill(path="static/favicon.svg"))
    editor.page.get_by_role("button", name="Load the image again").click()
    expect(editor.page.get_by_role("alert")).to_be_hidden()


def test_another_image_starts_afresh(open_editor):
    editor = open_editor()
    editor.drag((50, 50), (150, 150))
    editor.call(
        "load",
        {
            "src": "/boxes/600x300.png",
            "width": 600,
            "height": 300,
            "boxes": [box(10, 20, 30, 40, id="box-1")],
        },
    )
    assert editor.boxes() == [(10, 20, 30, 40)]
    editor.size = (600, 300)
    editor.until_loaded()
    editor.call("undo")
    assert editor.boxes() == [(10, 20, 30, 40)]
    editor.call("setActive", 11, "sombrero")
    editor.drag((100, 100), (500, 250))
    assert near(editor.boxes(), (10, 20, 30, 40), (100, 100, 500, 250), within=1.5)
    editor.call("destroy")
    expect(editor.page.locator(".boxes")).to_have_count(0)


@pytest.mark.parametrize(
    ("width", "dark", "asked"),
    [(1280, False, {}), (320, True, {}), (320, False, {"rtl": "yes"}), (1280, True, {"blurred": "yes"})],
)
def test_axe_finds_nothing_wrong_and_nothing_is_wider_than_the_page(
    open_editor, accessible, width, dark, asked
):
    editor = open_editor(page_width=width, dark=dark, boxes=[box(100, 120, 240, 280)], **asked)
    accessible(editor.page)
    if "blurred" not in asked:
        editor.drag((300, 300), (420, 440))
        editor.call("selectBox", "a")
        editor.call("zoomIn")
    accessible(editor.page)
    assert editor.page.locator(".boxes [style]").count() == 0


def test_a_page_written_from_right_to_left_gives_the_same_pixels(open_editor):
    editor = open_editor(rtl="yes")
    editor.drag((60, 80), (200, 300))
    editor.press("+", "+")
    editor.drag((260, 280), (300, 340))
    editor.page.keyboard.down(" ")
    editor.drag((300, 300), (250, 280))
    editor.page.keyboard.up(" ")
    editor.drag((310, 280), (350, 340))
    assert near(editor.boxes(), (60, 80, 200, 300), (260, 280, 300, 340), (310, 280, 350, 340))
