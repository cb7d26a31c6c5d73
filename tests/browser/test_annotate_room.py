"""The room on the page at work: a large image, a large question, tools at the thumb, nothing covered."""

from __future__ import annotations

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import FloatRect, Page, expect

from annotation.models import Box, Image, Task, TaskKind
from tests import factories
from tests.browser.annotation_page import on_image, open_item, png, wait_until_saved
from tests.waiting import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PICTURES, WORDS = "/studies/pictures/annotate/", "/studies/words/annotate/"
CAPS = "[...document.querySelectorAll('kbd')].filter(cap => cap.checkVisibility()).length"
# every text on the screen that is as large as the question, or larger
AS_LARGE = """(() => {
    const size = one => parseFloat(getComputedStyle(one).fontSize);
    const question = document.querySelector("h1.statement");
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
        const { textContent, parentElement } = texts.currentNode;
        if (!textContent.trim() || question.contains(parentElement)) continue;
        if (!parentElement.checkVisibility()) continue;
        if (size(parentElement) >= size(question)) found.push(textContent.trim());
    }
    return found;
})()"""
# the controls that something else covers when they are scrolled to
COVERED = """(() => {
    const controls = document.querySelectorAll("#item :is(.choice, button, .check), .annotate-bar button");
    return [...controls].filter(one => one.checkVisibility()).filter(control => {
        control.scrollIntoView({ block: "nearest" });
        const { left, right, top, bottom } = control.getBoundingClientRect();
        const seen = [top + 3, bottom - 3].map(y => document.elementFromPoint((left + right) / 2, y));
        return !seen.every(one => control.contains(one));
    }).map(control => control.textContent);
})()"""
# what has the focus, and whether it is covered
FOCUSED = """(() => {
    const control = document.activeElement.closest(".choice, .check") ?? document.activeElement;
    const { left, right, top, bottom } = control.getBoundingClientRect();
    const seen = [top + 3, bottom - 3].map(y => document.elementFromPoint((left + right) / 2, y));
    return [control.textContent, !seen.every(one => control.contains(one)), "send" in control.dataset];
})()"""


# the frame, or as much of it as there is room for
FRAME_IN_WINDOW = """(() => {
    const { top, bottom } = document.querySelector(".boxes-frame").getBoundingClientRect();
    return top > -1 && bottom < innerHeight + 1 || top < 1 && bottom > innerHeight - 1;
})()"""


@pytest.fixture
def amal():
    made = factories.study(
        "pictures", contact="studies@example.org", title="What do you see in these images?"
    )
    factories.consent_text(made)
    drawn = factories.image_set("drawn")
    task = factories.task(
        made, kind=TaskKind.DEPICTION, image_set=drawn, wording="Which of these does the image depict?"
    )
    image = factories.image(index=1, image_set=drawn)  # a square, as most models draw
    image.sha256 = "1" * 64
    image.file.save("1.png", ContentFile(png(60, width=512, height=512)))
    for page in (1, 2):
        factories.page_unit(task, picture=image, page=page, texts=[f"attribute {page}{n}" for n in range(7)])
    who = factories.user("amal")
    annotator = factories.annotator(user=who)
    for study in (made, factories.rating_study(name="words")):
        factories.enrolment(study, who=annotator, consented=True)
    return who


@pytest.fixture
def phone(new_page, amal):
    """phone(width, height): a page with a touch screen and no keyboard."""

    def opened(width: int, height: int) -> Page:
        return new_page(amal, width=width, height=height, has_touch=True, is_mobile=True)

    return opened


def place(page: Page, selector: str) -> FloatRect:
    found = page.locator(selector).first.bounding_box()
    assert found is not None, f"{selector} is not on the screen"
    return found


def nothing_is_covered(page: Page) -> None:
    """Neither by scrolling nor by going through the item with Tab."""
    assert page.evaluate(COVERED) == []
    page.evaluate("scrollTo(0, 0)")
    page.locator("h1.statement").focus()
    for _ in range(60):
        page.keyboard.press("Tab")
        words, covered, last = page.evaluate(FOCUSED)
        assert not covered, f"covered: {words}"
        if last:
            return
    raise AssertionError("Tab does not come to the button that sends")


@pytest.mark.parametrize("width", [1280, 1920])
def test_at_a_desk_the_image_is_large_and_all_of_the_work_is_in_one_window(new_page, accessible, amal, width):
    height = 800 if width == 1280 else 1080
    page = new_page(amal, width=width, height=height)
    open_item(page, PICTURES)
    page.locator(".choice").first.click()
    assert place(page, ".board")["width"] >= 0.6 * width
    assert page.evaluate(AS_LARGE) == []
    assert page.evaluate(CAPS) > 5
    # all of it is in the window together, and the options scroll by themselves
    page.keyboard.press("0")
    page.keyboard.press("7")
    nothing_is_covered(page)
    assert page.evaluate("scrollY") == 0
    for selector in (
        ".boxes-image",
        ".boxes-frame",
        ".options",
        "[data-send]",
        ".boxes-tools",
        "h1.statement",
    ):
        seen = place(page, selector)
        assert seen["y"] >= 0
        assert seen["y"] + seen["height"] <= height, selector
    bar = place(page, ".annotate-bar")["y"]
    assert place(page, ".boxes-frame")["y"] + place(page, ".boxes-frame")["height"] <= bar + 1
    accessible(page)


def test_all_of_an_image_is_seen_and_it_is_wide_on_demand_and_for_good(new_page, amal):
    page = new_page(amal, width=1280, height=800)
    open_item(page, PICTURES)
    fit = page.get_by_role("button", name="Fit to window")
    expect(fit).to_have_attribute("aria-pressed", "true")
    whole, frame = place(page, ".boxes-image"), place(page, ".boxes-frame")
    assert whole["y"] >= frame["y"]
    assert whole["y"] + whole["height"] <= frame["y"] + frame["height"]
    assert whole["height"] >= 0.9 * frame["height"]
    page.keyboard.press("+")
    page.keyboard.press("f")  # back from the zoomed image to the fitted one
    expect(fit).to_have_attribute("aria-pressed", "true")
    assert place(page, ".boxes-image")["width"] == pytest.approx(whole["width"], abs=1)
    fit.click()
    expect(fit).to_have_attribute("aria-pressed", "false")
    assert place(page, ".boxes-image")["width"] >= 0.6 * 1280
    assert place(page, ".boxes-image")["height"] > frame["height"]
    page.locator(".choice").first.click()
    # a box by keyboard at the lower edge is scrolled to
    page.keyboard.press("r")
    for _ in range(5):
        page.keyboard.press("Control+ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    drawn = place(page, "[data-box]")
    assert drawn["y"] + drawn["height"] <= frame["y"] + frame["height"] + 8
    assert page.evaluate("document.querySelector('.boxes-view').scrollTop") > 0
    open_item(page, PICTURES)
    expect(fit).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("f")
    expect(fit).to_have_attribute("aria-pressed", "true")


def test_an_image_that_is_wider_than_tall_takes_most_of_the_width(new_page, amal):
    image = Image.objects.get()
    image.width, image.height = 768, 512
    image.file.save("1.png", ContentFile(png(60, width=768, height=512)))
    page = new_page(amal, width=1280, height=800)
    open_item(page, PICTURES)
    assert place(page, ".boxes-image")["width"] >= 0.6 * 1280


@pytest.mark.parametrize(("width", "height"), [(360, 640), (390, 844)])
def test_on_a_phone_the_question_is_at_the_top_the_frame_takes_the_width_and_tools_are_at_the_thumb(
    phone, accessible, width, height
):
    page = phone(width, height)
    for path in (WORDS, PICTURES):
        open_item(page, path)
        assert place(page, "h1.statement")["y"] <= 120
        assert page.evaluate(AS_LARGE) == []
        assert page.evaluate(CAPS) == 0
        page.locator(".choice").first.tap()
        expect(page.locator(".choice input").first).to_be_checked()
        nothing_is_covered(page)
        accessible(page)
    page.evaluate("scrollTo(0, 0)")
    frame = place(page, ".boxes-frame")
    assert (frame["x"], frame["width"]) == (0, width)
    tools = page.locator(".boxes-tool").filter(visible=True)
    for tool in tools.all():
        seen = tool.bounding_box()
        assert min(seen["width"], seen["height"]) >= 44
        assert seen["y"] >= height * 2 / 3
        assert seen["x"] >= 0
        assert seen["x"] + seen["width"] <= width
    assert tools.count() == 8
    assert place(page, "[data-send]")["height"] >= 44
    # all else is in one menu
    expect(page.get_by_role("button", name="Skip")).to_be_hidden()
    page.get_by_role("button", name="Menu").tap()
    expect(page.locator("#work-menu")).to_be_visible()
    accessible(page)
    page.get_by_role("button", name="Skip").tap()
    expect(page.get_by_role("dialog", name="Skip this item")).to_be_visible()
    expect(page.locator("#work-menu")).to_be_hidden()
    page.keyboard.press("Escape")
    # a keyboard that is beside the phone after all
    assert page.evaluate(CAPS) > 0


@pytest.mark.parametrize(("height", "options"), [(664, 1), (800, 3)])
def test_on_a_phone_the_first_options_are_seen_below_the_image_and_tools_take_one_line(
    new_page, amal, height, options
):
    wording = "Select every attribute that this image depicts, and draw a box around what shows it."
    Task.objects.filter(kind=TaskKind.DEPICTION).update(wording=wording)
    page = new_page(amal, width=390, height=height)
    open_item(page, PICTURES)
    tools = page.locator(".boxes-tool").filter(visible=True).all()
    assert len({tool.bounding_box()["y"] for tool in tools}) == 1
    seen = page.locator(".option").nth(options - 1).bounding_box()
    assert seen["y"] + seen["height"] <= place(page, ".annotate-bar")["y"]


def test_two_fingers_zoom_and_move_the_image_and_what_is_drawn_then_is_where_it_is(phone):
    page = phone(390, 844)
    open_item(page, PICTURES)
    devices = page.context.new_cdp_session(page)

    def fingers(kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        devices.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def pinch(middle: tuple[float, float], apart: tuple[int, ...], down: int = 0) -> None:
        x, y = middle
        fingers("touchStart", (x - apart[0], y), (x + apart[0], y))
        for step, one in enumerate(apart, 1):
            moved = y + down * step / len(apart)
            fingers("touchMove", (x - one, moved), (x + one, moved))
        fingers("touchEnd")

    pinch(on_image(page, 0.5, 0.4), (20, 40, 60))  # no tool is armed
    zoomed = place(page, ".boxes-image")
    assert zoomed["width"] > 2 * 390
    assert page.evaluate("visualViewport.scale") == pytest.approx(1, abs=0.01)
    page.locator(".choice").first.tap()
    page.get_by_role("button", name="Draw a box").first.tap()  # brings the image back into the window
    wait_for(lambda: page.evaluate(FRAME_IN_WINDOW), "the image is not in the window")
    frame = place(page, ".boxes-frame")
    before = on_image(page, 0, 0)
    pinch((195, frame["y"] + 150), (60, 60, 60), down=40)
    assert on_image(page, 0, 0)[1] == pytest.approx(before[1] + 40, abs=3)
    (x0, y0), (x1, y1) = on_image(page, 0.45, 0.4), on_image(page, 0.6, 0.5)
    fingers("touchStart", (x0, y0))
    fingers("touchMove", ((x0 + x1) / 2, (y0 + y1) / 2))
    fingers("touchMove", (x1, y1))
    fingers("touchEnd")
    expect(page.locator("[data-box]")).to_have_count(1)
    page.get_by_role("button", name="Submit and continue").tap()
    wait_until_saved(page)
    wait_for(lambda: Box.objects.exists(), "the box was not stored")
    box = Box.objects.get()
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx((230.4, 204.8, 307.2, 256), abs=2)
