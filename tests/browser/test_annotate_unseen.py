"""Nobody answers what they have not seen: keys and clicks that come before the item is on the screen, images
that are blurred or have not come, an item that changes under an open dialog."""

import threading

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import expect

from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    Judgement,
    Option,
    Purpose,
    Response,
    Skip,
    Study,
    TaskKind,
    Unit,
)
from tests import factories
from tests.browser.annotation_page import open_item, png, wait_for_attribute, wait_for_item, wait_until_saved

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGE = "/studies/words/annotate/"

# All of it in one task of the browser, which cannot paint meanwhile.
AT_ONCE = """keys => {
    const shown = () => document.querySelector("#item").dataset.shown ?? null;
    const before = shown();
    for (const key of keys) {
        const code = /[0-9]/.test(key) ? `Digit${key}` : key;
        const pressed = new KeyboardEvent("keydown", { key, code, bubbles: true, cancelable: true });
        (document.activeElement ?? document.body).dispatchEvent(pressed);
    }
    return [before, shown()];
}"""


@pytest.fixture
def study():
    return factories.rating_study(name="words", texts=[f"word {number}" for number in range(6)])


@pytest.fixture
def amal(study):
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    return who


def test_keys_that_come_before_the_next_item_is_painted_are_not_an_answer_to_it(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    before, after = page.evaluate(AT_ONCE, ["1", "Enter", "2", "Enter", "3", "Enter", "s", "b"])
    assert before is not None
    assert after is None  # the next item is in the page, and not on the screen
    wait_for_attribute(page, "word 1")
    wait_until_saved(page)
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert list(Judgement.objects.values_list("option__attribute__text", "value")) == [("word 0", 5)]
    # once it is painted, the first key counts
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    wait_for_attribute(page, "word 2")
    wait_until_saved(page)
    assert Judgement.objects.get(option__attribute__text="word 1").value == 4


def test_a_key_pressed_before_the_painting_that_arrives_after_it_is_dropped_too(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    page.evaluate(
        """() => {
            window.late = new KeyboardEvent("keydown", { key: "2", code: "Digit2", bubbles: true });
        }"""
    )
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    wait_for_attribute(page, "word 1")
    page.evaluate("document.body.dispatchEvent(window.late)")
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)


def test_a_click_that_comes_before_the_next_item_is_painted_is_not_an_answer_to_it(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    page.keyboard.press("1")
    page.evaluate(
        """() => {
            const send = document.querySelector("[data-send]");
            send.click();
            document.querySelector("label.choice").click();
            send.click();
        }"""
    )
    wait_for_attribute(page, "word 1")
    wait_until_saved(page)
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    assert Response.objects.count() == 1
    page.get_by_role("radio", name="Strongly agree").check()
    page.get_by_role("button", name="Submit and continue").click()
    wait_for_attribute(page, "word 2")


def test_a_draft_that_comes_back_is_not_sent_by_a_key_meant_for_the_item_before(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    wait_for_attribute(page, "word 1")
    page.keyboard.press("2")  # chosen, not sent
    page.keyboard.press("b")
    page.get_by_role("dialog").get_by_role("button", name="Change").first.click()
    wait_for_attribute(page, "word 0")
    page.evaluate(AT_ONCE, ["4", "Enter", "Enter"])  # saves the correction; the second is a slip
    wait_for_attribute(page, "word 1")
    expect(page.get_by_role("radio", checked=True)).to_have_count(1)
    wait_until_saved(page)
    kept = Judgement.objects.order_by("pk").values_list("option__attribute__text", "value")
    assert list(kept) == [("word 0", 5), ("word 0", 1)]


def test_what_a_practice_item_says_is_not_passed_over_by_a_key_pressed_before_it(new_page, amal, study):
    task = study.tasks.get()
    unit = Unit.objects.create(
        task=task,
        position=99,
        attribute=factories.attribute("hat"),
        purpose=Purpose.TRAINING,
        feedback="A hat can be seen.",
    )
    Option.objects.create(unit=unit, attribute=unit.attribute, position=1, expected=[5])
    Enrolment.objects.update(status=EnrolmentStatus.TRAINING)
    page = new_page(amal)
    open_item(page, PAGE)
    # presses Enter in the very task in which the feedback comes
    page.evaluate(
        """() => new MutationObserver((changes, observer) => {
            if (!document.querySelector("[data-feedback]")) return;
            observer.disconnect();
            const pressed = { key: "Enter", code: "Enter", bubbles: true, cancelable: true };
            document.querySelector("h1").dispatchEvent(new KeyboardEvent("keydown", pressed));
            window.pressed = true;
        }).observe(document.querySelector("#item"), { childList: true })"""
    )
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("[data-feedback]")).to_contain_text("A hat can be seen.")
    wait_for_item(page)
    assert page.evaluate("window.pressed")
    expect(page.locator("[data-feedback]")).to_be_visible()
    page.keyboard.press("Enter")
    wait_for_attribute(page, "word 0")


def test_an_item_that_comes_while_the_dialog_is_open_is_not_skipped_by_it(new_page, amal):
    one = new_page(amal)
    open_item(one, PAGE)
    two = one.context.new_page()
    open_item(two, PAGE)
    two.keyboard.press("s")
    two.get_by_label("It is upsetting").check()
    one.keyboard.press("1")
    one.keyboard.press("Enter")
    expect(two.get_by_text("answered in another window")).to_be_visible()
    two.get_by_role("dialog").get_by_role("button", name="Skip").click()
    expect(two.get_by_role("dialog")).to_have_count(0)
    wait_for_attribute(two, "word 1")
    two.keyboard.press("2")
    two.keyboard.press("Enter")
    wait_for_attribute(two, "word 2")
    wait_until_saved(two)
    assert not Skip.objects.exists()
    assert Response.objects.count() == 2


@pytest.fixture
def pictures():
    made = factories.study("pictures", contact="studies@example.org")
    factories.consent_text(made)
    drawn = factories.image_set("drawn")
    task = factories.task(made, kind=TaskKind.DEPICTION, image_set=drawn, wording="What is depicted?")
    image = factories.image(width=400, height=300, image_set=drawn)
    image.sha256 = "1" * 64
    image.file.save("one.png", ContentFile(png(60)))
    for page in (1, 2):
        factories.page_unit(task, picture=image, page=page)
    return made


@pytest.fixture
def bo(pictures):
    who = factories.user("bo")
    factories.enrolment(pictures, who=factories.annotator(user=who), consented=True)
    return who


def test_a_blurred_image_is_not_answered_before_it_was_revealed(new_page, accessible, bo):
    Study.objects.update(blur_images=True)
    page = new_page(bo)
    open_item(page, "/studies/pictures/annotate/")
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("reveal the image before you answer")
    accessible(page)
    page.keyboard.press("i")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".boxes.is-concealed")).to_be_visible()  # the next one
    wait_until_saved(page)
    assert Response.objects.count() == 1


def test_an_image_that_has_not_come_is_not_answered_and_can_be_skipped(new_page, bo):
    page = new_page(bo)
    let_it_come = threading.Event()
    held = []
    page.route(
        "**/images/*/", lambda route: route.continue_() if let_it_come.is_set() else held.append(route)
    )
    page.goto("/studies/pictures/annotate/", wait_until="commit")
    page.wait_for_selector("#item[data-shown]")
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("The image is still loading")
    assert not Response.objects.exists()
    let_it_come.set()
    for route in held:
        route.continue_()
    wait_for_item(page)
    page.keyboard.press("Control+Enter")
    wait_until_saved(page)
    assert Response.objects.count() == 1


def test_an_image_without_a_file_can_only_be_skipped(new_page, bo, pictures):
    pictures.tasks.get().image_set.images.update(file="")
    page = new_page(bo)
    open_item(page, "/studies/pictures/annotate/")
    expect(page.get_by_text("The image cannot be shown.")).to_be_visible()
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("You can skip this item")
    page.keyboard.press("s")
    page.get_by_label("The image is missing or broken").check()
    page.get_by_role("dialog").get_by_role("button", name="Skip").click()
    wait_until_saved(page)
    assert Skip.objects.get().reason == "broken"
    assert not Response.objects.exists()
