"""A lead tries their study in a real browser: boxes, practice, last answers, the end; and nothing stays."""

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import expect

from annotation.models import Purpose, Response, Skip, Slot, SlotState, TaskKind
from tests import factories
from tests.browser.annotation_page import drag, png, wait_for_item, wait_until_saved

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def lead():
    lead = factories.user("lead")
    study = factories.study("pictures", title="What do you see?", contact="a@example.org", leads=[lead])
    factories.consent_text(study)
    images = factories.image_set("drawn")
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=images, wording="What is here?")
    image = factories.image(width=400, height=300, image_set=images)
    image.sha256 = "1" * 64
    image.file.save("1.png", ContentFile(png(60)))
    factories.page_unit(task, picture=image)
    words = factories.task(study)
    for text in ("tall", "kind"):
        factories.attribute_unit(words, text)
    practice = factories.attribute_unit(
        words, "hat", purpose=Purpose.TRAINING, feedback="A hat is a thing that can be seen."
    )
    practice.slots.all().delete()
    practice.options.update(expected=[4, 5])
    return lead


def test_a_lead_tries_the_real_page_and_nothing_of_it_stays(new_page, accessible, lead):
    page = new_page(lead)
    page.goto("/studies/pictures/")
    page.get_by_role("link", name="Try it as an annotator").click()
    expect(page.get_by_text("What taking part means.")).to_be_visible()
    accessible(page)
    page.get_by_role("link", name="Begin").click()
    banner = page.get_by_text("You are trying this study. Nothing is stored.")

    # practice first, with feedback
    wait_for_item(page)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("'hat'")
    expect(banner).to_be_visible()
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.locator("[data-feedback]")).to_contain_text("We expected another answer.")
    expect(page.locator("[data-feedback]")).to_contain_text("A hat is a thing")
    wait_for_item(page)
    page.keyboard.press("Enter")

    # a box is wanted, as for real, and drawn
    expect(heading).to_have_text("What is here?")
    wait_for_item(page)
    page.get_by_role("checkbox", name="hat", exact=True).check()
    page.get_by_role("button", name="Submit and continue").click()
    expect(page.get_by_text("draw a box around what shows it").first).to_be_visible()
    drag(page, 0.25, 0.2, 0.75, 0.6)
    accessible(page)
    page.get_by_role("button", name="Submit and continue").click()

    # the last answers and a correction
    expect(heading).to_contain_text("'tall'")
    wait_for_item(page)
    wait_until_saved(page)
    expect(page.locator("[data-progress]")).to_have_text("1 of 3 rated")
    page.keyboard.press("b")
    last = page.get_by_role("dialog").get_by_role("listitem")
    expect(last).to_have_count(1)
    expect(last).to_contain_text("hat (Boxes: 1)")
    last.get_by_role("button").click()
    expect(page.get_by_text("You are correcting an earlier answer.")).to_be_visible()
    wait_for_item(page)
    page.get_by_role("button", name="Save the correction").click()
    expect(page.get_by_text("The correction is saved.")).to_be_visible()

    # a skip, then the end
    expect(heading).to_contain_text("'tall'")
    wait_for_item(page)
    page.keyboard.press("s")
    page.get_by_label("It is upsetting").check()
    page.get_by_role("button", name="Skip", exact=True).last.click()
    expect(heading).to_contain_text("'kind'")
    wait_for_item(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/pictures/try/end/")
    expect(heading).to_have_text("The try has ended")
    accessible(page)

    assert page.evaluate("async () => (await indexedDB.databases()).map(({ name }) => name)") == []
    assert page.evaluate("() => [localStorage.length, sessionStorage.length]") == [0, 0]
    assert not Response.objects.exists()
    assert not Skip.objects.exists()
    assert set(Slot.objects.values_list("state", flat=True)) == {SlotState.OPEN}
