"""The lead's pages for setting up and for people, in a real browser, by keyboard and without scripts."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.assignment.services import slots
from annotation.images import files as image_files
from annotation.models import Enrolment, Image, Invitation, Study, StudyStatus
from annotation.participation.services import enrolments
from annotation.setup import services as setup_services
from tests import factories
from tests.browser.annotation_page import png

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

STEPS = ("source", "tasks", "checks", "consent", "recruitment", "open")
DOCUMENT = {
    "name": "visual-2026",
    "title": "What can be seen in a picture?",
    "contact": "studies@example.org",
    "consent": {"text": "You rate words.", "es": {"text": "Usted valora palabras."}},
    "stereotypes": {"source": "test-source"},
    "translations": {"ar": {"title": "ماذا يمكن أن يُرى في صورة؟", "support_text": "خط للمساعدة."}},
    "questions": [
        {
            "field": "religion",
            "label": "Your religion",
            "choices": ["none", "other"],
            "translations": {"es": {"label": "Su religión", "choices": ["ninguna", "otra"]}},
        }
    ],
    "tasks": [
        {
            "kind": "visual_nature",
            "attributes": ["sombrero", "kind", "poor"],
            "strata": ["origin: Asia", "origin: Europe", "any"],
            "translations": {"ar": {"wording": "يمكن تصوير الصفة '[attr]' في صورة."}},
            "examples": [{"text": "hat", "answer": "Strongly agree"}],
            "gold": [{"attribute": "sombrero", "expected": ["Agree", "Strongly agree"]}],
        },
        {"kind": "prevalence", "associations": {"source": "test-source"}},
        {"kind": "depiction", "image_set": "test-set", "attributes": {"visual": "none"}},
    ],
}


@pytest.fixture(autouse=True)
def _three_languages(settings):
    settings.LANGUAGES = [("en", "English"), ("es", "Español"), ("ar", "العربية")]


@pytest.fixture
def lead():
    made = factories.user("lead", lead=True)
    return made


@pytest.fixture
def filled(lead):
    """A study that is filled in, made as a draft, and still being set up."""
    group = factories.group("Mexican")
    group.region = "Latin America"
    group.save()
    factories.association(text="sombrero", out_votes=(3, 0, 0))
    factories.association(group_name="French", text="beret", out_votes=(3, 0, 0))
    other = factories.group("French")
    other.region = "Europe"
    other.save()
    factories.image()
    setup_services.save_draft(user=lead, name="visual-2026", document=DOCUMENT, may_name_leads=False)
    return DOCUMENT


@pytest.fixture
def people(lead):
    """A study with people in it, of every standing, and links."""
    study = factories.rating_study(name="words", title="Words", leads=[lead])
    working = factories.enrolment(study, consented=True, pseudonym="a-7f3k9qwx")
    slots.lease_next(enrolment=working)
    blocked = factories.enrolment(study, consented=True, pseudonym="a-blocked")
    enrolments.block(enrolment=blocked, by=lead)
    factories.enrolment(study, simulated=True, pseudonym="sim-1")
    Enrolment.objects.filter(pk=working.pk).update(answered=12_345)
    Invitation.objects.create(study=study, code="open-link", label="pilot group", max_uses=20, uses=3)
    Invitation.objects.create(study=study, code="full-link", label="first round", max_uses=2, uses=2)
    return study


def pages(study) -> list[str]:
    return [
        reverse("setup"),
        *(reverse("setup_step", args=["visual-2026", step]) for step in STEPS),
        reverse("people", args=[study.name]),
        reverse("person_action", args=[study.name, study.enrolments.earliest("pk").pk, "block"]),
        reverse("fill_rates", args=[study.name]),
        reverse("invitations", args=[study.name]),
        # after it was opened
        reverse("invitations", args=[study.name]) + "?opened",
        reverse("study_images", args=["visual-2026"]),
        reverse("setup_gold", args=["visual-2026"]),
    ]


def test_every_page_is_accessible_and_fits_its_window(new_page, accessible_everywhere, lead, filled, people):
    # with places to adapt, and an image to look at
    document = {**filled, "consent": {"text": "You rate words for [[whom]]."}}
    setup_services.save(user=lead, name="visual-2026", document=document)
    name, sha256 = image_files.store(png(90))
    Image.objects.update(file=name, sha256=sha256)
    page = new_page(lead)
    for url in pages(people):
        page.goto(url)
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        accessible_everywhere(page, widths=(1280, 320))


def test_a_page_with_errors_is_accessible_and_names_them_beside_their_fields(
    new_page, accessible, lead, filled
):
    page = new_page(lead, width=320)
    page.goto(reverse("setup_step", args=["visual-2026", "tasks"]))
    strata = page.locator("#id_visual_nature_strata")
    strata.fill("origin Asia")
    page.get_by_role("button", name="Save and continue").click()
    expect(strata).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#id_visual_nature_strata_error")).to_contain_text("Line 1")
    expect(strata).to_have_value("origin Asia")
    accessible(page)


def test_what_is_missing_leads_to_its_field_also_where_that_is_folded_away(new_page, accessible, lead):
    spanish = {"es": {"wording": "¿Se ve?"}}
    task = {"kind": "visual_nature", "attributes": ["hat"], "translations": spanish}
    document = {"name": "odd", "title": "Odd", "contact": "-", "tasks": [task]}
    setup_services.save(user=lead, name="odd", document=document)
    page = new_page(lead, width=320)
    page.goto(reverse("setup_step", args=["odd", "open"]))
    accessible(page)
    page.get_by_role("alert").get_by_role("link", name="the consent text").click()
    expect(page.locator('label[for="id_text"]')).to_be_in_viewport()
    page.goto(reverse("setup_step", args=["odd", "open"]))
    page.get_by_role("alert").get_by_role("link", name="Wording in Español").click()
    expect(page.locator('label[for="id_visual_nature_wording_es"]')).to_be_in_viewport()


def test_the_wording_is_seen_as_annotators_see_it_while_it_is_typed(new_page, lead, filled):
    page = new_page(lead)
    page.goto(reverse("setup_step", args=["visual-2026", "tasks"]))
    shown = page.locator('[data-preview="visual_nature-en"] [data-statement]')
    expect(shown).to_have_text("The attribute 'sombrero' can be visually depicted in an image.")
    spanish = page.locator('[data-seen="visual_nature-es"]:not([hidden])')
    expect(spanish).to_contain_text("the default wording, translated by this program")
    page.locator("#id_visual_nature_wording").fill("Can one see <i>[attr]</i>?")
    expect(spanish).to_contain_text("your English wording, until you write one")
    expect(page.locator('[data-preview="visual_nature-es"]')).to_have_attribute("hidden", "")
    expect(shown).to_have_text("Can one see <i>sombrero</i>?")
    expect(shown.locator("strong")).to_have_text("sombrero")
    page.locator("#id_visual_nature_wording").fill("")
    expect(shown).to_have_text("The attribute 'sombrero' can be visually depicted in an image.")
    expect(spanish).to_contain_text("the default wording")
    arabic = page.locator('[data-preview="visual_nature-ar"] .preview-page')
    expect(arabic).to_have_attribute("dir", "rtl")
    expect(arabic.locator("strong")).to_have_text("sombrero")


def test_leaving_a_page_with_unsaved_entries_is_asked_about(new_page, lead, filled):
    page = new_page(lead)
    asked = []

    def stay(dialog):
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.goto(reverse("setup_step", args=["visual-2026", "source"]) + "#id_title")
    tasks = page.get_by_label("Steps").get_by_role("link", name="How it is asked")
    tasks.click()
    page.wait_for_url("**/tasks/")
    page.go_back()
    page.locator("#id_contact").fill("")
    with page.expect_event("dialog"):
        tasks.click(no_wait_after=True)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
    expect(page.get_by_role("alert")).to_be_focused()
    with page.expect_event("dialog"):
        tasks.click(no_wait_after=True)
    page.locator("#id_contact").fill("us@example.org")
    page.get_by_role("button", name="Save and continue").click()
    page.wait_for_url("**/tasks/")
    assert asked == ["beforeunload", "beforeunload"]


def test_a_study_is_set_up_and_opened_by_keyboard_alone(new_page, lead):
    page = new_page(lead)
    page.goto(reverse("setup"))

    def press_until(selector: str) -> None:
        for _ in range(90):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"{selector} is not reached by Tab")

    press_until("[name=template]")
    while page.evaluate("document.activeElement.value") != "blank":
        page.keyboard.press("ArrowDown")
    press_until("#id_title")
    page.keyboard.type("What can be seen?")
    press_until("#id_name")
    page.keyboard.type("seen")
    page.keyboard.press("Enter")
    page.wait_for_url("**/setup/seen/source/")
    press_until("#id_contact")
    page.keyboard.press("Control+A")
    page.keyboard.type("studies@example.org")
    press_until("#id_visual_nature_on")
    page.keyboard.press("Space")
    press_until("#id_visual_nature_words")
    page.keyboard.type("sombrero\nkind")
    press_until(".setup-bar .button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/setup/seen/tasks/")
    press_until("#id_visual_nature_strata")
    page.keyboard.press("Control+A")
    page.keyboard.type("any\nany")
    press_until(".setup-bar .button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/setup/seen/checks/")
    press_until("#id_visual_nature_check_0_attribute")
    page.keyboard.type("sombrero")
    press_until('[name="visual_nature_check_0_expected"]')
    page.keyboard.press("Space")
    press_until(".setup-bar .button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/setup/seen/consent/")
    for _ in range(page.locator("[name^=fill_]").count()):
        press_until("[name^=fill_]")
        page.keyboard.type("in the city library")
    press_until("#id_text")
    page.keyboard.press("Control+A")
    page.keyboard.type("You rate words.")
    press_until(".setup-bar .button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/setup/seen/recruitment/")
    press_until(".setup-bar .button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/setup/seen/open/")
    press_until('[name="make"]')
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Open the study")).to_be_visible()
    press_until("#texts_checked")
    page.keyboard.press("Space")
    press_until('[name="open"]')
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/seen/invitations/?opened")
    study = Study.objects.get()
    assert study.status == StudyStatus.OPEN
    assert study.slots.count() == 4
    assert study.tasks.get().units.get(purpose="training").attribute.text == "sombrero"


def test_the_pages_work_without_scripts(new_page, lead, people):
    page = new_page(lead, javascript=False)
    page.goto(reverse("invitations", args=[people.name]))
    page.get_by_label("Label").fill("second round")
    page.get_by_role("button", name="Create the link").click()
    expect(page.get_by_label("Address: second round")).to_be_visible()
    made = Invitation.objects.get(label="second round")
    expect(page.get_by_label("Address: second round")).to_have_value(
        f"{page.url.split('/studies')[0]}/join/{made.code}/"
    )
    page.goto(reverse("people", args=[people.name]))
    page.get_by_role("link", name="Block a-7f3k9qwx").click()
    page.get_by_role("button", name="Block").click()
    expect(page.get_by_role("status")).to_contain_text("a-7f3k9qwx is blocked")


def test_a_link_is_copied_with_a_button(new_page, lead, people):
    page = new_page(lead)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(reverse("invitations", args=[people.name]))
    page.get_by_role("button", name="Copy pilot group").click()
    expect(page.locator("[data-copy-status]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()").endswith("/join/open-link/")
