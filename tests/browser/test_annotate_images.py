"""The depiction task in a real browser: options, boxes, and what is kept of them."""

import re

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import expect

from annotation.models import Box, Judgement, Response, Skip, Study, TaskKind
from tests import factories
from tests.browser.annotation_page import drag, open_item, png, wait_for_item, wait_until_saved

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGE = "/studies/pictures/annotate/"


@pytest.fixture
def study():
    made = factories.study("pictures", title="What do you see?", contact="studies@example.org")
    factories.consent_text(made)
    images = factories.image_set("drawn")
    task = factories.task(
        made, kind=TaskKind.DEPICTION, image_set=images, wording="Which of these does the image depict?"
    )
    for number in (1, 2):
        image = factories.image(index=number, width=400, height=300, image_set=images)
        image.sha256 = f"{number}" * 64
        image.file.save(f"{number}.png", ContentFile(png(60 * number)))
        for page in (1, 2):
            factories.page_unit(task, picture=image, page=page)
    return made


@pytest.fixture
def amal(study):
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    return who


def option(page, text):
    return page.locator(".option").filter(has=page.get_by_role("checkbox", name=text, exact=True))


def chosen(response) -> dict[str, int]:
    return {
        judgement.option.attribute.text if judgement.option.attribute else "none": judgement.value
        for judgement in response.judgements.select_related("option__attribute")
    }


def test_options_and_boxes_by_mouse_are_kept_as_they_were_clicked(new_page, accessible, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    expect(page.get_by_role("heading", level=1)).to_have_text("Which of these does the image depict?")
    texts = [text.strip() for text in page.locator(".option .choice-name").all_text_contents()]
    assert texts[-1] == "None of the above"

    page.get_by_role("checkbox", name="hat", exact=True).check()
    drag(page, 0.25, 0.2, 0.75, 0.6)
    expect(option(page, "hat").locator(".option-boxes li")).to_have_count(1)
    page.get_by_role("checkbox", name="poor", exact=True).check()
    option(page, "poor").get_by_role("checkbox", name="Visible in the image as a whole").check()
    accessible(page)
    page.get_by_role("button", name="Submit and continue").click()
    wait_until_saved(page)

    response = Response.objects.get()
    assert chosen(response) == {"hat": 1, "sombrero": 0, "poor": 1, "kind": 0, "none": 0}
    shown = response.judgements.order_by("position").values_list("option__attribute__text", flat=True)
    assert list(shown) == [*texts[:-1], None]
    box = Box.objects.get()
    assert box.judgement.option.attribute.text == "hat"
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx((100, 60, 300, 180), abs=2)
    assert response.judgements.get(option__attribute__text="poor").whole_image


def test_what_is_missing_is_said_where_it_is_missing(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    page.get_by_role("button", name="Submit and continue").click()
    expect(page.get_by_role("alert")).to_contain_text("choose what the image depicts")
    page.get_by_role("checkbox", name="hat", exact=True).check()
    page.get_by_role("button", name="Submit and continue").click()
    expect(page.get_by_role("alert")).to_contain_text("'hat': draw a box")
    drag(page, 0.1, 0.1, 0.5, 0.5)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Submit and continue").click()
    wait_until_saved(page)
    assert Box.objects.count() == 1


def test_none_of_the_above_takes_everything_back_and_undo_brings_it_again(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    page.get_by_role("checkbox", name="hat", exact=True).check()
    drag(page, 0.1, 0.1, 0.5, 0.5)
    page.get_by_role("checkbox", name="None of the above").check()
    expect(page.get_by_role("checkbox", name="hat", exact=True)).not_to_be_checked()
    expect(page.locator("[data-box]")).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(page.get_by_role("checkbox", name="hat", exact=True)).to_be_checked()
    expect(page.get_by_role("checkbox", name="None of the above")).not_to_be_checked()
    expect(page.locator("[data-box]")).to_have_count(1)
    page.get_by_role("checkbox", name="None of the above").check()
    page.get_by_role("button", name="Submit and continue").click()
    wait_until_saved(page)
    assert chosen(Response.objects.get()) == {"hat": 0, "sombrero": 0, "poor": 0, "kind": 0, "none": 1}


def stand(page) -> dict[str, list[str]]:
    """What is chosen, what is ticked as visible in the whole image, and whose boxes there are."""
    chosen = "[...document.querySelectorAll('.option')].filter(row => row.querySelector('input').checked)"
    name = "row.querySelector('.choice-name').textContent.trim()"
    return page.evaluate(f"""(() => ({{
        chosen: {chosen}.map(row => {name}).sort(),
        whole: {chosen}.filter(row => row.querySelector('.option-more input')?.checked).map(row => {name}),
        boxes: [...document.querySelectorAll('[data-box]')].map(box => box.getAttribute('aria-label')).sort(),
    }}))()""")


def test_every_step_is_undone_and_done_again_choices_ticks_and_boxes(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    states = [stand(page)]

    def remember() -> None:
        wait_for_item(page)
        assert stand(page) != states[-1]
        states.append(stand(page))

    page.get_by_role("checkbox", name="hat", exact=True).check()
    remember()
    drag(page, 0.1, 0.1, 0.5, 0.5)
    remember()
    page.keyboard.press("w")
    remember()
    page.get_by_role("checkbox", name="poor", exact=True).check()
    remember()
    drag(page, 0.6, 0.6, 0.9, 0.9)
    remember()
    page.get_by_role("checkbox", name="None of the above").check()
    remember()
    page.keyboard.press("0")
    remember()
    page.get_by_role("checkbox", name="sombrero", exact=True).check()
    remember()
    page.get_by_role("checkbox", name="sombrero", exact=True).uncheck()
    remember()
    assert states[6] == {"chosen": ["None of the above"], "whole": [], "boxes": []}
    for state in reversed(states[:-1]):
        page.keyboard.press("Control+z")
        wait_for_item(page)
        assert stand(page) == state
    page.keyboard.press("Control+z")
    for state in states[1:]:
        page.keyboard.press("Control+Shift+z")
        wait_for_item(page)
        assert stand(page) == state
    for _ in range(4):  # back to both attributes, with their boxes and the tick
        page.keyboard.press("Control+z")
    expect(page.locator(".boxes-status")).to_contain_text("Chosen: ")
    page.get_by_role("button", name="Submit and continue").click()
    wait_until_saved(page)
    assert chosen(Response.objects.get()) == {"hat": 1, "sombrero": 0, "poor": 1, "kind": 0, "none": 0}
    assert Box.objects.count() == 2
    assert Judgement.objects.get(whole_image=True).option.attribute.text == "hat"


def test_zero_is_none_of_the_above_in_a_zoomed_image_too_and_a_box_gone_keeps_the_focus(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    page.get_by_role("checkbox", name="hat", exact=True).check()
    drag(page, 0.1, 0.1, 0.3, 0.3)
    drag(page, 0.5, 0.5, 0.8, 0.8)
    removers = option(page, "hat").locator(".option-boxes button")
    for left in (1, 0):
        removers.first.press("Enter")
        expect(removers).to_have_count(left)
        assert page.evaluate("document.activeElement.closest('.option') !== null")
    page.keyboard.press("+")
    page.keyboard.press("h")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.querySelector('.boxes-view').scrollLeft") > 0
    page.keyboard.press("0")
    expect(page.get_by_role("checkbox", name="None of the above")).to_be_checked()


def test_the_sheet_of_keys_is_read_from_its_beginning(new_page, accessible, amal):
    page = new_page(amal, width=360, height=700)
    open_item(page, PAGE)
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_in_viewport()
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_focused()
    accessible(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()


def test_it_can_all_be_done_by_keyboard(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    texts = [text.strip() for text in page.locator(".option .choice-name").all_text_contents()]
    page.keyboard.press("1")
    page.keyboard.press("r")
    page.keyboard.press("Enter")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("[data-box]")).to_have_count(1)
    page.keyboard.press("3")
    page.keyboard.press("w")
    page.keyboard.press("Control+Enter")
    wait_until_saved(page)
    wait_for_item(page)
    # None of the above, and Enter alone
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    wait_until_saved(page)
    first, second = Response.objects.order_by("pk")
    assert chosen(first) == {text: int(text in {texts[0], texts[2]}) for text in texts[:-1]} | {"none": 0}
    box = Box.objects.get()
    assert box.judgement.option.attribute.text == texts[0]
    assert (box.x1 - box.x0, box.y1 - box.y0) == (50, 50)
    assert first.judgements.get(option__attribute__text=texts[2]).whole_image
    assert chosen(second)["none"] == 1


def test_a_draft_with_its_boxes_survives_a_reload(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    page.get_by_role("checkbox", name="hat", exact=True).check()
    drag(page, 0.25, 0.2, 0.75, 0.6)
    page.get_by_role("checkbox", name="kind", exact=True).check()
    option(page, "kind").get_by_role("checkbox", name="Visible in the image as a whole").check()
    page.reload()
    wait_for_item(page)
    expect(page.locator("[data-box]")).to_have_count(1)
    expect(page.get_by_role("checkbox", name="hat", exact=True)).to_be_checked()
    wait_for_item(page)
    page.get_by_role("button", name="Submit and continue").click()
    wait_until_saved(page)
    box = Box.objects.get()
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx((100, 60, 300, 180), abs=2)
    assert Judgement.objects.filter(value=1).count() == 2


def test_an_answer_can_be_corrected_with_its_boxes(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    page.get_by_role("checkbox", name="hat", exact=True).check()
    drag(page, 0.25, 0.2, 0.75, 0.6)
    page.get_by_role("button", name="Submit and continue").click()
    wait_for_item(page)
    page.keyboard.press("b")
    last = page.get_by_role("dialog").get_by_role("listitem")
    expect(last).to_contain_text("hat (Boxes: 1)")
    expect(last.get_by_alt_text("The image to be judged")).not_to_have_js_property("naturalWidth", 0)
    last.get_by_role("button", name="Change").click()
    expect(page.locator("[data-box]")).to_have_count(1)
    wait_for_item(page)
    page.get_by_role("checkbox", name="hat", exact=True).uncheck()
    page.get_by_role("checkbox", name="None of the above").check()
    page.get_by_role("button", name="Save the correction").click()
    expect(page.get_by_text("The correction is saved.")).to_be_visible()
    Study.objects.update(blur_images=True)
    open_item(page, PAGE)
    page.keyboard.press("b")
    expect(last).to_contain_text(re.compile(r"None of the above \((\w+, ){3}\w+\)"))
    expect(last.get_by_role("img")).to_have_count(0)
    earlier, later = Response.objects.order_by("revision")
    assert (earlier.current, later.current) == (False, True)
    assert chosen(earlier)["hat"] == chosen(later)["none"] == 1


def test_an_image_stays_blurred_until_it_is_revealed_and_can_be_skipped(new_page, accessible, amal):
    Study.objects.update(blur_images=True)
    page = new_page(amal)
    open_item(page, PAGE)
    expect(page.locator(".boxes.is-concealed")).to_be_visible()
    accessible(page)
    page.keyboard.press("i")
    expect(page.locator(".boxes.is-concealed")).to_have_count(0)
    page.keyboard.press("s")
    page.get_by_label("It is upsetting").check()
    page.get_by_role("dialog").get_by_role("button", name="Skip").click()
    wait_until_saved(page)
    assert Skip.objects.get().reason == "upsetting"
    expect(page.locator(".boxes.is-concealed")).to_be_visible()  # the next one again


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone(new_page, accessible, amal, dark):
    page = new_page(amal, width=320, height=640, dark=dark)
    open_item(page, PAGE)
    page.get_by_role("checkbox", name="hat", exact=True).check()
    accessible(page)


def test_the_next_image_is_there_before_it_is_needed(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.keyboard.press("0")
    for _ in range(2):
        changed = page.evaluate(
            """() => {
                const shown = () => document.querySelector("#item .options");
                const before = shown();
                document.querySelector("[data-send]").click();
                return shown() !== null && shown() !== before;
            }"""
        )
        assert changed, "something is waited for"
        wait_for_item(page)
        page.keyboard.press("0")
        expect(page.get_by_role("checkbox", name="None of the above")).to_be_checked()
    wait_until_saved(page)
    assert not [url for url in asked if url.endswith("/annotate/")]  # no page was asked for
