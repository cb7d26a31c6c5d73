"""What is half done outlives everything: corrections, a new consent text, other windows, the browser's page
cache, a reload in the middle of a box."""

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import expect

from annotation.models import Box, Judgement, Response, TaskKind
from tests import factories
from tests.browser.annotation_page import (
    drag,
    on_image,
    open_filled,
    open_item,
    png,
    wait_for_attribute,
    wait_for_item,
    wait_for_status,
    wait_until_saved,
)
from tests.waiting import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGE = "/studies/words/annotate/"
PICTURES = "/studies/pictures/annotate/"
UNSURE = "Why are you unsure?"


def word(number: int) -> str:
    return f"word {number:02}"


@pytest.fixture
def study():
    return factories.rating_study(name="words", texts=[word(number) for number in range(20)])


@pytest.fixture
def amal(study):
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    return who


@pytest.fixture
def pictures(amal):
    made = factories.study("pictures", contact="studies@example.org")
    factories.consent_text(made)
    drawn = factories.image_set("drawn")
    task = factories.task(made, kind=TaskKind.DEPICTION, image_set=drawn, wording="What is depicted?")
    for number in range(1, 5):
        image = factories.image(index=number, width=400, height=300, image_set=drawn)
        image.sha256 = f"{number}" * 64
        image.file.save(f"{number}.png", ContentFile(png(50 * number)))
        factories.page_unit(task, picture=image)
    factories.enrolment(made, who=amal.annotator, consented=True)
    return made


def answer(page, number: int, key: str) -> None:
    wait_for_attribute(page, word(number))
    page.keyboard.press(key)
    page.keyboard.press("Enter")


def begin_correction(page, place: int = 0) -> None:
    page.keyboard.press("b")
    page.get_by_role("dialog").get_by_role("button", name="Change").nth(place).click()
    expect(page.get_by_role("button", name="Save the correction")).to_be_visible()
    wait_for_item(page)


def said() -> list[tuple[str, int, str]]:
    rows = Judgement.objects.order_by("pk")
    return list(rows.values_list("option__attribute__text", "value", "justification"))


def test_a_correction_that_was_begun_comes_back_after_a_reload(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    answer(page, 0, "1")
    wait_for_attribute(page, word(1))
    page.keyboard.press("2")  # half-way: a draft of its own
    begin_correction(page)
    page.keyboard.press("5")
    page.keyboard.type("on second thou")
    page.reload()
    wait_for_attribute(page, word(0))
    expect(page.get_by_text("You are correcting an earlier answer.")).to_be_visible()
    expect(page.get_by_label(UNSURE)).to_have_value("on second thou")
    page.get_by_label(UNSURE).press("End")
    page.keyboard.type("ght")
    page.keyboard.press("Control+Enter")
    wait_for_attribute(page, word(1))
    expect(page.get_by_role("radio", name="Agree", exact=False).nth(1)).to_be_checked()
    expect(page.get_by_text("The correction is saved.")).to_be_visible()
    page.reload()  # nothing is left of it
    wait_for_attribute(page, word(1))
    wait_until_saved(page)
    expect(page.get_by_role("button", name="Save the correction")).to_have_count(0)
    assert said() == [(word(0), 5, ""), (word(0), 3, "on second thought")]


def test_a_correction_sent_without_a_network_is_not_begun_again_by_a_reload(
    new_page, amal, offline_is_expected
):
    page = new_page(amal)
    open_item(page, PAGE)
    answer(page, 0, "1")
    wait_for_attribute(page, word(1))
    wait_until_saved(page)
    begin_correction(page)
    page.route("**/studies/*/annotate/*/", lambda route: route.abort())
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    wait_for_attribute(page, word(1))
    wait_for_status(page, "not sent yet: 1")
    page.reload()
    wait_for_attribute(page, word(1))
    wait_for_status(page, "not sent yet: 1")
    expect(page.get_by_role("button", name="Save the correction")).to_have_count(0)
    page.unroute("**/studies/*/annotate/*/")
    wait_until_saved(page)
    assert said() == [(word(0), 5, ""), (word(0), 1, "")]


def test_an_answer_left_as_it_was_forgets_the_correction(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    answer(page, 0, "1")
    wait_for_attribute(page, word(1))
    wait_until_saved(page)
    begin_correction(page)
    page.keyboard.press("4")
    page.get_by_role("button", name="Discard the correction").click()
    wait_for_attribute(page, word(1))
    expect(page.get_by_text("You are correcting")).to_be_hidden()
    page.reload()
    wait_for_attribute(page, word(1))
    wait_until_saved(page)
    begin_correction(page)
    wait_for_attribute(page, word(0))
    expect(page.get_by_role("radio", name="Strongly agree")).to_be_checked()  # not what was given up
    assert said() == [(word(0), 5, "")]


def test_another_correction_does_not_cost_the_one_that_was_begun(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    for number in (0, 1):
        answer(page, number, "1")
    wait_for_attribute(page, word(2))
    begin_correction(page, 1)
    wait_for_attribute(page, word(0))
    page.keyboard.press("4")
    begin_correction(page, 0)
    wait_for_attribute(page, word(1))
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    wait_for_attribute(page, word(2))
    wait_until_saved(page)
    page.reload()
    wait_for_attribute(page, word(0))
    expect(page.get_by_role("radio", name="Strongly disagree")).to_be_checked()
    page.keyboard.press("Enter")
    wait_for_attribute(page, word(2))
    wait_until_saved(page)
    assert said()[2:] == [(word(1), 2, ""), (word(0), 1, "")]


def test_a_correction_in_two_windows_counts_once(new_page, amal):
    one = new_page(amal)
    open_item(one, PAGE)
    answer(one, 0, "1")
    wait_for_attribute(one, word(1))
    wait_until_saved(one)
    begin_correction(one)
    one.keyboard.press("4")
    two = one.context.new_page()
    two.goto(PAGE)
    wait_for_attribute(two, word(0))  # the same, with what was chosen
    expect(two.get_by_role("radio", name="Strongly disagree")).to_be_checked()
    one.keyboard.press("Enter")
    wait_for_attribute(one, word(1))
    expect(two.get_by_text("answered in another window")).to_be_visible()
    wait_for_attribute(two, word(1))
    wait_until_saved(one)
    two.reload()
    wait_for_attribute(two, word(1))
    assert said() == [(word(0), 5, ""), (word(0), 1, "")]


def test_a_correction_of_boxes_comes_back_after_a_reload(new_page, amal, pictures):
    page = new_page(amal)
    open_item(page, PICTURES)
    page.get_by_role("checkbox", name="hat", exact=True).check()
    drag(page, 0.1, 0.1, 0.4, 0.4)
    page.keyboard.press("Control+Enter")
    wait_for_item(page)
    wait_until_saved(page)
    begin_correction(page)
    page.get_by_role("checkbox", name="poor", exact=True).check()
    drag(page, 0.5, 0.5, 0.9, 0.9)
    expect(page.locator("[data-box]")).to_have_count(2)
    page.reload()
    expect(page.get_by_role("button", name="Save the correction")).to_be_visible()
    wait_for_item(page)
    expect(page.locator("[data-box]")).to_have_count(2)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("The correction is saved.")).to_be_visible()
    latest = Response.objects.get(current=True, revision=2)
    boxes = Box.objects.filter(judgement__response=latest).order_by("x0")
    assert [box.judgement.option.attribute.text for box in boxes] == ["hat", "poor"]
    for box, corners in zip(boxes, [(40, 30, 160, 120), (200, 150, 360, 270)], strict=True):
        assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx(corners, abs=2)


def test_a_new_consent_text_in_the_middle_of_an_item_costs_no_answer_and_no_draft(new_page, amal, study):
    page = new_page(amal)
    open_item(page, PAGE)
    answer(page, 0, "2")
    wait_for_attribute(page, word(1))
    wait_until_saved(page)
    page.keyboard.press("5")
    page.keyboard.type("half a thou")
    factories.consent_text(study, version=2)
    page.keyboard.type("ght")
    page.keyboard.press("Control+Enter")
    # nothing new is given out before the new text was agreed to
    page.wait_for_url("**/consent/")
    expect(page.get_by_text("The text has changed since you agreed to it")).to_be_visible()
    assert said() == [(word(0), 4, ""), (word(1), 3, "half a thought")]
    page.get_by_role("button", name="I have read this and agree").click()
    page.wait_for_url("**/annotate/")
    answer(page, 2, "1")
    wait_for_attribute(page, word(3))
    # and once more, with a page that is opened anew meanwhile
    wait_until_saved(page)
    page.keyboard.press("5")
    page.keyboard.type("a draft")
    factories.consent_text(study, version=3)
    page.reload()
    page.wait_for_url("**/consent/")
    page.get_by_role("button", name="I have read this and agree").click()
    page.wait_for_url("**/annotate/")
    wait_for_attribute(page, word(3))
    expect(page.get_by_label(UNSURE)).to_have_value("a draft")
    wait_for_item(page)
    page.keyboard.press("Control+Enter")
    wait_for_attribute(page, word(4))
    wait_until_saved(page)
    assert said()[2:] == [(word(2), 5, ""), (word(3), 3, "a draft")]


def test_a_form_without_scripts_in_the_middle_of_a_new_consent_text_is_kept(new_page, amal, study):
    page = new_page(amal, javascript=False)
    page.goto(PAGE)
    page.get_by_role("radio", name="Unsure").check()
    page.get_by_label(UNSURE).fill("hard to say")
    factories.consent_text(study, version=2)
    page.get_by_role("button", name="Submit and continue").click()
    page.wait_for_url("**/consent/")
    page.get_by_role("button", name="I have read this and agree").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(word(1))
    assert said() == [(word(0), 3, "hard to say")]


def test_two_windows_that_take_turns_answer_every_item_once(new_page, amal):
    one = new_page(amal)
    open_item(one, PAGE)
    two = one.context.new_page()
    open_item(two, PAGE)
    clicked = []
    for number in range(12):
        here = one if number % 2 else two
        answer(here, number, "1234"[number % 4])
        clicked.append((word(number), [5, 4, 2, 1][number % 4], ""))
    for page in (one, two):
        wait_for_attribute(page, word(12))
        wait_until_saved(page)
    assert said() == clicked


def test_two_windows_answering_the_same_item_without_a_network_count_once(
    new_page, amal, offline_is_expected
):
    one = new_page(amal)
    # windows that do not hear each other: one of them sleeps
    one.context.add_init_script("delete globalThis.BroadcastChannel")
    open_item(one, PAGE)
    two = one.context.new_page()
    open_item(two, PAGE)
    one.context.set_offline(True)
    answer(one, 0, "1")
    answer(two, 0, "4")
    answer(two, 1, "2")
    wait_for_status(two, "not sent yet: 2")
    one.close()  # what it kept is sent by the other one
    two.context.set_offline(False)
    wait_until_saved(two)
    wait_for_attribute(two, word(2))
    assert said() == [(word(0), 5, ""), (word(1), 4, "")]


def test_a_page_from_the_browsers_page_cache_asks_what_happened_meanwhile(new_page, amal):
    """Chromium under test keeps no pages; what it would say of one that it kept is said by hand."""
    page = new_page(amal)
    page.context.add_init_script("delete globalThis.BroadcastChannel")
    open_item(page, PAGE)
    other = page.context.new_page()
    open_item(other, PAGE)
    answer(other, 0, "1")
    wait_for_attribute(other, word(1))
    wait_until_saved(other)
    wait_for_attribute(page, word(0))  # as it was when it was left
    with page.expect_navigation():
        page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    wait_for_attribute(page, word(1))
    answer(page, 1, "2")
    wait_for_attribute(page, word(2))
    wait_until_saved(page)
    assert said() == [(word(0), 5, ""), (word(1), 4, "")]


def test_a_reload_in_the_middle_of_a_box_keeps_the_boxes_that_were_drawn(new_page, amal, pictures):
    page = new_page(amal)
    open_item(page, PICTURES)
    page.get_by_role("checkbox", name="hat", exact=True).check()
    drag(page, 0.1, 0.1, 0.4, 0.4)
    expect(page.locator("[data-box]")).to_have_count(1)
    page.mouse.move(*on_image(page, 0.5, 0.5))
    page.mouse.down()
    page.mouse.move(*on_image(page, 0.7, 0.7), steps=3)
    page.reload()
    wait_for_item(page)
    page.mouse.up()
    expect(page.locator("[data-box]")).to_have_count(1)
    expect(page.get_by_role("checkbox", name="hat", exact=True)).to_be_checked()
    wait_for_item(page)
    drag(page, 0.5, 0.5, 0.8, 0.8)
    page.keyboard.press("Control+Enter")
    wait_until_saved(page)
    boxes = Box.objects.order_by("pk")
    for box, corners in zip(boxes, [(40, 30, 160, 120), (200, 150, 320, 240)], strict=True):
        assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx(corners, abs=2)


def test_the_images_at_hand_are_shown_and_boxed_without_a_network(
    new_page, amal, pictures, offline_is_expected
):
    page = new_page(amal)
    fetched = set()
    page.on("requestfinished", lambda asked: fetched.add(asked.url) if "/images/" in asked.url else None)
    open_filled(page, PICTURES)
    wait_for(lambda: page.evaluate("true") and len(fetched) == 3, "not all images have come")
    page.context.set_offline(True)
    for number in range(3):
        wait_for_item(page)
        assert page.locator(".boxes-image").evaluate("image => image.naturalWidth") == 400
        page.get_by_role("checkbox", name="hat", exact=True).check()
        drag(page, 0.1 * (number + 1), 0.1, 0.8, 0.8)
        page.keyboard.press("Control+Enter")
    wait_for_status(page, "not sent yet: 3")
    expect(page.locator("[data-waiting]")).to_be_visible()
    page.context.set_offline(False)
    wait_for_item(page)
    wait_until_saved(page)
    assert [round(box.x0) for box in Box.objects.order_by("pk")] == pytest.approx([40, 80, 120], abs=2)
