"""The page at work for those who ask their system for other colours, more contrast or less motion."""

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import expect

from annotation.models import TaskKind
from tests import factories
from tests.browser.annotation_page import drag, open_item, png

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
BORDER = "getComputedStyle(document.querySelector('.choice:not(:has(:checked))')).borderColor"
ASKED = ({"forced_colors": "active"}, {"contrast": "more"}, {"reduced_motion": "reduce"})


@pytest.fixture
def amal():
    who = factories.user("amal")
    annotator = factories.annotator(user=who)
    words = factories.rating_study(name="words", texts=["sombrero", "kind"])
    pictures = factories.study("pictures", contact="studies@example.org")
    task = factories.task(pictures, kind=TaskKind.DEPICTION, image_set=factories.image_set("drawn"))
    image = factories.image(index=1, width=400, height=300, image_set=task.image_set)
    image.sha256 = "1" * 64
    image.file.save("1.png", ContentFile(png(60)))
    factories.page_unit(task, picture=image, page=1)
    factories.consent_text(pictures)
    for study in (words, pictures):
        factories.enrolment(study, who=annotator, consented=True)
    return who


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: next(iter(asked)))
def test_what_has_the_focus_is_seen_and_what_is_chosen_as_well(new_page, accessible, amal, asked):
    page = new_page(amal, **asked)
    open_item(page, "/studies/words/annotate/")
    page.keyboard.press("1")
    expect(page.locator("#value-1")).to_be_checked()
    assert outlined(page)
    expect(page.locator(".choice:has(:checked)")).not_to_have_css("border-color", page.evaluate(BORDER))
    accessible(page)
    open_item(page, "/studies/pictures/annotate/")
    page.get_by_role("checkbox", name="hat", exact=True).check()
    drag(page, 0.2, 0.2, 0.6, 0.6)
    box = page.locator("[data-box]")
    expect(box).to_have_count(1)
    page.keyboard.press("v")
    page.keyboard.press("Tab")
    expect(box).to_be_focused()
    expect(box.locator(".boxes-halo")).to_have_css("stroke-width", "11px")
    accessible(page)


def test_more_contrast_is_ink_instead_of_grey(new_page, amal):
    soft = []
    for asked in ({}, {"contrast": "more"}):
        page = new_page(amal, **asked)
        page.goto("/")
        soft.append(page.evaluate("getComputedStyle(document.querySelector('.muted, .hint, footer')).color"))
        ink = page.evaluate("getComputedStyle(document.body).color")
    assert soft[0] != soft[1] == ink


def outlined(page) -> bool:
    """Whether what has the focus, or the card it is in, is drawn around."""
    return page.evaluate("""(() => {
        const seen = ["", ".choice", ".boxes-view"].map((around) =>
            around ? document.activeElement.closest(around) : document.activeElement);
        return seen.some((one) => one && getComputedStyle(one).outlineStyle !== "none"
            && parseFloat(getComputedStyle(one).outlineWidth) >= 2);
    })()""")
