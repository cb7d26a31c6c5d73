"""Pen and fingers on the page at work: what they draw is kept, what they zoom and scroll draws nothing."""

from __future__ import annotations

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import Page, expect

from annotation.models import Box, Judgement, Response, TaskKind
from tests import factories
from tests.browser.annotation_page import on_image, open_item, png, wait_for_item, wait_until_saved
from tests.waiting import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGE = "/studies/pictures/annotate/"
Point = tuple[float, float]


@pytest.fixture
def amal():
    made = factories.study("pictures", contact="studies@example.org")
    factories.consent_text(made)
    drawn = factories.image_set("drawn")
    task = factories.task(made, kind=TaskKind.DEPICTION, image_set=drawn, wording="What is depicted?")
    for number in (1, 2):
        image = factories.image(index=number, width=400, height=300, image_set=drawn)
        image.sha256 = f"{number}" * 64
        image.file.save(f"{number}.png", ContentFile(png(50 * number)))
        factories.page_unit(task, picture=image)
    who = factories.user("amal")
    factories.enrolment(made, who=factories.annotator(user=who), consented=True)
    return who


class Hand:
    """Devices of the browser itself; points are fractions of the image's width and height."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._devices = page.context.new_cdp_session(page)

    def pen(self, kind: str, point: Point) -> None:
        x, y = on_image(self._page, *point)
        down = 0 if kind == "mouseReleased" else 1
        pressed = {"button": "left", "buttons": down, "clickCount": 1, "force": 0.5, "pointerType": "pen"}
        self._devices.send("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **pressed})

    def stroke(self, start: Point, end: Point) -> None:
        self.pen("mousePressed", start)
        self.pen("mouseMoved", ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2))
        self.pen("mouseMoved", end)
        self.pen("mouseReleased", end)

    def fingers(self, kind: str, *points: Point) -> None:
        self.fingers_on_screen(kind, *(on_image(self._page, *point) for point in points))

    def fingers_on_screen(self, kind: str, *points: Point) -> None:
        touches = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        self._devices.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def swipe(self, start: Point, end: Point) -> None:
        self.fingers("touchStart", start)
        for part in (0.25, 0.5, 0.75, 1):
            self.fingers(
                "touchMove", (start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1]))
            )
        self.fingers("touchEnd")


@pytest.fixture
def phone(new_page, amal):
    """The page at work on a phone with a touch screen."""
    page = new_page(amal, width=390, height=780, has_touch=True, is_mobile=True)
    open_item(page, PAGE)
    return page


def choose(page: Page, attribute: str) -> None:
    page.locator(".option .choice-name").get_by_text(attribute, exact=True).tap()
    expect(page.get_by_role("checkbox", name=attribute, exact=True)).to_be_checked()
    page.locator(".boxes-image").scroll_into_view_if_needed()


def kept(attribute: str) -> list[tuple[float, float, float, float]]:
    boxes = Box.objects.filter(judgement__option__attribute__text=attribute).order_by("pk")
    return [(box.x0, box.y0, box.x1, box.y1) for box in boxes]


def boxes_shown(page: Page, number: int) -> None:
    expect(page.locator("[data-box]")).to_have_count(number)


def test_a_pen_draws_moves_and_resizes_and_the_hand_beside_it_does_nothing(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    hand = Hand(page)
    page.get_by_role("checkbox", name="hat", exact=True).check()
    hand.pen("mousePressed", (0.1, 0.1))
    hand.pen("mouseMoved", (0.2, 0.2))
    hand.fingers("touchStart", (0.8, 0.8))  # the palm, in two places
    hand.fingers("touchStart", (0.8, 0.8), (0.9, 0.7))
    hand.fingers("touchMove", (0.6, 0.9), (0.9, 0.6))
    hand.fingers("touchEnd")
    hand.pen("mouseMoved", (0.4, 0.5))
    hand.pen("mouseReleased", (0.4, 0.5))
    boxes_shown(page, 1)
    page.get_by_role("checkbox", name="poor", exact=True).check()
    hand.stroke((0.2, 0.3), (0.6, 0.6))  # over the first one
    boxes_shown(page, 2)
    page.get_by_role("button", name="Select", exact=False).first.click()
    hand.stroke((0.6, 0.6), (0.7, 0.8))  # its corner
    hand.stroke((0.5, 0.7), (0.55, 0.75))  # and all of it
    page.get_by_role("button", name="Submit and continue").click()
    wait_for_item(page)
    wait_until_saved(page)
    assert kept("hat") == [pytest.approx((40, 30, 160, 150), abs=2)]
    assert kept("poor") == [pytest.approx((100, 105, 300, 255), abs=3)]


def test_a_whole_answer_is_given_with_fingers(phone):
    hand = Hand(phone)
    choose(phone, "hat")
    hand.swipe((0.2, 0.2), (0.7, 0.8))
    boxes_shown(phone, 1)
    # two taps set two corners
    choose(phone, "kind")
    phone.touchscreen.tap(*on_image(phone, 0.1, 0.1))
    phone.touchscreen.tap(*on_image(phone, 0.5, 0.4))
    boxes_shown(phone, 2)
    phone.get_by_role("button", name="Submit and continue").tap()
    boxes_shown(phone, 0)  # a tap is a click some time after it
    wait_for_item(phone)
    phone.locator(".option .choice-name").get_by_text("None of the above").tap()
    expect(phone.get_by_role("checkbox", name="None of the above")).to_be_checked()
    phone.get_by_role("button", name="Submit and continue").tap()
    phone.wait_for_url("**/thanks/")
    assert kept("hat") == [pytest.approx((80, 60, 280, 240), abs=3)]
    assert kept("kind") == [pytest.approx((40, 30, 200, 120), abs=3)]
    first, second = Response.objects.order_by("pk")
    assert [one.option.attribute.text for one in first.judgements.filter(value=1).order_by("position")]
    assert second.judgements.get(value=1).option.attribute is None


def test_two_fingers_zoom_and_draw_nothing_and_one_finger_draws_in_what_is_zoomed(phone):
    hand = Hand(phone)
    choose(phone, "hat")
    width = phone.locator(".boxes-image").bounding_box()["width"]
    # the first finger has begun to draw when the second one comes
    middle = on_image(phone, 0.5, 0.5)
    hand.fingers_on_screen("touchStart", (middle[0] - 20, middle[1]))
    hand.fingers_on_screen("touchMove", (middle[0] - 22, middle[1]))
    hand.fingers_on_screen("touchStart", (middle[0] - 22, middle[1]), (middle[0] + 22, middle[1]))
    for apart in (30, 40, 50):
        hand.fingers_on_screen("touchMove", (middle[0] - apart, middle[1]), (middle[0] + apart, middle[1]))
    hand.fingers_on_screen("touchEnd", (middle[0] - 50, middle[1]))
    hand.fingers_on_screen("touchEnd")
    boxes_shown(phone, 0)
    zoomed = phone.locator(".boxes-image").bounding_box()["width"]
    assert zoomed > 1.5 * width
    assert phone.evaluate("visualViewport.scale") == pytest.approx(1, abs=0.01)  # the page stays as it is

    # what is drawn now is in pixels of the whole image; the middle stayed under the fingers
    start, end = on_image(phone, 0.45, 0.45), on_image(phone, 0.6, 0.6)
    hand.fingers_on_screen("touchStart", start)
    hand.fingers_on_screen("touchMove", ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2))
    hand.fingers_on_screen("touchMove", end)
    hand.fingers_on_screen("touchEnd")
    boxes_shown(phone, 1)
    phone.get_by_role("button", name="Submit and continue").tap()
    boxes_shown(phone, 0)
    wait_until_saved(phone)
    assert kept("hat") == [pytest.approx((180, 135, 240, 180), abs=3)]


def test_a_finger_scrolls_the_page_where_nothing_is_chosen_and_says_nothing(phone):
    hand = Hand(phone)
    phone.evaluate("scrollTo(0, 0)")
    image = phone.locator(".boxes-image")
    image.scroll_into_view_if_needed()
    before = phone.evaluate("scrollY")
    x, y = on_image(phone, 0.5, 0.9)
    hand.fingers_on_screen("touchStart", (x, y))
    for step in range(1, 9):
        hand.fingers_on_screen("touchMove", (x, y - 20 * step))
    hand.fingers_on_screen("touchEnd")
    wait_for(lambda: phone.evaluate("scrollY") > before, "the page does not scroll")
    boxes_shown(phone, 0)
    expect(phone.get_by_role("checkbox", checked=True)).to_have_count(0)
    assert not Judgement.objects.exists()


def test_a_finger_that_the_system_takes_away_leaves_no_box(phone):
    hand = Hand(phone)
    choose(phone, "hat")
    hand.fingers("touchStart", (0.2, 0.2))
    hand.fingers("touchMove", (0.6, 0.6))
    hand.fingers_on_screen("touchCancel")
    boxes_shown(phone, 0)
    hand.swipe((0.3, 0.3), (0.5, 0.5))
    boxes_shown(phone, 1)
