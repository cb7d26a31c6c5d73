"""The annotator's pages in Arabic: from right to left, on a phone as on a desk, pictures unmirrored."""

import io

import pytest
from django.core.files.base import ContentFile
from PIL import Image as Picture
from playwright.sync_api import expect

from annotation.models import Box, Judgement, Task, TaskKind
from tests import factories
from tests.browser.annotation_page import wait_for_item

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study():
    return factories.rating_study(
        name="words", title="ما الذي يظهر في الصورة؟", texts=["sombrero", "kind", "poor"]
    )


@pytest.fixture
def amal(study):
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    return who


def in_arabic(page):
    """Choose Arabic at the foot of the page that is open."""
    page.locator("#language").select_option("ar")
    page.locator("form.language button").click()
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.locator("html")).to_have_attribute("lang", "ar")
    return page


def test_no_page_in_arabic_has_a_fault_or_scrolls_sideways(new_page, accessible_everywhere, amal):
    def accessible(page) -> None:
        accessible_everywhere(page, widths=(1280, 320))

    stranger = new_page()
    stranger.goto("/accounts/login/?next=/profile/")
    in_arabic(stranger)
    assert stranger.url.endswith("/accounts/login/?next=/profile/")
    accessible(stranger)

    page = new_page(amal)
    page.goto("/")
    in_arabic(page)
    for path in ("/", "/profile/", "/accounts/password_change/", "/nowhere/"):
        page.goto(path)
        accessible(page)
    for part in ("", "consent/", "profile/", "thanks/", "withdraw/", "annotate/"):
        page.goto(f"/studies/words/{part}")
        accessible(page)
    expect(page.locator("[data-open-skip]")).to_be_visible()
    for opener in ("[data-open-keys]", "[data-open-skip]"):
        page.locator(opener).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        accessible(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
    wait_for_item(page)
    page.locator("[data-send]").click()
    expect(page.get_by_role("alert")).to_contain_text("يُرجى اختيار إحدى الإجابات.")
    accessible(page)


def test_work_in_arabic_is_saved_under_the_same_values(new_page, amal):
    page = new_page(amal)
    page.goto("/studies/words/annotate/")
    in_arabic(page)
    wait_for_item(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("kind")
    expect(page.locator("[data-state=saved]")).to_contain_text("كل الإجابات محفوظة")
    assert Judgement.objects.get().value == 5


def test_wording_keys_and_what_is_typed_are_arabic(new_page, amal):
    page = new_page(amal)
    page.goto("/studies/words/annotate/")
    in_arabic(page)
    wait_for_item(page)
    # the usual wording is, as its labels are
    expect(page.locator("h1.statement")).to_contain_text("يمكن تصوير الصفة")
    # letters of an Arabic keyboard do what the keys in their places do
    for letter, code, opened in (("س", "KeyS", "#skip"), ("؟", "Slash", "#keys")):
        page.locator("main").dispatch_event("keydown", {"key": letter, "code": code, "bubbles": True})
        expect(page.locator(opened)).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator(opened)).to_be_hidden()
    # what somebody types runs as its own script does
    page.keyboard.press("5")
    # where a field's letters stand cannot be asked for: this alone decides it
    expect(page.locator("#item textarea")).to_have_css("unicode-bidi", "plaintext")


def test_what_is_written_in_english_keeps_its_full_stop_at_the_end(new_page, amal):
    Task.objects.update(wording="One can see '[attr]' in an image.")
    page = new_page(amal)
    page.goto("/studies/words/annotate/")
    in_arabic(page)
    ends = page.locator("h1.statement").evaluate(
        """element => {
            const place = (node, from) => {
                const range = document.createRange();
                range.setStart(node, from);
                range.setEnd(node, from + 1);
                return range.getBoundingClientRect();
            };
            const last = element.lastChild;
            const stop = place(last, last.length - 1), before = place(last, last.length - 2);
            return last.textContent.endsWith(".") && stop.left >= before.left;
        }"""
    )
    assert ends


def test_the_language_is_changed_without_scripts_too(new_page, amal):
    page = new_page(amal, javascript=False)
    page.goto("/studies/words/annotate/")
    in_arabic(page)
    assert page.url.endswith("/studies/words/annotate/")


@pytest.mark.parametrize("width", [1280, 320])
def test_pictures_are_not_mirrored_and_boxes_keep_their_pixels(new_page, accessible, width):
    study = factories.study("pictures", title="ماذا تُظهر الصورة؟")
    factories.consent_text(study)
    image = factories.image(width=256, height=200, image_set=factories.image_set("drawn"))
    file = io.BytesIO()
    Picture.new("RGB", (256, 200), (60, 120, 160)).save(file, "PNG")
    image.sha256 = "1" * 64
    image.file.save("one.png", ContentFile(file.getvalue()))
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=image.image_set, wording="ماذا يظهر هنا؟")
    factories.page_unit(task, picture=image)
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    page = new_page(who, width=width, height=900)
    page.goto("/studies/pictures/annotate/")
    in_arabic(page)
    wait_for_item(page)
    expect(page.locator("#option-5 ~ .choice-words")).to_have_text("لا شيء مما سبق")
    page.locator("label[for=option-1]").click()
    accessible(page)
    picture = page.locator(".boxes-image")
    picture.scroll_into_view_if_needed()
    seen = picture.bounding_box()
    scale = seen["width"] / 256
    page.mouse.move(seen["x"] + 20 * scale, seen["y"] + 30 * scale)
    page.mouse.down()
    page.mouse.move(seen["x"] + 100 * scale, seen["y"] + 90 * scale, steps=4)
    page.mouse.up()
    accessible(page)
    page.locator("[data-send]").click()
    page.wait_for_url("**/thanks/")
    box = Box.objects.get()
    assert [box.x0, box.y0, box.x1, box.y1] == pytest.approx([20, 30, 100, 90], abs=1.5)
